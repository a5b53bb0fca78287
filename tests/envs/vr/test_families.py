from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from ambulo.configs.errors import ConfigError
from ambulo.envs.vr import families
from ambulo.envs.vr.families import (
    ALL_FAMILIES,
    FAMILIES,
    GOAL_DISTANCE,
    MAX_EXTENT,
    MAX_HOLES,
    MAX_OBSTACLES,
    MAX_WAY,
    MOVING_FAMILIES,
    PLACE_FAMILIES,
    TRAINING_FAMILIES,
    _thinned,
    generate,
    register_family,
)
from ambulo.envs.vr.families.draft import Draft
from ambulo.envs.vr.families.level_sets import (
    SEEDS_PER_SPLIT,
    SPLIT_OFFSETS,
    SPLITS,
    resolve,
    split_level,
)
from ambulo.envs.vr.families.places.storeys import MAX_PARTS
from ambulo.envs.vr.handmade import handmade_levels
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_check import level_problem
from ambulo.envs.vr.levels.level_io import level_data

SEEDS = range(8)
FLAT = (*TRAINING_FAMILIES, *PLACE_FAMILIES)


@cache
def made(family: str, seed: int) -> Level:
    return generate(family, seed)


def _same(a: Level, b: Level) -> bool:
    return all(
        np.array_equal(getattr(a, key), getattr(b, key))
        for key in ("bounds", "holes", "boxes", "cylinders", "start", "goal")
    )


@pytest.mark.parametrize("family", [*ALL_FAMILIES, "handmade"])
def test_levels_keep_the_promises(family: str) -> None:
    flat = family in FLAT or family == "handmade"
    seeds = SEEDS if family in FLAT else SEEDS[:3]
    if family == "handmade":
        levels = handmade_levels()
    else:
        levels = [made(family, seed) for seed in seeds]
    for seed, level in enumerate(levels):
        assert level.family == family
        assert family == "handmade" or level.name == f"{family}-{seed}"
        assert (level.heights, level.moving) == (not flat, family in MOVING_FAMILIES)
        assert level_problem(level) is None
        x0, y0, x1, y1 = level.bounds
        assert max(x1 - x0, y1 - y0) <= MAX_EXTENT
        assert min(x1 - x0, y1 - y0) >= 4.9
        most = MAX_OBSTACLES if flat else MAX_PARTS
        assert len(level.boxes) + len(level.cylinders) <= most
        assert len(level.holes) <= MAX_HOLES
        for x, y in [*level.boxes[:, :2], *level.cylinders[:, :2]]:
            assert x0 <= x <= x1
            assert y0 <= y <= y1
        bottoms = level.boxes[:, 2] - level.boxes[:, 5]
        assert (level.boxes[:, 3:6] > 0).all()
        assert (bottoms > -1e-9).all(), "nothing is below the floor"
        assert family not in TRAINING_FAMILIES or (bottoms == 0).all()
        assert not flat or (level.cylinders[:, 4] == 0).all()
        if family in FLAT:
            straight = math.dist(level.start[:2], level.goal)
            assert GOAL_DISTANCE[0] - 1e-9 <= straight <= GOAL_DISTANCE[1] + 1e-9
            grid = LayeredGrid.of(level)
            assert grid.free[0][grid.cell(level.goal)]
            way = grid.distance(grid.field(level.goal), level.start[:2])
            assert way < MAX_WAY + 0.5
    if family != "handmade":
        again = level_data(generate(family, seeds[-1]))
        assert again == level_data(levels[-1])
        assert again not in [level_data(level) for level in levels[:-1]]


def test_families_are_what_they_say() -> None:
    assert all(len(made("open", s).boxes) <= 4 for s in SEEDS)
    assert all(len(made("pits", s).holes) for s in SEEDS)
    assert all(len(made("pillars", s).holes) == 0 for s in SEEDS)
    for family, least in (("utrap", 1.15), ("maze", 1.1)):
        for seed in SEEDS:
            level = made(family, seed)
            grid = LayeredGrid.of(level)
            way = grid.distance(grid.field(level.goal), level.start[:2])
            assert way > (least - 0.05) * math.dist(level.start[:2], level.goal)


def test_some_levels_have_an_open_edge() -> None:
    walls = [len(made("open", seed).boxes) for seed in range(20)]
    assert min(walls) < 4
    assert max(walls) == 4


def test_hopeless_drafts_are_thinned_until_solvable() -> None:
    draft = Draft(np.random.default_rng(0), 20.0, 20.0)
    draft.border()
    for x in np.arange(-9.5, 10, 0.5):
        draft.line(1, x, -10, 10)
    draft.hole(-10, -10, 10, 10)
    level = _thinned(draft)
    assert level_problem(level) is None


def test_a_family_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its levels repeat, are those of any level set, and need not succeed at once."""
    monkeypatch.setattr(families, "_BUILDERS", dict(families._BUILDERS))

    def caves(rng: np.random.Generator) -> Draft | None:
        if rng.random() < 0.5:
            return None
        draft = Draft(rng, sizes=(9.0, 12.0))
        draft.cylinder(*draft.somewhere(2.0), 1.0)
        return draft

    register_family("caves", caves)
    made = [generate("caves", seed) for seed in range(6)]
    assert all(level_problem(level) is None for level in made)
    assert [level.name for level in made[:2]] == ["caves-0", "caves-1"]
    assert _same(generate("caves", 3), made[3])
    assert resolve(["caves", "open"], "train") == ("caves", "open")
    for name in ("caves", "open", "a<b"):
        with pytest.raises(ConfigError, match="level family"):
            register_family(name, caves)


def test_bad_requests() -> None:
    with pytest.raises(ConfigError, match="did you mean 'pillars'"):
        generate("pilars", 0)
    with pytest.raises(ConfigError, match=">= 0"):
        generate("open", -1)


def test_splits_never_share_a_seed() -> None:
    ranges = [range(o, o + SEEDS_PER_SPLIT) for o in SPLIT_OFFSETS.values()]
    for a, b in pairwise(ranges):
        assert a[-1] < b[0]
    assert SPLIT_OFFSETS["heldout"] == 2_000_000
    last = split_level("pillars", "train", SEEDS_PER_SPLIT - 1)
    first = split_level("pillars", "validation", 0)
    assert last.name == "pillars-999999"
    assert first.name == "pillars-1000000"
    assert _same(split_level("pits", "heldout", 3), generate("pits", 2_000_003))
    for index in (-1, SEEDS_PER_SPLIT):
        with pytest.raises(ConfigError, match="level index"):
            split_level("pillars", "train", index)


def test_resolve() -> None:
    assert resolve(["train"], "train") == TRAINING_FAMILIES
    assert resolve(["validation"], "validation") == FAMILIES
    assert resolve(["heldout"], "heldout") == resolve(["train"], "heldout") == FAMILIES
    assert resolve(["maze", "open", "maze"], "train") == ("maze", "open")
    assert resolve(["maze", "train"], "train")[0] == "maze"
    for split in SPLITS:
        assert resolve(["places"], split) == PLACE_FAMILIES
        assert resolve(["moving"], split) == MOVING_FAMILIES
    assert resolve(["train", "places"], "train") == (
        *TRAINING_FAMILIES,
        *PLACE_FAMILIES,
    )
    assert len(resolve(["maze", "train"], "train")) == 11
    for split in SPLITS[1:]:
        assert resolve(["train"], split) == FAMILIES
        assert resolve([split], split) == FAMILIES
    with pytest.raises(ConfigError, match="cannot be used as train levels"):
        resolve(["heldout"], "train")
    with pytest.raises(ConfigError, match="did you mean 'slalom'"):
        resolve(["slalon"], "train")
    with pytest.raises(ConfigError, match="did you mean 'furnished'"):
        resolve(["furnishd"], "train")
    for split in SPLITS:
        with pytest.raises(ConfigError, match="'handmade' is for tests alone"):
            resolve(["handmade"], split)
    with pytest.raises(ConfigError, match="at least one"):
        resolve([], "train")
    with pytest.raises(ConfigError, match="unknown split"):
        resolve(["open"], "test")  # type: ignore[arg-type]
