"""Stays, stuck spots and heat maps of known traces."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.survey.survey import survey
from ambulo.envs.vr.task.metrics import Trace
from ambulo.evaluate.playtest.heatmaps import covered_cells, heat_maps, touch_starts
from ambulo.evaluate.playtest.journeys import Journey, ground_of, way_on
from ambulo.evaluate.playtest.measures import differences, journey_values
from ambulo.evaluate.playtest.stuck import find_spots, find_stays
from ambulo.evaluate.vr.scores import EpisodeRecord

DT = 0.1
BOUNDS = np.array([0.0, 0.0, 10.0, 4.0])
WALL = np.array([[5.0, 1.0, 1.0, 0.05, 1.0, 1.0, 0.0]])
LEVEL = Level("hall", BOUNDS, boxes=WALL)


def record(points, *, success=True, contacts=()) -> EpisodeRecord:
    """An episode along `points` (n, 2)."""
    xyz = np.column_stack([points, np.zeros(len(points))])
    rows = len(xyz)
    velocity = np.vstack([np.zeros((1, 3)), np.diff(xyz, axis=0) / DT])
    ticks = np.zeros(rows, np.int64)
    ticks[list(contacts)] = 3
    trace = Trace(
        DT, xyz, np.zeros(rows), velocity, np.zeros(rows), np.ones(rows), ticks,
        np.zeros(rows, np.int64),
    )  # fmt: skip
    return EpisodeRecord(
        LEVEL, success=success, fell=False, timeout=not success, optimal=2.0, left=0.0,
        path=2.5, time=(rows - 1) * DT, collisions=len(contacts), comfort=1.0, reward=0.0,
        trace=trace,
    )  # fmt: skip


def walk_then_wait(x: float, y: float, seconds: float) -> np.ndarray:
    """From the left to (x, y) at 1 m/s, and `seconds` there."""
    way = np.column_stack(
        [np.arange(1.0, x, 0.1), np.full(len(np.arange(1.0, x, 0.1)), y)]
    )
    return np.vstack([way, np.tile([[x, y]], (round(seconds / DT), 1))])


def test_a_stay_is_longer_than_three_seconds_within_half_a_metre():
    short, long = record(walk_then_wait(3, 1, 2.0)), record(walk_then_wait(3, 1, 6.0))
    [stay] = find_stays([short, long])
    assert stay.episode == 1
    assert not stay.final
    assert stay.position == pytest.approx([3, 1, 0], abs=0.2)
    assert stay.seconds == pytest.approx(6.4, abs=0.3)
    [stay] = find_stays([record(walk_then_wait(3, 1, 6.0), success=False)])
    assert stay.final


def test_spots_need_several_agents_and_end_at_walls():
    floor = survey(LEVEL)
    here = [record(walk_then_wait(4.6, 1, 6), success=False) for _ in range(3)]
    there = [record(walk_then_wait(5.4, 1, 9)) for _ in range(2)]
    alone = [record(walk_then_wait(9, 3, 20))]
    spots = find_spots(find_stays([*here, *there, *alone]), 50, floor)
    assert [(s.name, s.agents, s.failures) for s in spots] == [("1", 3, 3), ("2", 2, 0)]
    assert spots[0].position[0] < 5 < spots[1].position[0]
    assert find_spots([], 10, floor) == []


def test_touches_begin_after_half_a_second_without():
    trace = record(walk_then_wait(3, 1, 6), contacts=(5, 6, 9, 30)).trace
    assert touch_starts(trace, 0.5).tolist() == [5, 30]


def test_maps_hold_all_seconds_and_touches():
    floor, spec = survey(LEVEL), WorldSpec()
    records = [
        record(walk_then_wait(3, 1, 6), contacts=(5, 30)),
        record(walk_then_wait(9, 3, 1)),
    ]
    stays = find_stays(records)
    covered = covered_cells(floor, records)
    maps = {m.name: m for m in heat_maps(floor, records, stays, covered, spec)}
    total = {name: np.nansum(m.values) for name, m in maps.items()}
    assert total["presence"] == pytest.approx(sum(r.time for r in records))
    assert total["stuck"] == pytest.approx(sum(s.seconds for s in stays))
    assert total["collisions"] == 2
    assert 0.3 < covered.sum() / floor.reachable.sum() < 0.8
    assert np.nanmax(maps["coverage"].values) == 1
    assert np.nanmin(maps["coverage"].values) == 0
    x, y, z, value = max(maps["stuck"].cells(), key=lambda cell: cell[3])
    assert (x, y, z) == pytest.approx((3.125, 1.125, 0))
    assert value > 5


def test_differences_are_paired_and_signed_by_what_is_better():
    spec = WorldSpec()
    slow = [record(walk_then_wait(3, 1, s)) for s in (6, 7, 8, 9)]
    fast = [record(walk_then_wait(3, 1, s)) for s in (1, 2, 1, 2)]
    ours, other = (journey_values(r, find_stays(r), spec) for r in (slow, fast))
    rows = {d.measure.name: d for d in differences(ours, other, 0)}
    assert rows["time_s"].difference.value == pytest.approx(6.0)
    assert rows["time_s"].verdict == "worse"
    assert rows["stuck_s"].verdict == "worse"
    assert rows["success_rate"].verdict == "no clear difference"


def opening(width: float) -> Level:
    """Two halves of a hall, with an opening in the wall between them."""
    half = 0.25 * (4.0 - width)
    rows = [[5.0, y, 1.0, 0.1, half, 1.0, 0.0] for y in (half, 4.0 - half)]
    return Level("hall", BOUNDS, boxes=np.array(rows))


POCKET = Level(
    "pocket", BOUNDS,
    boxes=np.array([[6.0, 2, 1, 0.1, 1, 1, 0], [4.5, 1, 1, 1.6, 0.1, 1, 0],
                    [4.5, 3, 1, 1.6, 0.1, 1, 0]]),
)  # fmt: skip
FLOORS = Level(
    "floors", np.array([0.0, 0.0, 14.0, 8.0]), heights=True,
    boxes=np.array([[11.0, 4, 2.9, 3, 4, 0.1, 0]]),
    stairs=np.array([[3.0, 7, 0, 8, 7, 3, 1.8, 0, 18]]),
)  # fmt: skip


@pytest.mark.parametrize(
    ("level", "spot", "goal", "reads_heights", "obstacle"),
    [
        (opening(0.6), (4.5, 2, 0), (9, 2, 0), False, "no way"),
        (opening(0.7), (4.5, 2, 0), (9, 2, 0), False, "gap"),
        (opening(1.0), (4.5, 2, 0), (9, 2, 0), False, "none"),
        (POCKET, (5.6, 2, 0), (9, 2, 0), False, "detour"),
        (FLOORS, (11.8, 2.1, 0), (12, 2, 3), False, "floor"),
        (FLOORS, (11.8, 2.1, 0), (12, 2, 3), True, "detour"),
        (FLOORS, (11.8, 2.1, 0), (12, 4, 0), False, "none"),
    ],
)
def test_what_stands_between_a_spot_and_its_goals(
    level, spot, goal, reads_heights, obstacle
):
    journey = Journey("", np.zeros(4), np.array(goal, np.float64))
    way = way_on(
        ground_of(survey(level)), np.array(spot, np.float64), [journey],
        reads_heights=reads_heights,
    )  # fmt: skip
    assert way.obstacle == obstacle
    if obstacle == "gap":
        assert way.place == pytest.approx([5, 2, 0], abs=0.3)
