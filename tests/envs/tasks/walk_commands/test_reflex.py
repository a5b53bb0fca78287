"""What a walker does by itself where it is touched."""

from __future__ import annotations

import numpy as np

from ambulo.envs.tasks.walk_commands.reflex import (
    AWAY_AHEAD,
    AWAY_SIDE,
    FASTEST,
    FILTER,
    GIVE,
    STRONGEST,
    away,
    giving,
    low_passed,
)


def test_the_low_pass_comes_near_in_its_time_and_bounds_impacts() -> None:
    force = np.zeros((2, 2))
    now = np.array([[0.0, 100.0], [5000.0, 0.0]])
    for _ in range(5):
        force = low_passed(force, now, FILTER / 5.0)
    share = 1.0 - np.exp(-1.0)
    np.testing.assert_allclose(force[0], [0.0, 100.0 * share])
    np.testing.assert_allclose(force[1], [STRONGEST * share, 0.0])


def test_what_is_ahead_stops_and_turns_what_is_beside_slows() -> None:
    goal = np.array([[1.0, 0.0, 0.0]] * 4 + [[0.0, 0.0, 0.3]])
    force = np.array(
        [
            [-50.0, 10.0],  # ahead, a little to the right: to the left
            [-50.0, -10.0],
            [5.0, 40.0],  # from the right side
            [-50.0, 10.0],  # not a touch
            [0.0, -40.0],  # to the left, while going there
        ]
    )
    touched = np.array([True, True, True, False, True])
    got = away(goal, force, touched)
    expected = [
        [0.0, AWAY_AHEAD, 0.0], [0.0, -AWAY_AHEAD, 0.0], [0.5, AWAY_SIDE, 0.0],
        [1.0, 0.0, 0.0], [0.0, 0.0, 0.0],
    ]  # fmt: skip
    np.testing.assert_allclose(got, expected)


def test_a_turn_that_already_leads_away_is_kept() -> None:
    got = away(np.array([[0.8, 1.0, 0.0]]), np.array([[0.0, 30.0]]), np.array([True]))
    np.testing.assert_allclose(got, [[0.5, 1.0, 0.0]])


def test_commands_give_way_in_proportion_up_to_a_speed() -> None:
    got = giving(np.array([[50.0, 0.0], [0.0, -1000.0]]))
    np.testing.assert_allclose(got, [[50.0 * GIVE, 0.0, 0.0], [0.0, 0.0, -FASTEST]])
