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
from ambulo.envs.simulation.frames import out_of_frame
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


def left_foot(
    batch: LocomoteBatch, speed: float, turning: float, phases: Floats
) -> tuple[Floats, Floats]:
    """Place (K, 2), [m], and heading (K,), [rad], of the reference's left foot.

    In the world, on the arc that the reference frame goes along, from mid-stance.
    """
    model = batch.simulation.model
    data = mujoco.MjData(model)
    assert batch._steering is not None
    ankle = int(batch._steering.legs[3][0, 2])
    foot = int(model.jnt_bodyid[model.dof_jntid[ankle]])
    batch.command[:] = speed, turning
    batch.blend = batch._blend()
    places, headings = [], []
    for phase in phases:
        qpos, qvel, _ = batch._reference(batch._steering.mid_stance[:1] + phase)
        time = phase * batch.blend.period[0]
        yaw, radius = turning * time, speed / turning
        x, y = radius * np.sin(yaw), radius * (1.0 - np.cos(yaw))
        out_of_frame(qpos, qvel, np.array([[x, y, yaw, 0.0]]))
        data.qpos[:] = qpos[0]
        mujoco.mj_kinematics(model, data)
        places.append(data.xpos[foot, :2].copy())
        # The foot's own X axis points to the toes.
        headings.append(np.arctan2(data.xmat[foot, 3], data.xmat[foot, 0]))
    return np.array(places), np.array(headings)


def test_a_standing_foot_stays_where_it_is_while_the_body_turns(make: Make) -> None:
    batch = make("locomote", 1)
    assert isinstance(batch, LocomoteBatch)
    phases = np.linspace(-0.2, 0.2, 9)
    straight, before = left_foot(batch, 1.0, 1e-6, phases)
    bent, after = left_foot(batch, 1.0, 0.5, phases)
    turned = 0.5 * 0.4 * batch.blend.period[0]  # of the body in this time, [rad]
    assert turned > 0.15
    assert np.ptp(after - before) < 0.15 * turned
    assert np.ptp((bent - straight)[:, 1]) < 0.015


def test_a_body_leans_to_the_inside_over_feet_that_stay(make: Make) -> None:
    batch = make("locomote", 1)
    assert isinstance(batch, LocomoteBatch)
    assert batch._steering is not None
    middle = batch._steering.mid_stance[:1]
    batch.command[:] = 1.2, 1e-12
    root, _, _ = batch._reference(middle)
    feet, _ = left_foot(batch, 1.2, 1e-6, np.zeros(1))
    batch.command[:] = 1.2, 0.5
    leaned, _, _ = batch._reference(middle)
    planted, _ = left_foot(batch, 1.2, 0.5, np.zeros(1))
    moved = leaned[0, 1] - root[0, 1]
    assert moved == pytest.approx(0.061162 * COM_HEIGHT, abs=0.003)
    assert abs(planted[0, 1] - feet[0, 1]) < 0.1 * moved


def test_straight_ahead_nothing_is_bent(make: Make) -> None:
    batch = make("locomote", 2)
    batch.command[:] = [1.0, 0.0], [1.0, 0.3]
    batch.blend = batch._blend()
    straight = batch.gaits.at(batch.phase, batch.blend)
    bent = batch._reference(batch.phase)
    for before, after in zip(straight, bent, strict=True):
        np.testing.assert_array_equal(before[0], after[0])
    assert np.abs(bent[0][1] - straight[0][1]).max() > 0.01
    assert bent[1][1, 5] - straight[1][1, 5] == pytest.approx(0.3)
