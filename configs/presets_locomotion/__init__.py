"""The presets of locomotion: one JSON file each; they hold what is not the default."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from ambulo.configs.base import parse
from ambulo.configs.errors import ConfigError, nearest
from ambulo.configs.locomotion import LocomotionConfig

PRESETS: dict[str, str] = {
    "imitate_walk": "a walk by the balance law, with a learned residual against pushes",
    "imitate_walk_network": "a walk by a network alone: taught by a teacher, then trained",
    "imitate_walk_pure": "a walk by a network alone, from pose targets, without a teacher",
    "imitate_run": "a run by the balance law, with a learned residual",
    "locomote": "walking at commanded speeds and turns on top of a gait",
    "locomote_prior": "the same, with the features of a motion network",
    "gait": "walking as parameters of gait and body say",
    "gait_muscle": "the same with muscles, all healthy: the base of a cascade",
    "gait_impaired": "with weak and short muscles, above a `gait.base` if one is named",
    "stand": "standing against pushes",
    "muscle_walk": "a walk with muscles instead of motors",
    "muscle_finetune": "the same from a trained policy, with small steps",
    "quick_test": "a minute: checks an installation",
}
"""Every preset and what it is for, in the order of tables."""


@cache
def preset(name: str) -> LocomotionConfig:
    """The configuration of the preset `name`; `ConfigError` for a wrong name."""
    if name not in PRESETS:
        raise ConfigError(f"unknown preset {name!r}{nearest(name, PRESETS)}")
    text = files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8")
    return parse(LocomotionConfig, json.loads(text), f"preset {name}")
