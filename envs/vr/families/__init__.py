"""Level families: every level is a pure function of (family, seed)."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable

import numpy as np

from ambulo.configs.choices import ALL_FAMILIES
from ambulo.configs.errors import ConfigError, nearest
from ambulo.configs.names import LEVEL
from ambulo.envs.vr.families.draft import (
    MAX_EXTENT,
    MAX_HOLES,
    MAX_OBSTACLES,
    MAX_WAY,
    Draft,
    place,
)
from ambulo.envs.vr.families.mazes import corridors, maze
from ambulo.envs.vr.families.mixed import large, mixed
from ambulo.envs.vr.families.moving import crowd, doors, lifts
from ambulo.envs.vr.families.pits import pits
from ambulo.envs.vr.families.places.furnished import furnished
from ambulo.envs.vr.families.places.offices import offices
from ambulo.envs.vr.families.places.outdoor import outdoor
from ambulo.envs.vr.families.places.shops import shops
from ambulo.envs.vr.families.places.storeys import storeys
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
    "Draft",
    "family_names",
    "generate",
    "register_family",
]

Builder = Callable[[np.random.Generator], Draft | Level | None]
"""Makes a draft, or a level with start and goal; None: try again with other random numbers."""

_BUILDERS: dict[str, Builder] = dict(
    zip(
        ALL_FAMILIES,
        (
            open_floor, pillars, clutter, rooms, corridors, slalom, maze, utrap, pits,
            mixed, large, furnished, offices, shops, outdoor, storeys, crowd, doors, lifts,
        ),
        strict=True,
    )
)  # fmt: skip
TRAINING_FAMILIES: tuple[str, ...] = ALL_FAMILIES[:11]
"""The families of the set `train`; the last two are only for training."""
FAMILIES: tuple[str, ...] = TRAINING_FAMILIES[:-2]
"""The nine families of `train`, `validation` and `heldout`, in the order of tables."""
PLACE_FAMILIES: tuple[str, ...] = ("furnished", "offices", "shops", "outdoor")
"""The families of the set `places`: flat levels that resemble real places."""
MOVING_FAMILIES: tuple[str, ...] = ("crowd", "doors", "lifts")
"""The families of the set `moving`: people, doors and lifts."""

_TRIES, _MOST_TRIES = 12, 10_000
_THINNING = 0.3


def register_family(name: str, build: Builder) -> None:
    """Add a user's family to this process, for `levels` of configurations.

    Raises:
        ConfigError: The name is taken or invalid.
    """
    try:
        LEVEL.checked(name)
    except ValueError as error:
        raise ConfigError(f"level family {name!r}: {error}") from None
    if name in _BUILDERS:
        raise ConfigError(f"level family {name!r} is there already")
    _BUILDERS[name] = build


def family_names() -> tuple[str, ...]:
    """Names of all families; those of `register_family` last."""
    return tuple(_BUILDERS)


def generate(family: str, seed: int) -> Level:
    """The level of `family` with `seed` (>= 0): solvable, at most MAX_EXTENT wide."""
    if family not in _BUILDERS:
        raise ConfigError(
            f"unknown level family {family!r}{nearest(family, _BUILDERS)}"
        )
    if seed < 0:
        raise ConfigError(f"level seed must be >= 0, got {seed}")
    known = family in ALL_FAMILIES
    index = ALL_FAMILIES.index(family) if known else zlib.crc32(family.encode())
    for attempt in range(_MOST_TRIES):
        made = _BUILDERS[family](np.random.default_rng([seed, index, attempt]))
        level = place(made) if isinstance(made, Draft) else made
        if level is None and isinstance(made, Draft) and attempt + 1 == _TRIES:
            level = _thinned(made)
        if level is not None:
            return dataclasses.replace(level, name=f"{family}-{seed}", family=family)
    raise ConfigError(f"level family {family!r}: no level of seed {seed}")


def _thinned(draft: Draft) -> Level:
    """A level from `draft` with ever fewer obstacles, finally with none."""
    draft.min_detour, draft.min_floor = 1.0, 0.0
    while True:
        level = place(draft)
        if level is not None:
            return level
        fraction = _THINNING if len(draft.boxes) + len(draft.holes) > 5 else 1.0
        draft.thin(fraction)
