"""States of human23 and their mirror."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import MotionError
from ambulo.motion import human23
from ambulo.motion.datasets.states import N_STATE, mirror_states, motion_of, states_of
from ambulo.motion.motion import Motion
from ambulo.motion.operations import mirror


def random_motion(frames: int = 12, seed: int = 3) -> Motion:
    """Any poses of human23."""
    random = np.random.default_rng(seed)
    positions = random.normal(0.0, 0.4, (frames, human23.N_POSITIONS))
    return human23.from_positions(positions, 25.0)


def test_a_state_is_pose_and_the_velocity_that_led_to_it() -> None:
    motion = random_motion()
    states = states_of(motion).astype(np.float64)
    assert states.shape == (12, N_STATE)
    pose, velocity = states[:, :56], states[:, 56:]
    reached = human23.integrate(pose[:-1], velocity[1:], 1.0 / 25.0)
    np.testing.assert_allclose(reached, pose[1:], atol=2e-6)
    np.testing.assert_array_equal(velocity[0], velocity[1])


def test_poses_come_back() -> None:
    motion = random_motion()
    back = motion_of(states_of(motion), 25.0)
    np.testing.assert_allclose(back.root_positions, motion.root_positions, atol=1e-6)
    np.testing.assert_allclose(back.rotations, motion.rotations, atol=1e-6)


def test_mirrored_states_are_those_of_the_mirrored_motion() -> None:
    motion = random_motion()
    expected = states_of(mirror(motion))
    np.testing.assert_allclose(mirror_states(states_of(motion)), expected, atol=2e-5)


def test_one_frame_has_no_velocity() -> None:
    with pytest.raises(MotionError, match="one frame"):
        states_of(random_motion(1))
