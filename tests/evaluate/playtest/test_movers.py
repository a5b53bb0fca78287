"""What moves: where it lets a body through, and what people that are met leave behind."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ambulo.cli import main
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import load_levels
from ambulo.envs.vr.levels.moving import Mover, hinged_door
from ambulo.envs.vr.survey.movers import (
    judged_level,
    played_level,
    waited_for,
)
from ambulo.envs.vr.survey.survey import survey
from ambulo.evaluate.playtest.flags import PlaytestFlags
from ambulo.evaluate.playtest.playing import make_walker
from ambulo.evaluate.playtest.problems import find_problems
from ambulo.evaluate.playtest.result import playtest_level

LEAF = np.array([0.6, 0.03, 1.05])
SHUT, OPEN = (6.0, 2.0, 1.05, np.pi / 2), (6.0, 3.2, 1.05, np.pi / 2)


def mover(
    *places: tuple[float, ...],
    kind: str = "door",
    loop: str = "back_and_forth",
    half=LEAF,
):
    """A box that is at each of `places` (x, y, z, yaw) two seconds after the one before."""
    path = np.array([[2.0 * k, *place] for k, place in enumerate(places)])
    return Mover(kind, np.array(half), path, loop)


def rooms(*movers: Mover, **more) -> Level:
    """Two rooms of 6 x 4 m with a doorway of 1.2 m at x = 6, y = 2."""
    walls = [[6, 0.7, 1.5, 0.05, 0.7, 1.5, 0], [6, 3.3, 1.5, 0.05, 0.7, 1.5, 0]]
    return Level(
        "rooms", np.array([0.0, 0.0, 12.0, 4.0]), boxes=np.array(walls), heights=True,
        movers=movers, **more,
    )  # fmt: skip


def kinds(level: Level) -> list[str]:
    return [area.kind for area in survey(level).areas]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("thing", "expected"),
    [
        (mover(SHUT, OPEN), []),
        (mover(SHUT), ["sealed"]),
        (mover(SHUT, SHUT, kind="wall"), ["sealed"]),
        (mover(SHUT, (6.0, 2.05, 1.05, np.pi / 2)), ["sealed"]),
        (mover(SHUT, OPEN, loop="once"), []),
        (mover(OPEN, SHUT, loop="once"), ["sealed"]),
        (mover(SHUT, (6.0, 2.0, 3.2, np.pi / 2), kind="wall"), []),  # up and away
        (mover(SHUT, (6.0, 2.0, 1.5, np.pi / 2), kind="wall"), ["sealed"]),
    ],
)
def test_a_thing_blocks_where_it_is_in_the_way_at_every_time(thing, expected):
    assert kinds(rooms(thing)) == expected


def test_a_door_that_swings_lets_pass_and_leaves_its_hinge():
    half, path = hinged_door(
        np.array([6.0, 1.43, 0.0]), (1.14, 0.06, 2.1), np.pi / 2, 1.5, 8.0
    )
    level = rooms(Mover("door", half, path, "loop"))
    assert kinds(level) == []
    assert survey(level).reachable_area == pytest.approx(48, rel=0.03)


def test_things_that_come_to_rest_are_boxes_where_they_do():
    still, shut = mover(SHUT), mover(OPEN, SHUT, loop="once")
    level = rooms(still, shut, mover(SHUT, OPEN))
    assert [len(played_level(level).boxes), len(played_level(level).movers)] == [3, 2]
    judged = judged_level(level)
    assert [len(judged.boxes), len(judged.movers)] == [4, 1]
    assert judged.boxes[3, :3] == pytest.approx(SHUT[:3])


@pytest.mark.integration
def test_a_platform_over_a_gap_is_told_apart_from_a_lift_which_joins():
    gap = {"holes": np.array([[4.0, 0.0, 8.0, 4.0]])}
    half = [0.6, 0.6, 0.1]
    ferry = mover((4.7, 2, -0.1, 0), (7.3, 2, -0.1, 0), kind="platform", half=half)
    level = Level("gap", np.array([0.0, 0.0, 12.0, 4.0]), heights=True, **gap)
    assert kinds(level) == ["sealed"]
    ferried = Level(
        "gap", level.bounds, heights=True, movers=(ferry,), start=np.array([2.0, 2, 0]), **gap
    )  # fmt: skip
    [area] = survey(ferried).areas
    assert (area.kind, area.carrier) == ("ride", "movers[0]")
    slab = np.array([[10.5, 2, 2.8, 1.5, 2, 0.1, 0]])
    keys = np.array([[0, 8.35, 2, 0.1, 0], [2, 8.35, 2, 0.1, 0], [6, 8.35, 2, 2.8, 0],
                     [8, 8.35, 2, 2.8, 0]])  # fmt: skip
    lift = Mover("lift", np.array([0.65, 1.9, 0.1]), keys, "back_and_forth")
    for gap in (0.0, 0.02, 0.04):
        parted = slab + np.array([gap / 2, 0, 0, -gap / 2, 0, 0, 0])
        tower = Level("lift", level.bounds, boxes=parted, heights=True, movers=(lift,))
        assert kinds(tower) == []
        assert len(survey(tower).storeys) == 2


def test_who_stays_beside_a_door_or_on_a_lift_waits_for_it():
    door = mover(SHUT, OPEN)
    sweeper = mover((2, 2, 1, 0), (4, 2, 1, 0), kind="wall")
    level = rooms(sweeper, door)
    assert waited_for(level, np.array([5.0, 2.0, 0.0])) == "movers[1]"
    assert waited_for(level, np.array([3.0, 2.0, 0.0])) == ""
    assert waited_for(level, np.array([5.0, 2.0, 3.0])) == ""
    keys = np.array(
        [[0, 1, 1, 0.1, 0], [2, 1, 1, 0.1, 0], [6, 1, 1, 2.9, 0], [8, 1, 1, 2.9, 0]]
    )
    lift = Mover("lift", np.array([0.6, 0.6, 0.1]), keys, "back_and_forth")
    for z in (0.0, 1.4, 3.0):
        assert waited_for(rooms(lift), np.array([1.2, 1.4, z])) == "movers[0]"


def crossing(path: Path, **people) -> str:
    """A corridor of 12 x 1.6 m in which two people go to and fro."""
    routes = [[[1, y, 0], [11, y, 0]] for y in (0.5, 1.1)]
    walkers = [{"route": r, "speed": 1.5, "phase": "random"} for r in routes]
    level = {
        "name": "corridor", "bounds": [0, 0, 12, 1.6], "heights": True,
        "people": {"walkers": walkers, **people},
    }  # fmt: skip
    path.write_text(json.dumps(level))
    return str(path)


@pytest.mark.integration
def test_collisions_with_people_are_in_rows_numbers_and_a_heat_map(tmp_path):
    out = tmp_path / "out"
    main(
        ["playtest", crossing(tmp_path / "corridor.json"), "--agent", "straight", "--agents",
         "12", "--seconds", "20", "--out", str(out)]
    )  # fmt: skip
    [level] = json.loads((out / "playtest.json").read_text())["levels"]
    rows = json.loads((out / "journeys.json").read_text())
    met = sum(row["people_collisions"] for row in rows)
    assert met > 5
    assert all(row["people_collisions"] <= row["collisions"] for row in rows)
    assert level["metrics"]["people_collisions"]["value"] == pytest.approx(met / 12)
    maps = {m["name"]: m["cells"] for m in level["heat_maps"]}
    assert sum(cell[3] for cell in maps["people_collisions"]) == pytest.approx(
        met, rel=0.15
    )
    assert "of these with people" in (out / "report.html").read_text()


def test_falls_are_where_they_began(tmp_path):
    level = {"name": "gap", "bounds": [0, 0, 10, 3], "heights": True}
    level |= {"holes": [[4, 0, 6, 2]], "start": {"position": [1, 1]}, "goal": [9, 1]}
    (tmp_path / "gap.json").write_text(json.dumps(level))
    [level] = load_levels(tmp_path / "gap.json")
    flags = PlaytestFlags(levels="gap", agent="straight", agents=6)
    found = playtest_level(level, make_walker(flags), flags)
    problems = find_problems(found)
    assert any(problem.fails for problem in problems)
    falls = next(m for m in found.maps if m.name == "falls").cells()
    assert sum(cell[3] for cell in falls) == 6
    assert all(3.3 < cell[0] < 4.6 for cell in falls)
    fall = next(p for p in problems if p.kind == "fall")
    assert fall.text.startswith("6 agents (100 %) fell")
    assert not fall.fails
