"""Refinement of a cycle on its equations of motion, on a body made for it."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from ambulo.configs.arrays import Floats
from ambulo.envs.reference.refine import PHASES, refined

SLED = """
<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <body name="sled" pos="0 0 0.1">
      <freejoint/>
      <geom type="box" size="0.3 0.3 0.05" mass="20"/>
      <body name="arm" pos="0 0 0.05">
        <joint name="hip" axis="0 1 0" range="-1 1"/>
        <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.03" mass="5"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
RADIUS = 0.02
BALL = SLED.replace('axis="0 1 0" range="-1 1"', 'type="ball"')


@pytest.fixture(scope="module")
def sled() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(SLED)


def balls() -> list[tuple[int, Floats, float]]:
    places = [(x, y, -0.08) for x in (-0.25, 0.25) for y in (-0.25, 0.25)]
    return [(1, np.array(place), RADIUS) for place in places]


def swaying(model: mujoco.MjModel, sway: float, swing: float) -> Floats:
    """A cycle in which the sled slides by `sway`, [m], and the arm swings, [rad]."""
    wave = np.sin(2.0 * np.pi * np.arange(2 * PHASES) / (2 * PHASES))
    qpos = np.tile(model.qpos0, (2 * PHASES, 1))
    qpos[:, 0] = sway * wave
    qpos[:, 7] = swing * wave
    return qpos


def test_standing_balls_stand_still(sled: mujoco.MjModel) -> None:
    found = refined(sled, balls(), swaying(sled, 0.02, 0.2), 1.0, np.zeros(3))
    assert np.ptp(found.table.qpos[:, 0]) < 0.004  # 0.04 before
    assert found.residual_force < 3.0
    assert found.residual_moment < 1.0


def test_torque_is_that_of_the_swinging_arm(sled: mujoco.MjModel) -> None:
    found = refined(sled, balls(), swaying(sled, 0.0, 0.1), 2.0, np.zeros(3))
    angle, torque = found.table.qpos[:, 7], found.table.torque[:, 6]
    # An arm that falls over is held by m g l sin(angle) + inertia: here a fast pendulum.
    inertia = sled.body_inertia[2].max() + 5.0 * 0.15**2
    pace = 2.0 * np.pi / 2.0
    expected = (-5.0 * 9.81 * 0.15 - inertia * pace**2) * angle
    assert np.ptp(angle) > 0.05
    np.testing.assert_allclose(torque, expected, atol=0.15 * np.abs(expected).max())


def test_a_possible_motion_is_left_alone(sled: mujoco.MjModel) -> None:
    found = refined(sled, balls(), swaying(sled, 0.0, 0.0), 1.0, np.zeros(3))
    assert found.moved < 1e-3
    assert found.residual_force < 1.0
    np.testing.assert_allclose(found.table.qvel, 0.0, atol=1e-3)


def test_a_ball_joint_swings_as_a_hinge_does(sled: mujoco.MjModel) -> None:
    ball = mujoco.MjModel.from_xml_string(BALL)
    qpos = swaying(sled, 0.0, 0.1)
    turned = np.tile(ball.qpos0, (len(qpos), 1))
    turned[:, 7], turned[:, 9] = np.cos(0.5 * qpos[:, 7]), np.sin(0.5 * qpos[:, 7])
    hinged = refined(sled, balls(), qpos, 2.0, np.zeros(3)).table
    found = refined(ball, balls(), turned, 2.0, np.zeros(3)).table
    largest = np.abs(hinged.torque).max()
    np.testing.assert_allclose(
        found.torque[:, 7], hinged.torque[:, 6], atol=0.02 * largest
    )
    np.testing.assert_allclose(found.torque[:, [6, 8]], 0.0, atol=0.01 * largest)
    angle = 2.0 * np.arctan2(found.qpos[:, 9], found.qpos[:, 7])
    np.testing.assert_allclose(angle, hinged.qpos[:, 7], atol=2e-3)


def test_as_many_samples_as_asked_for(sled: mujoco.MjModel) -> None:
    still = swaying(sled, 0.0, 0.0)
    table = refined(sled, balls(), still, 1.0, np.zeros(3), rounds=1, samples=30).table
    assert len(table.qpos) == len(table.qvel) == len(table.torque) == 30
