"""Worlds and tasks as Gymnasium environments; importing this registers them."""

from __future__ import annotations

import gymnasium

from ambulo.configs.errors import AmbuloError

__all__ = ["AmbuloError"]

gymnasium.register(
    id="ambulo/VRNavigation-v0",
    entry_point="ambulo.envs.vr.env:VRNavigationEnv",
    vector_entry_point="ambulo.envs.vr.vector_env:VRNavigationVectorEnv",
)
