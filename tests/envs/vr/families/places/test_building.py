from __future__ import annotations

import numpy as np
import pytest

from ambulo.envs.vr.families.draft import Draft, Region
from ambulo.envs.vr.families.places.building import (
    Style,
    along_hall,
    build,
    hull_of,
    split,
)
from ambulo.envs.vr.families.places.site import Site
from ambulo.envs.vr.levels.layers import LayeredGrid

FLOOR: Region = (-7.0, -5.0, 7.0, 5.0)


def _area(tiles: list[Region]) -> float:
    return sum((c - a) * (d - b) for a, b, c, d in tiles)


@pytest.mark.parametrize("seed", range(8))
def test_tiles_fill_the_floor(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for tiles in (split(rng, FLOOR, 2.2, 5.0), along_hall(rng, FLOOR, 1.4, (2.6, 4.5))):
        assert hull_of(tiles) == pytest.approx(FLOOR)
        assert _area(tiles) == pytest.approx(140.0)
        assert len(tiles) >= 4


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("leaves", [0.0, 1.0])
def test_doors_join_all_rooms(seed: int, leaves: float) -> None:
    rng = np.random.default_rng(seed)
    draft = Draft(rng, 14.2, 10.2)
    tiles = split(rng, FLOOR, 2.4, 5.0)
    kinds = ["bath", *["living"] * (len(tiles) - 1)]
    rooms = build(Site(draft), tiles, kinds, Style(leaves=leaves))
    grid = LayeredGrid.of(draft.level(), 0.1)
    ways = grid.field(rooms[0].middle)
    for room in rooms:
        cell = grid.nearest(room.middle, 0.5)
        assert cell is not None
        assert np.isfinite(ways.ravel()[cell])
        assert len(room.doors) >= 1


def test_a_bath_has_one_door() -> None:
    rng = np.random.default_rng(3)
    tiles: list[Region] = [(-6, -4, 0, 0), (0, -4, 6, 0), (-6, 0, 0, 4), (0, 0, 6, 4)]
    for _ in range(20):
        site = Site(Draft(rng, 12.2, 8.2))
        rooms = build(site, tiles, ["bath", "", "", ""], Style(loops=1.0))
        assert [len(room.doors) for room in rooms] == [
            1,
            *[len(r.doors) for r in rooms[1:]],
        ]
        assert sum(len(room.doors) for room in rooms) == 6
