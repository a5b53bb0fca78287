"""The presets: one JSON file each in this folder; they hold what is not the default."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from ambulo.configs.base import parse
from ambulo.configs.errors import ConfigError, nearest
from ambulo.configs.vr import RLConfig

PRESETS: dict[str, str] = {
    "quick_test": "open field, 5-8 m goals: learns in seconds, checks an installation",
    "full_training": "all level families, 5-30 m goals: as the shipped agent",
    "curriculum_learning": "all level families in three stages of goal distance",
    "comfort_optimized": "slower, smoother walking for VR comfort",
}
"""Every preset and what it is for, in the order of tables."""


@cache
def preset(name: str) -> RLConfig:
    """The configuration of the preset `name`; `ConfigError` for a wrong name."""
    if name not in PRESETS:
        raise ConfigError(f"unknown preset {name!r}{nearest(name, PRESETS)}")
    text = files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8")
    return parse(RLConfig, json.loads(text), f"preset {name}")
