"""Constants of settings that command lines need without the classes of the settings."""

from __future__ import annotations

from typing import Literal

ALL_FAMILIES: tuple[str, ...] = (
    "open", "pillars", "clutter", "rooms", "corridors", "slalom", "maze", "utrap", "pits",
    "mixed", "large", "furnished", "offices", "shops", "outdoor", "storeys", "crowd",
    "doors", "lifts",
)  # fmt: skip
"""Every level family of the suite; `ambulo.envs.vr.families` has their functions in this order.
New ones are appended: a family's index seeds its levels."""
MotionMode = Literal["mlp", "transformer_reg", "encoder"]
"""Kinds of motion networks."""
ENGINE_PLACES = ("godot_url", "godot_bin", "godot_project")
"""Keys of `environment` that locate engines. Only the user who runs a command may set them:
they are neither written to model files nor read from them."""
