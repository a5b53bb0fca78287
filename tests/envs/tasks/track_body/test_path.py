"""The path of a walker that follows trackers, and its commands."""

from __future__ import annotations

import numpy as np

from ambulo.configs.walk_commands import SIDE, SPEED
from ambulo.envs.tasks.track_body.path import (
    BEGIN,
    CROUCHED,
    END,
    advance_path,
    leading_commands,
    steps_on,
)

DT = 1.0 / 30.0
NOBODY = np.zeros(1, np.bool_)


def test_a_path_follows_constant_velocity_without_a_lag() -> None:
    path, pace = np.zeros((1, 3)), np.zeros((1, 3))
    rates = np.array([[1.2, -0.3, 0.8]])
    for k in range(1, 600):
        turned = rates * k * DT
        turned[:, 2] = (turned[:, 2] + np.pi) % (2.0 * np.pi) - np.pi
        advance_path(path, pace, turned, DT)
    np.testing.assert_allclose(pace, rates, atol=1e-6)
    np.testing.assert_allclose(path[:, :2], rates[:, :2] * 599 * DT, atol=1e-6)
    assert abs(np.angle(np.exp(1j * (path[0, 2] - turned[0, 2])))) < 1e-6


def test_commands_lead_to_the_path_and_stay_within_the_envelope() -> None:
    path = np.array([[0.2, 0.1, np.pi / 2.0]])
    still = np.zeros((1, 3))
    speed, turn, side = leading_commands(
        path, still, np.zeros((1, 2)), np.full(1, np.pi / 2.0)
    )[0]
    assert speed > 0.0  # ahead is +Y
    assert side < 0.0  # the path is to the right
    assert turn == 0.0
    far = leading_commands(100.0 * path, still, np.zeros((1, 2)), np.zeros(1))[0]
    assert far[0] <= SPEED[1]
    assert abs(far[2]) <= SIDE[1] + 1e-9


def test_fast_walkers_turn_towards_a_path_beside_them() -> None:
    path, root = np.array([[0.0, 0.2, 0.0]]), np.zeros((1, 2))
    turns = [
        leading_commands(path, np.array([[v, 0.0, 0.0]]), root, np.zeros(1))[0, 1]
        for v in (0.3, 1.0)
    ]
    assert turns[0] == 0.0
    assert turns[1] > 0.1


def test_steps_begin_and_end_at_different_distances() -> None:
    between = np.array([[0.5 * (BEGIN[0] + END[0]), 0.0, 0.0]])
    still, root, yaw = np.zeros((1, 3)), np.zeros((1, 2)), np.zeros(1)
    assert not steps_on(NOBODY, between, still, root, yaw, NOBODY)[0]
    assert steps_on(~NOBODY, between, still, root, yaw, NOBODY)[0]
    far = np.array([[0.5 * BEGIN[0] * (1.0 + CROUCHED), 0.0, 0.0]])
    assert steps_on(NOBODY, far, still, root, yaw, NOBODY)[0]
    assert not steps_on(NOBODY, far, still, root, yaw, ~NOBODY)[0]
