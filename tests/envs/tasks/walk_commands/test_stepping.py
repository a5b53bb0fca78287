"""When a walker stands and steps, where its frame goes, and how it gives way to touches."""

from __future__ import annotations

import numpy as np

from ambulo.envs.reference.legs import WIDTH
from ambulo.envs.simulation.frames import walk_frames
from ambulo.envs.tasks.walk_commands.stepping import (
    AWAY_AHEAD,
    AWAY_SIDE,
    FADE,
    FASTEST,
    FILTER,
    GIVE,
    LEASH,
    QUIET,
    STRONGEST,
    TIED,
    TOUCHED_LEASH,
    away,
    first_phase,
    giving,
    low_passed,
    policy_fraction,
    stay_near,
    stops,
    tie,
)

MID = 0.1
"""Phase of the left foot's mid-stance: double support is at 0.35 and 0.85."""


def test_steps_end_in_double_support_alone() -> None:
    phase = np.array([0.35, 0.85, 0.32, 0.1, 0.6, 0.45])
    n = len(phase)
    apart = np.tile([0.0, WIDTH], (n, 1))
    found = stops(phase, MID, np.zeros((n, 3)), apart, np.zeros(n))
    assert found.tolist() == [True, True, True, False, False, False]


def test_steps_go_on_with_feet_apart_or_moving() -> None:
    apart = np.array(
        [[0.0, WIDTH], [0.1, WIDTH], [0.0, 0.09], [0.0, WIDTH], [0.0, WIDTH]]
    )
    speed = np.array([0.0, 0.0, 0.0, 0.5, 0.0])
    command = np.zeros((5, 3))
    command[4, 0] = 0.4
    found = stops(np.full(5, 0.35), MID, command, apart, speed)
    assert found.tolist() == [True, False, False, False, False]


def test_the_first_step_is_on_the_side_that_the_body_moves_to() -> None:
    # A quarter of a cycle later the left foot is in mid-stance.
    np.testing.assert_allclose(first_phase(MID, np.array([0.2, -0.2])), [0.85, 0.35])


def test_the_policy_fades_out_of_a_body_that_stands() -> None:
    share = policy_fraction(np.array([0.0, QUIET, QUIET + 0.5 * FADE, 60.0]))
    np.testing.assert_allclose(share, [1.0, 1.0, 0.5, 0.0])


def test_a_frame_goes_to_the_side_too() -> None:
    reference_frame = np.array([[0.0, 0.0, np.pi / 2.0, 0.0]])
    walk_frames(reference_frame, np.array([0.5]), np.zeros(1), 0.1, np.array([0.2]))
    np.testing.assert_allclose(
        reference_frame, [[-0.02, 0.05, np.pi / 2.0, 0.0]], atol=1e-12
    )


def test_frames_are_on_a_leash_in_place_and_heading() -> None:
    reference_frame = np.array([[3.0, 1.0, 0.0, 0.0]] * 3 + [[0.05, 1.0, 0.0, 0.0]])
    root = np.tile([0.0, 1.0], (4, 1))
    yaw = np.array([0.1, -1.0, 1.0, 0.3])
    stay_near(reference_frame, root, yaw, np.array([False, False, True, False]))
    np.testing.assert_allclose(
        reference_frame[:, 0], [LEASH, LEASH, TOUCHED_LEASH, 0.05]
    )
    np.testing.assert_allclose(reference_frame[:, 1], 1.0)
    np.testing.assert_allclose(reference_frame[:, 2], [0.0, -0.6, 0.6, 0.0])


def test_the_frame_of_a_standing_body_goes_to_its_feet() -> None:
    # Feet that look to the left, a body that stood with its ankles 0.02 m behind.
    c, s = 0.0, 1.0
    turn = np.array([c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0])
    feet = np.array([[[0.91, 2.0, 0.07], [1.09, 2.0, 0.07]]])
    reference_frame = np.zeros((1, 4))
    goal = np.array([1.0, 2.02, np.pi / 2.0, 0.0])
    tie(reference_frame, feet, np.tile(turn, (1, 2, 1)), -0.02)
    np.testing.assert_allclose(reference_frame[0], TIED * goal, atol=1e-12)
    for _ in range(40):
        tie(reference_frame, feet, np.tile(turn, (1, 2, 1)), -0.02)
    np.testing.assert_allclose(reference_frame[0], goal, atol=1e-5)


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
