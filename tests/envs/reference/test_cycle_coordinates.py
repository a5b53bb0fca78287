"""Coordinates of a cycle with ball joints, and their chain rules."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from ambulo.configs.arrays import Floats
from ambulo.envs.characters.character import human23
from ambulo.envs.reference.cycle_coordinates import CycleCoordinates
from ambulo.motion.gaits.cycle import derivative

PERIOD, COUNT = 1.2, 64
STRIDE = np.array([1.5, 0.0, 0.0])


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return human23().model


@pytest.fixture(scope="module")
def coordinates(model: mujoco.MjModel) -> CycleCoordinates:
    return CycleCoordinates(model, np.tile(model.qpos0, (COUNT, 1)))


def waves(n: int, seed: int) -> Floats:
    """Smooth periodic coordinates with turns of up to about a radian. (COUNT, n)."""
    rng = np.random.default_rng(seed)
    turn = 2.0 * np.pi * np.arange(COUNT) / COUNT
    basis = np.stack([np.cos(turn), np.sin(turn), np.cos(2 * turn)], axis=1)
    return 0.2 * basis @ rng.normal(size=(3, n))


def states(coordinates: CycleCoordinates, x: Floats) -> tuple[Floats, Floats, Floats]:
    progress = np.arange(COUNT)[:, None] / COUNT * STRIDE
    rate = derivative(x, PERIOD)
    change = derivative(rate, PERIOD)
    return coordinates.states(x, rate, change, progress, STRIDE / PERIOD, PERIOD)


def test_positions_lead_back_to_the_coordinates(coordinates: CycleCoordinates) -> None:
    x = waves(56, 0)
    qpos, _, _ = states(coordinates, x)
    progress = np.arange(COUNT)[:, None] / COUNT * STRIDE
    np.testing.assert_allclose(coordinates.of(qpos, progress), x, atol=1e-9)


def test_velocity_and_acceleration_are_those_of_the_positions(
    coordinates: CycleCoordinates, model: mujoco.MjModel
) -> None:
    qpos, qvel, qacc = states(coordinates, waves(56, 1))
    dt, found = PERIOD / COUNT, np.zeros(model.nv)
    for t in (1, 20, 40):
        mujoco.mj_differentiatePos(model, found, 2.0 * dt, qpos[t - 1], qpos[t + 1])
        np.testing.assert_allclose(found, qvel[t], atol=0.03 * np.abs(qvel).max())
        middle = (qvel[t + 1] - qvel[t - 1]) / (2.0 * dt)
        np.testing.assert_allclose(middle, qacc[t], atol=0.03 * np.abs(qacc).max())


def test_chain_rules_are_the_slopes_of_the_states(
    coordinates: CycleCoordinates, model: mujoco.MjModel
) -> None:
    x, change, step = waves(56, 2), waves(56, 3), 1e-6
    qpos, qvel, qacc = states(coordinates, x)
    after, faster, bent = states(coordinates, x + step * change)
    place, rate, bend = coordinates.chain(x, qvel, qacc, PERIOD)
    first = derivative(change, PERIOD)
    second = derivative(first, PERIOD)
    found = np.zeros(model.nv)
    for t in (0, 17, 50):
        mujoco.mj_differentiatePos(model, found, step, qpos[t], after[t])
        np.testing.assert_allclose(found, place[0][t] @ change[t], atol=1e-4)
        expected = rate[0][t] @ change[t] + rate[1][t] @ first[t]
        np.testing.assert_allclose(
            (faster[t] - qvel[t]) / step, expected, atol=1e-3 * np.abs(expected).max()
        )
        expected = bend[0][t] @ change[t] + bend[1][t] @ first[t]
        expected += bend[2][t] @ second[t]
        np.testing.assert_allclose(
            (bent[t] - qacc[t]) / step, expected, atol=1e-3 * np.abs(expected).max()
        )
