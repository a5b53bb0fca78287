from __future__ import annotations

import math

import numpy as np
import pytest

from ambulo.envs.vr.families.draft import Draft
from ambulo.envs.vr.families.places.fitting import Regions, around
from ambulo.envs.vr.families.places.pieces import block
from ambulo.envs.vr.families.places.site import (
    FurnitureGroup,
    FurniturePart,
    Room,
    Site,
)

ROOM = Room((-3.0, -2.0, 3.0, 2.0))


def _site(yaw: float = 0.0) -> Site:
    return Site(Draft(np.random.default_rng(0), 10.0, 10.0), yaw)


def test_regions_grow_and_meet() -> None:
    regions = Regions()
    for k in range(100):
        regions.add((k, 0.0, k + 0.5, 1.0))
    assert regions.rows.shape == (100, 4)
    assert regions.meets((99.4, 0.5, 99.6, 0.6))
    assert not regions.meets((99.5, 0.0, 100.0, 1.0)), "touching is not overlapping"


def test_rectangles_around_turned_parts() -> None:
    group = FurnitureGroup(
        (block(1.0, 0.0, 2.0, 1.0, 0.7), FurniturePart(0, 1, 0.5, 0.5, 1, round=True))
    )
    rows = around(group.rows, 10.0, 0.0, math.pi / 2)
    np.testing.assert_allclose(
        rows, [[9.5, 0, 10.5, 2], [8.5, -0.5, 9.5, 0.5]], atol=1e-9
    )
    assert group.extent == (-0.5, -0.5, 2.0, 1.5)


@pytest.mark.parametrize("side", range(4))
def test_pieces_stand_with_their_back_to_the_wall(side: int) -> None:
    site = _site()
    shelf = FurnitureGroup((block(0.0, 0.2, 1.0, 0.4, 2.0),), ((-0.5, 0.4, 0.5, 1.1),))
    assert site.at_wall(ROOM, shelf, (side,))
    row, free = site.solid.rows[0], site.clear.rows[0]
    walls = ((1, -2.0), (2, 3.0), (3, 2.0), (0, -3.0))
    key, at = walls[side]
    assert abs(row[key] - at) == pytest.approx(0.02)
    width, depth = row[2] - row[0], row[3] - row[1]
    assert (width, depth) == pytest.approx((1.0, 0.4) if side % 2 == 0 else (0.4, 1.0))
    middle = np.array(ROOM.middle)
    to_room = np.abs((free[:2] + free[2:]) / 2 - middle).sum()
    assert to_room < np.abs((row[:2] + row[2:]) / 2 - middle).sum()


def test_what_has_to_stay_free_stays_free() -> None:
    site = _site()
    site.clear.add((-3.0, -2.0, 3.0, 1.0))
    tall = FurnitureGroup((block(0.0, 0.6, 1.0, 1.2, 2.0),))
    assert not site.at_wall(ROOM, tall, tries=50)
    low = FurnitureGroup((block(0.0, 0.4, 1.0, 0.8, 2.0),))
    assert site.at_wall(ROOM, low, (2,), tries=50)
    assert not site.put(low, 0.0, 1.5, 0.0, ROOM.region), (
        "it would stick out of the room"
    )


def test_free_standing_groups_keep_their_gap() -> None:
    site = _site()
    part = FurnitureGroup((block(0.0, 0.0, 0.5, 0.5, 1.0),))
    for _ in range(30):
        site.amid(ROOM, part, 0.7, turned=0.5)
    rows = site.solid.rows
    assert len(rows) > 4
    for k, row in enumerate(rows):
        for other in rows[:k]:
            gap = np.maximum(other[:2] - row[2:], row[:2] - other[2:]).max()
            assert gap > 0.7 - 1e-5
    assert (rows[:, :2] >= np.array([-3, -2]) + 0.69).all()


def test_a_turned_site_turns_what_stands_on_it() -> None:
    site = _site(math.pi / 2)
    site.slab((1.0, -0.1, 3.0, 0.1), 2.5)
    x, y, z, a, b, c, yaw = site.draft.boxes[0]
    assert (x, y, z, a, b, c) == pytest.approx((0.0, 2.0, 1.25, 1.0, 0.1, 1.25))
    assert yaw == pytest.approx(math.pi / 2)
    site.put(
        FurnitureGroup((FurniturePart(2, 0, 0.3, 0.3, 0.8, round=True),)),
        0,
        1,
        0.0,
        ROOM.region,
    )
    assert site.draft.cylinders[0] == pytest.approx((-1.0, 2.0, 0.3, 0.8, 0.0))
