"""Level families: every level is a pure function of (family, seed)."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable

import numpy as np

from ambulo.configs.errors import ConfigError, nearest
from ambulo.envs.vr.families.draft import MAX_EXTENT, MAX_HOLES, MAX_OBSTACLES, Draft
from ambulo.envs.vr.families.mazes import corridors, maze
from ambulo.envs.vr.families.mixed import large, mixed
from ambulo.envs.vr.families.moving.crowd import crowd
from ambulo.envs.vr.families.moving.doors import doors
from ambulo.envs.vr.families.moving.lifts import lifts
from ambulo.envs.vr.families.pits import pits
from ambulo.envs.vr.families.place import MAX_WAY, place
from ambulo.envs.vr.families.places.furnished import furnished
from ambulo.envs.vr.families.places.offices import offices
from ambulo.envs.vr.families.places.outdoor import outdoor
from ambulo.envs.vr.families.places.shops import shops
from ambulo.envs.vr.families.places.storeys import place_between_floors, storeys
from ambulo.envs.vr.families.scatter import clutter, open_floor, pillars
from ambulo.envs.vr.families.walls import rooms, slalom, utrap
from ambulo.envs.vr.levels.level import GOAL_DISTANCE, Level

__all__ = [
    "ALL_FAMILIES",
    "FAMILIES",
    "GOAL_DISTANCE",
    "MAX_EXTENT",
    "MAX_HOLES",
    "MAX_OBSTACLES",
    "MAX_WAY",
    "MOVING_FAMILIES",
    "PLACE_FAMILIES",
    "TRAINING_FAMILIES",
    "generate",
]

_BUILDERS: dict[str, Callable[[np.random.Generator], Draft]] = {
    "open": open_floor,
    "pillars": pillars,
    "clutter": clutter,
    "rooms": rooms,
    "corridors": corridors,
    "slalom": slalom,
    "maze": maze,
    "utrap": utrap,
    "pits": pits,
    "mixed": mixed,
    "large": large,
    "furnished": furnished,
    "offices": offices,
    "shops": shops,
    "outdoor": outdoor,
}

_HIGH_BUILDERS: dict[str, Callable[[np.random.Generator], tuple[Draft, Level]]] = {
    "storeys": storeys,
}
"""Families of levels with heights."""

_MOVING_BUILDERS: dict[str, Callable[[np.random.Generator], Level | None]] = {
    "crowd": crowd,
    "doors": doors,
    "lifts": lifts,
}
"""Families with people and moving things."""

ALL_FAMILIES: tuple[str, ...] = (*_BUILDERS, *_HIGH_BUILDERS, *_MOVING_BUILDERS)
"""Every family; new ones come last: the place of a family seeds its levels."""
TRAINING_FAMILIES: tuple[str, ...] = ALL_FAMILIES[:11]
"""The families of the set `train`; the last two are for training only."""
FAMILIES: tuple[str, ...] = TRAINING_FAMILIES[:-2]
"""The nine families of `train`, `validation` and `heldout`, in the order of tables."""
PLACE_FAMILIES: tuple[str, ...] = ("furnished", "offices", "shops", "outdoor")
"""The families of the set `places`: flat levels like those that people make."""
MOVING_FAMILIES: tuple[str, ...] = tuple(_MOVING_BUILDERS)
"""The families of the set `moving`: people, doors and lifts."""

_TRIES = 12
_THINNING = 0.3


def generate(family: str, seed: int) -> Level:
    """The level of `family` with `seed` (>= 0): solvable, at most MAX_EXTENT wide."""
    if family not in ALL_FAMILIES:
        raise ConfigError(
            f"unknown level family {family!r}{nearest(family, ALL_FAMILIES)}"
        )
    if seed < 0:
        raise ConfigError(f"level seed must be >= 0, got {seed}")
    index = ALL_FAMILIES.index(family)
    name = f"{family}-{seed}"
    if family in _HIGH_BUILDERS or family in _MOVING_BUILDERS:
        return _high(family, name, [seed, index])
    for attempt in range(_TRIES):
        key = [seed, index, attempt] if attempt else [seed, index]
        draft = _BUILDERS[family](np.random.default_rng(key))
        level = place(draft, draft.level(name, family))
        if level is not None:
            return level
    return _thinned(draft, name, family)


def _high(family: str, name: str, key: list[int]) -> Level:
    """A level with heights: the first of its drafts in which a start meets a goal."""
    placed = None
    attempt = itertools.count()
    while placed is None:
        rng = np.random.default_rng([*key, next(attempt)])
        if family in _MOVING_BUILDERS:
            placed = _MOVING_BUILDERS[family](rng)
        else:
            placed = place_between_floors(*_HIGH_BUILDERS[family](rng))
    return dataclasses.replace(placed, name=name, family=family)


def _thinned(draft: Draft, name: str, family: str) -> Level:
    """A level from `draft` with ever fewer obstacles, in the end with none."""
    draft.min_detour, draft.min_floor = 1.0, 0.0
    while True:
        level = place(draft, draft.level(name, family))
        if level is not None:
            return level
        fraction = _THINNING if len(draft.boxes) + len(draft.holes) > 5 else 1.0
        draft.thin(fraction)
