"""When a walker stands, and how its steps begin."""

from __future__ import annotations

import numpy as np

from ambulo.envs.reference.step_gaits import WIDTH
from ambulo.envs.tasks.walk_commands.stepping import (
    FADE,
    QUIET,
    first_phase,
    share_of_policy,
    stops,
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
    share = share_of_policy(np.array([0.0, QUIET, QUIET + 0.5 * FADE, 60.0]))
    np.testing.assert_allclose(share, [1.0, 1.0, 0.5, 0.0])
