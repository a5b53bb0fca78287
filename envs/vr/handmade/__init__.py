"""Twelve levels drawn by hand, one JSON file each: the set `handmade`, for tests alone."""

from __future__ import annotations

import json
from importlib.resources import files

from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import parse_level


def handmade_levels() -> list[Level]:
    """The levels of the set, sorted by name."""
    found = sorted(
        (entry for entry in files(__name__).iterdir() if entry.name.endswith(".json")),
        key=lambda entry: entry.name,
    )
    return [
        parse_level(json.loads(entry.read_text(encoding="utf-8")), entry.name)
        for entry in found
    ]
