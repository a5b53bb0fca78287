"""What the navigator does beside and on carriers, of which its plan may be old."""

import numpy as np
import pytest

from ambulo.envs.vr.geometry.solid_kernels import BOX, PERSON
from ambulo.envs.vr.geometry.solid_ray_kernels import FLOOR_PARTS, NOTHING
from ambulo.envs.vr.navigator.navigator import Navigator, Sensed
from ambulo.envs.vr.navigator.planning import REPLAN, Plans
from ambulo.envs.vr.navigator.steering import BOARD, RIDE, WALK, Steering, steer
from ambulo.envs.vr.navigator.tracks import Tracks, track, tracks_of

LIFT = np.array([2.0, 0.0, 0.7, 0.7, 1.0, 0.0, -0.1, 0.1, BOX, 0.0, 0.0, 0.0, 0.0])
ENV = np.zeros(1, np.int64)


def sensed(x: float, things=(LIFT,)) -> Sensed:
    """Who stands at (x, 0), beside or on `things`; the goal is above."""
    movers = np.zeros((1, 3, len(LIFT)))
    movers[0, : len(things)] = things
    return Sensed(
        np.array([[x, 0.0, 0.1 if x > 1.3 else 0.0]]), np.zeros(1), np.array([[2.0, 5.0, 3.0]]),
        np.full((1, 8), 5.0), np.full((1, 8), NOTHING), np.zeros((1, 8, FLOOR_PARTS)), movers,
        np.zeros(1, np.bool_),
    )  # fmt: skip


def planned(here: Sensed, *points: tuple[float, float, float, int]) -> tuple:
    """Tracks that have seen `here`, and a plan along `points` (x, y, z, track)."""
    tracks, plans, steering = Tracks.empty(1), Plans.empty(1), Steering.empty(1)
    track(tracks_of(tracks, 0), here.movers[0], 1, 0.1)
    plans.points[0, : len(points), :4] = points
    plans.length[0], plans.age[0] = len(points), REPLAN - 1
    plans.waypoint[0] = points[0][:2]
    return tracks, plans, steering


@pytest.mark.parametrize("lost", [False, True])
def test_what_is_forgotten_is_not_boarded(lost):
    here = sensed(0.9)
    tracks, plans, steering = planned(
        here, (0.9, 0, 0, -1), (2, 0, 0, 0), (2, 1, 3, -1)
    )
    plans.boards[0] = 0
    if lost:
        tracks.carries[0, 0] = False  # another thing has taken its place
    steer(ENV, tracks, plans, steering, here, np.array([1]), 1.4)
    assert plans.boards[0] == (-1 if lost else 0)
    assert steering.state[0] == (WALK if lost else BOARD)
    assert plans.age[0] == (0 if lost else REPLAN - 1)


@pytest.mark.parametrize("aboard", [False, True])
def test_who_has_boarded_stays_until_the_plan_knows(aboard):
    """A plan from before the step onto the lift does not lead off it again."""
    here = sensed(1.7)
    points = [(0.9, 0, 0, -1), (2, 0, 0, 0), (2, 1, 3, -1)]
    tracks, plans, steering = planned(here, *points[1 if aboard else 0 :])
    plans.boards[0] = -1 if aboard else 0
    steer(ENV, tracks, plans, steering, here, np.array([1]), 1.4)
    assert steering.state[0] == RIDE
    assert steering.velocity[0, 0] >= 0.0


def test_the_plan_of_a_rider_begins_on_what_carries_it():
    navigator = Navigator(1)
    for x in (0.9, 1.7, 1.7, 1.7):
        navigator.update(ENV, sensed(x), 1.4, 0.1)
    assert navigator.plans.points[0, 0, 3] == 0.0
    assert navigator.steering.state[0] == RIDE


@pytest.mark.parametrize("ridden", [False, True])
def test_who_waits_lets_leave_first(ridden):
    """A lift that has just come is boarded at once, but not while somebody is on it."""
    rider = np.array(
        [2.0, 0.0, 0.25, 0.25, 1.0, 0.0, 0.1, 1.8, PERSON, 0.0, 0.0, 0.0, 0.0]
    )
    here = sensed(0.9, (LIFT, rider) if ridden else (LIFT,))
    tracks, plans, steering = planned(
        here, (0.9, 0, 0, -1), (2, 0, 0, 0), (2, 1, 3, -1)
    )
    plans.boards[0], tracks.rest_from[0, 0] = 0, 1
    steer(ENV, tracks, plans, steering, here, np.array([2]), 1.4)
    assert steering.boarding[0] == (not ridden)
    assert steering.state[0] == (BOARD if ridden else WALK)
    assert np.sign(steering.velocity[0, 0]) == (-1 if ridden else 1)
