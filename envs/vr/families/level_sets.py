"""Named level sets; training, validation and held-out levels never share a seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from ambulo.configs.errors import ConfigError, nearest
from ambulo.envs.vr.families import (
    FAMILIES,
    MOVING_FAMILIES,
    PLACE_FAMILIES,
    TRAINING_FAMILIES,
    family_names,
    generate,
)
from ambulo.envs.vr.levels.level import Level

Split = Literal["train", "validation", "heldout"]

SEEDS_PER_SPLIT = 1_000_000
"""Levels of each family in each of `train` and `validation`."""
SPLIT_OFFSETS: dict[Split, int] = {
    "train": 0,
    "validation": SEEDS_PER_SPLIT,
    "heldout": 2 * SEEDS_PER_SPLIT,
}
"""First seed of each split: training uses [0, 1e6), validation (model selection)
[1e6, 2e6), the held-out test [2e6, 3e6)."""
SPLITS: tuple[Split, ...] = get_args(Split)
SETS: dict[str, tuple[str, ...]] = {
    "places": PLACE_FAMILIES,
    "moving": MOVING_FAMILIES,
}
"""Sets of families that are no splits: they have seeds in every split."""
HANDMADE = "handmade"
"""The set of hand-drawn levels (`ambulo.envs.vr.handmade`), for tests only."""


def resolve(
    names: Sequence[str], split: Split, *, repeats: bool = False
) -> tuple[str, ...]:
    """The families behind set and family `names`, without repeats, for `split`.

    With `repeats`, a family appears as often as it is named. "train" is allowed in every split
    (an agent's own training sets, on other seeds) and means the nine families there; other sets
    only in their own split.
    """
    _check_split(split)
    if not names:
        raise ConfigError("levels must name at least one family or set")
    families: list[str] = []
    for name in names:
        if name in SPLITS:
            if name not in ("train", split):
                raise ConfigError(
                    f"level set {name!r} cannot be used as {split} levels; "
                    f"name families, or 'train' for all of them"
                )
            families += TRAINING_FAMILIES if split == "train" else FAMILIES
        elif name in SETS:
            families += SETS[name]
        elif name in family_names():
            families.append(name)
        elif name == HANDMADE:
            raise ConfigError(
                f"level set {name!r} is for tests alone, and stands alone: "
                f"`ambulo eval MODEL --level-set {name}`"
            )
        else:
            hint = nearest(name, (*SPLITS, *SETS, *family_names(), HANDMADE))
            raise ConfigError(f"unknown level family or set {name!r}{hint}")
    return tuple(families if repeats else dict.fromkeys(families))


def split_level(family: str, split: Split, index: int) -> Level:
    """Level `index` of `family` in `split`; its seed is the split's offset + index."""
    _check_split(split)
    if not 0 <= index < SEEDS_PER_SPLIT:
        raise ConfigError(
            f"level index must be in [0, {SEEDS_PER_SPLIT}), got {index} ({split})"
        )
    return generate(family, SPLIT_OFFSETS[split] + index)


def _check_split(split: str) -> None:
    if split not in SPLITS:
        raise ConfigError(f"unknown split {split!r}{nearest(split, SPLITS)}")
