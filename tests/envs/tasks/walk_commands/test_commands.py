"""The envelope of commands, and how they settle."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import ConfigError
from ambulo.envs.tasks.walk_commands.commands import (
    SETTLING,
    drawn_wait,
    settle,
    stands_still,
    within_envelope,
)

DT = 1.0 / 30.0


def test_commands_outside_the_envelope_are_moved_into_it() -> None:
    asked = np.array([
        [1.0, 0.42, 0.1],   # within
        [2.0, 0.0, 0.0],    # too fast
        [-1.0, 0.0, -0.9],  # too fast backwards and to the side
        [0.0, 3.0, 0.0],    # 120 deg/s are 2.094 rad/s
        [1.6, -2.0, 0.0],   # 0.84 m/s^2 over 1.6 m/s are 0.525 rad/s
        [1.2, 0.0, -0.3],   # two thirds of it
        [0.6, 0.7, 0.3],    # half of the widest turn there takes half of the side
        [0.2, 2.5, 0.3],    # slower, the widest turn takes less of it
    ])  # fmt: skip
    inside, clamped = within_envelope(asked)
    expected = [
        [1.0, 0.42, 0.1], [1.6, 0.0, 0.0], [-0.2, 0.0, -0.3],
        [0.0, 2.0944, 0.0], [1.6, -0.525, 0.0], [1.2, 0.0, -0.2],
        [0.6, 0.7, 0.15], [0.2, 2.0944, 0.15],
    ]  # fmt: skip
    np.testing.assert_allclose(inside, expected, atol=1e-4)
    assert clamped.tolist() == [False, *[True] * 7]
    again, outside = within_envelope(inside)
    np.testing.assert_array_equal(again, inside)
    assert not outside.any()


def test_a_command_that_is_no_number_is_refused() -> None:
    with pytest.raises(ConfigError, match="not finite"):
        within_envelope(np.array([[np.nan, 0.0, 0.0]]))


def test_commands_settle_without_overshoot_and_brake_faster() -> None:
    command, change = np.zeros((1, 3)), np.zeros((1, 3))
    goal = np.array([[1.2, 1.0, -0.2]])
    seen = [command.copy()]
    for _ in range(round(5.0 / DT)):
        settle(goal, DT, command, change, SETTLING)
        seen.append(command.copy())
    path = np.array(seen)[:, 0]
    rates = np.diff(path, axis=0) / DT
    assert (np.abs(rates).max(axis=0) <= np.array(SETTLING.speeding) + 1e-9).all()
    np.testing.assert_allclose(command, goal, atol=0.01)
    assert path[:, 0].max() < 1.2 + 0.02
    braking = []
    for _ in range(round(1.0 / DT)):
        settle(np.zeros((1, 3)), DT, command, change, SETTLING)
        braking.append(-change[0, 0])
    # 1.2 m/s at 2.2 m/s^2 take 0.55 s, and the ends of the change a little more.
    assert abs(command[0, 0]) < 0.08
    most = SETTLING.braking[0]
    assert 0.8 * most < max(braking) <= most


def test_small_commands_are_to_stand() -> None:
    commands = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.1, 0.0]])
    assert stands_still(commands).tolist() == [True, False, False]


def test_the_followed_command_may_go_beyond_the_envelope() -> None:
    asked = np.array([[-0.3, -9.0, 0.0], [1.9, 0.0, 0.5], [0.0, 2.3, 0.35]])
    reached, outside = within_envelope(asked, (-0.35, 1.74), 1.2)
    assert outside.tolist() == [True, True, False]
    assert reached[0] == pytest.approx([-0.3, -1.2 * np.deg2rad(120.0), 0.0])
    assert reached[1] == pytest.approx([1.74, 0.0, 0.12])
    assert reached[2] == pytest.approx(asked[2])
    turning = np.array([[0.6, 1.4, 0.3]])
    assert within_envelope(turning)[0][0, 2] == 0.0
    free, _ = within_envelope(turning, turns_take_side=False)
    assert free[0] == pytest.approx(turning[0])


def test_short_times_are_drawn_as_often_as_long_ones() -> None:
    times = [drawn_wait(chance, (0.1, 6.0)) for chance in (0.0, 0.5, 1.0)]
    assert times == pytest.approx([0.1, 0.6**0.5, 6.0])
    assert drawn_wait(0.5, (0.0, 4.0)) == 2.0
