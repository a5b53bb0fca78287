"""The state of bodies that tasks read, against plain formulas."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.body import (
    CONTACT_HEIGHT,
    body_of_joint,
    effector_bodies,
    fallen,
    sole_groups,
)

Make = Callable[..., LocomotionBatch]
Floats = NDArray[np.float64]


@pytest.fixture
def moved(make: Make) -> LocomotionBatch:
    """Three bodies after some steps, one of them in the air, their frames anywhere."""
    batch = make("imitate")
    rng = np.random.default_rng(2)
    for _ in range(3):
        batch.step(rng.uniform(-0.5, 0.5, (3, batch.action_size)))
    batch.simulation.qpos[1, 2] += 0.3
    batch.simulation.forward(np.arange(3))
    batch.reference_frame[:] = rng.uniform(-2.0, 2.0, (3, 4))
    batch._look()
    return batch


def test_the_root_is_seen_from_its_moving_frame(moved: LocomotionBatch) -> None:
    simulation, state = moved.simulation, moved.state
    for b in range(3):
        x, y, yaw, z = moved.reference_frame[b]
        frame = Rotation.from_rotvec([0.0, 0.0, yaw]).inv()
        root = Rotation.from_quat(simulation.qpos[b, 3:7], scalar_first=True)
        place = frame.apply(simulation.qpos[b, :3] - [x, y, z])
        np.testing.assert_allclose(state.qpos[b, :3], place, atol=1e-12)
        seen = Rotation.from_quat(state.qpos[b, 3:7], scalar_first=True)
        assert (seen.inv() * (frame * root)).magnitude() < 1e-7
        velocity = frame.apply(simulation.qvel[b, :3])
        np.testing.assert_allclose(state.qvel[b, :3], velocity, atol=1e-12)
        np.testing.assert_allclose(state.up[b], root.inv().apply([0.0, 0.0, 1.0]))
        ahead = seen.apply([1.0, 0.0, 0.0])
        assert state.yaw[b] == pytest.approx(np.arctan2(ahead[1], ahead[0]))
        heading = Rotation.from_rotvec([0.0, 0.0, state.yaw[b]]).inv()
        np.testing.assert_allclose(state.heading[b], heading.apply(velocity))
    np.testing.assert_array_equal(state.height, simulation.qpos[:, 2])


def test_effectors_and_centre_of_mass_are_turned_into_the_frame(
    moved: LocomotionBatch,
) -> None:
    simulation, state = moved.simulation, moved.state
    root = body_of_joint(moved.character, 0)
    bodies = effector_bodies(moved.character)
    places, centres = simulation.bind("xpos"), simulation.bind("subtree_com")
    for b in range(3):
        x, y, yaw, z = moved.reference_frame[b]
        frame = Rotation.from_rotvec([0.0, 0.0, yaw]).inv()
        off = frame.apply(places[b, bodies] - places[b, root])
        np.testing.assert_allclose(state.effectors[b], off, atol=1e-12)
        com = frame.apply(centres[b, root] - [x, y, z])
        np.testing.assert_allclose(state.com[b], com, atol=1e-12)


def test_soles_are_the_lowest_balls_of_each_part(moved: LocomotionBatch) -> None:
    simulation, character = moved.simulation, moved.character
    soles, data = character.soles, mujoco.MjData(simulation.model)
    for b in range(3):
        data.qpos[:] = simulation.qpos[b]
        mujoco.mj_kinematics(simulation.model, data)
        lowest = []
        for joint, offset in zip(soles.joints, soles.offsets, strict=True):
            body = body_of_joint(character, joint)
            place = data.xpos[body] + data.xmat[body].reshape(3, 3) @ offset
            lowest.append(place - [0.0, 0.0, soles.radius])
        points = moved._view.sole_points()[b]
        np.testing.assert_allclose(points, lowest, atol=1e-12)
        parts = [points[rows, 2].min() for rows in sole_groups(character)]
        np.testing.assert_array_equal(moved.state.soles[b], parts)
        touching = np.reshape(parts, (2, 3)).min(axis=1) < CONTACT_HEIGHT
        np.testing.assert_array_equal(moved.state.contacts[b], touching)
    assert moved.state.contacts.any()
    assert not moved.state.contacts[1].any()


def test_deviations_are_from_the_reference_in_the_frame(moved: LocomotionBatch) -> None:
    qpos, qvel, _ = moved._reference(moved.phase)
    state = moved.state
    apart = moved.simulation.tangent.difference(state.qpos, qpos)
    np.testing.assert_array_equal(state.deviation, apart)
    np.testing.assert_array_equal(state.rate, state.qvel - qvel)
    error = np.abs(apart[:, moved.dofs]).mean(axis=1)
    np.testing.assert_allclose(state.joint_error(moved.dofs), error, rtol=1e-14)


def test_a_fall_is_too_low_too_high_or_turned_too_far() -> None:
    deviation = np.zeros((5, 8))
    deviation[1, 2], deviation[2, 2] = 0.3, -0.3
    deviation[3, 3:6], deviation[4, 3:6] = 0.5, 0.4  # sqrt(3) times that
    found = fallen(deviation, 0.25, 0.8)
    assert found.tolist() == [False, True, True, True, False]
    assert not fallen(np.full((1, 8), np.nan), 0.25, 0.8).any()
