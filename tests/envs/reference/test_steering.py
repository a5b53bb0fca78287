"""How a straight gait is bent into a turn."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.reference.foot_steering import (
    COM_HEIGHT,
    STANCE,
    leaning,
    turning_wave,
)
from ambulo.envs.tasks.locomote import LocomoteBatch

Make = Callable[..., LocomotionBatch]
Floats = NDArray[np.float64]


def waves(phases: Floats) -> Floats:
    """The waves at `phases` (K,) and their slopes. Shape (2, K)."""
    return np.array([turning_wave(phase) for phase in phases]).T


def test_a_hip_turns_against_the_pelvis_in_stance_and_comes_back() -> None:
    stance = np.array([-0.3, -0.1, 0.0, 0.25])
    wave, slope = waves(stance)
    np.testing.assert_allclose(wave, -stance, atol=1e-12)
    np.testing.assert_allclose(slope, -1.0)
    swing, slope_in_swing = turning_wave(0.5)  # half a cycle later
    assert swing == pytest.approx(0.0, abs=1e-12)
    # Half a Hermite cubic: 1.5 times the mean slope, less a quarter of both ends' slopes.
    assert slope_in_swing == pytest.approx(1.5 * STANCE / (1.0 - STANCE) + 0.5)


def test_the_wave_has_no_kink_and_its_slope_is_its_own() -> None:
    phase = np.linspace(-1.0, 1.0, 4001)
    wave, slope = waves(phase)
    steps = np.diff(wave)
    middle = 0.5 * (slope[:-1] + slope[1:])
    np.testing.assert_allclose(steps, middle * np.diff(phase), atol=1e-6)
    np.testing.assert_allclose(wave[:2000], wave[2000:4000], atol=1e-9)


def test_lean_is_that_of_a_pendulum_in_a_turn() -> None:
    # 1.2 m/s * 0.5 rad/s / 9.81 m/s^2.
    found = leaning(np.array([1.2, 1.2, 9.0]), np.array([0.5, -0.5, 9.0]))
    np.testing.assert_allclose(found, [0.061162, -0.061162, 0.2], atol=1e-6)


def test_a_body_leans_to_the_inside_over_feet_that_stay(make: Make) -> None:
    batch = make("locomote", 1)
    assert isinstance(batch, LocomoteBatch)
    assert batch._steering is not None
    model = batch.simulation.model
    ankle = int(batch._steering.legs[3][0, 2])
    foot, data = model.jnt_bodyid[model.dof_jntid[ankle]], mujoco.MjData(model)
    aside = []
    for turning in (1e-12, 0.5):
        batch.command[:] = 1.2, turning
        batch.blend = batch._blend()
        qpos, _, _ = batch._reference(batch._steering.mid_stance[:1])
        data.qpos[:] = qpos[0]
        mujoco.mj_kinematics(model, data)
        aside.append((qpos[0, 1], data.xpos[foot, 1]))
    moved, planted = np.subtract(aside[1], aside[0])
    assert moved == pytest.approx(0.061162 * COM_HEIGHT, abs=0.003)
    assert abs(planted) < 0.1 * moved
