"""For whom parts and goals of a level cannot be reached."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.moving import Mover
from ambulo.envs.vr.survey import access
from ambulo.envs.vr.survey.bodies import CHILD, LEGS, STANDING, Body, judged_bodies
from ambulo.envs.vr.survey.floor import Floor
from ambulo.envs.vr.survey.survey import survey
from ambulo.evaluate.playtest.problems import access_rows

EVERYBODY = judged_bodies(1.6)


def box(
    x0: float, y0: float, x1: float, y1: float, z0: float, z1: float
) -> list[float]:
    """A row of `Level.boxes` between two corners."""
    middle = ((x0 + x1) / 2, (y0 + y1) / 2, (z0 + z1) / 2)
    return [*middle, (x1 - x0) / 2, (y1 - y0) / 2, (z1 - z0) / 2, 0.0]


def hall(*boxes: list[float], goal: float = 0.0, **more) -> Level:
    """12 x 4 m within walls, with a start at x = 2 m and a goal at x = 10 m."""
    walls = [box(0, 0, 12, 0.1, 0, 6), box(0, 3.9, 12, 4, 0, 6), box(0, 0, 0.1, 4, 0, 6),
             box(11.9, 0, 12, 4, 0, 6)]  # fmt: skip
    return Level(
        "hall", np.array([0.0, 0.0, 12.0, 4.0]), boxes=np.array([*walls, *boxes]),
        start=np.array([2.0, 2.0, 0.0]), goal=np.array([10.0, 2.0]), goal_height=goal,
        heights=True, **more,
    )  # fmt: skip


def rows(floor: Floor) -> list[tuple[list[str], list[str], list[str]]]:
    """Names of bodies, of parts and of places."""
    return [
        ([b.name for b in a.bodies], [p.name for p in a.parts], list(a.places))
        for a in floor.access
    ]


def beam(underside: float) -> list[float]:
    return box(6, 0.1, 6.2, 3.9, underside, 6)


def test_the_seated_and_the_child_pass_under_a_beam_that_stops_who_stands():
    floor = survey(hall(beam(1.4)), bodies=EVERYBODY)
    assert rows(floor) == [
        (["standing", "with legs"], ["A"], ["goal"]),
        (["seated", "child"], [], []),
    ]
    [part] = floor.access[0].parts
    assert part.area == floor.areas[0].area
    assert access_rows(floor) == [
        ("standing (1.75 m), with legs (1.75 m)", "A, goal"),
        ("seated (1.31 m), child (1.20 m)", "nothing"),
    ]


def test_the_child_alone_passes_under_a_lower_beam():
    floor = survey(hall(beam(1.25)), bodies=(CHILD, STANDING))
    assert floor.areas == ()
    assert rows(floor) == [(["child"], [], []), (["standing"], ["A"], ["goal"])]
    [_, (_, text)] = access_rows(floor)
    assert text.startswith("A (22.")  # beside and under the beam nobody stands
    assert text.endswith("), goal")


@pytest.mark.parametrize(
    "body", [Body.of("own", 1.25), Body.of("own", 1.3)], ids=["1.37 m", "1.42 m"]
)
def test_a_body_of_ones_own_is_one_more(body):
    floor = survey(hall(beam(1.4)), bodies=(STANDING, body))
    assert (len(floor.access) == 2) == (body.height < 1.4)


def test_a_step_stops_the_body_with_legs_alone():
    floor = survey(hall(box(6, 0.1, 11.9, 3.9, 0, 0.2), goal=0.2), bodies=EVERYBODY)
    assert rows(floor) == [
        (["standing", "seated", "child"], [], []),
        (["with legs"], ["A"], ["goal"]),
    ]
    [part] = floor.access[1].parts
    assert part.area == pytest.approx(5.9 * 3.8, rel=0.05)
    assert part.position == pytest.approx([9, 2, 0.2], abs=1.2)
    assert "steps" in LEGS.note
    assert "0.62 m" in LEGS.note


def test_a_lift_carries_all_but_the_body_with_legs():
    keys = np.array([[0, 7.35, 2, -0.1, 0], [2, 7.35, 2, -0.1, 0], [6, 7.35, 2, 2.9, 0],
                     [8, 7.35, 2, 2.9, 0]])  # fmt: skip
    lift = Mover("lift", np.array([0.65, 1.2, 0.1]), keys, "back_and_forth")
    upper = box(8, 0.1, 11.9, 3.9, 2.8, 3)
    floor = survey(hall(upper, goal=3.0, movers=(lift,)), bodies=EVERYBODY)
    assert rows(floor) == [
        (["standing", "seated", "child"], [], []),
        (["with legs"], ["A"], ["goal"]),
    ]


@pytest.mark.parametrize(("door", "passes"), [(0.59, False), (0.7, True)])
def test_the_body_with_legs_needs_a_wider_door(door, passes):
    low, high = 1.975 - door / 2, 1.975 + door / 2  # around a centre of cells
    level = hall(box(6, 0, 6.1, low, 0, 6), box(6, high, 6.1, 4, 0, 6))
    floor = survey(level, bodies=EVERYBODY)
    assert floor.areas == ()
    assert (len(floor.access) == 1) == passes


def test_floor_is_looked_at_again_only_where_something_hangs_between(monkeypatch):
    tried = []

    def parts(level, resolution, body, z):
        tried.append(body.name)
        return find_parts(level, resolution, body, z)

    find_parts = access.find_parts
    monkeypatch.setattr(access, "find_parts", parts)
    survey(hall(beam(2.0)), bodies=EVERYBODY)
    assert tried == ["with legs"]
    tried.clear()
    survey(hall(beam(1.4)), bodies=EVERYBODY)
    assert tried == ["seated", "with legs"]


def test_agents_of_a_usual_height_are_no_further_body():
    assert [b.name for b in judged_bodies(1.2)] == [
        "seated",
        "standing",
        "child",
        "with legs",
    ]
    assert [b.name for b in judged_bodies(1.0)][:2] == ["agents", "standing"]
