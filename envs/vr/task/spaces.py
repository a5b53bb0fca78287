"""The Gymnasium spaces that a configuration implies."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.layout import ObservationLayout
from ambulo.envs.vr.world.actions import DISCRETE_ACTIONS

Format = Literal["flat", "dict"]


def action_space(config: NavigationConfig) -> spaces.Box | spaces.Discrete:
    """Three floats in [-1, 1] (strafe, forward, rotation), or seven classes."""
    if config.actions.mode == "discrete":
        return spaces.Discrete(len(DISCRETE_ACTIONS))
    return spaces.Box(-1.0, 1.0, (3,), np.float32)


def observation_space(
    layout: ObservationLayout, form: Format = "flat"
) -> spaces.Box | spaces.Dict:
    """What the actor sees: one float32 vector, or a dictionary of the parts."""
    if form == "dict":
        return spaces.Dict({part.name: _unbounded(part.size) for part in layout.parts})
    return _unbounded(layout.size)


def split_observation(
    layout: ObservationLayout, observation: NDArray[np.float32]
) -> dict[str, NDArray[np.float32]]:
    """Copies of the parts of flat observations (..., >= size), by name."""
    where = layout.slices()
    return {
        part.name: observation[..., where[part.name]].copy() for part in layout.parts
    }


def _unbounded(size: int) -> spaces.Box:
    bounds: dict[str, Any] = {"low": -np.inf, "high": np.inf}
    return spaces.Box(shape=(size,), dtype=np.float32, **bounds)
