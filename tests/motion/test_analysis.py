"""Velocities, speed and jumps, by hand."""

import numpy as np
import pytest

from ambulo.configs.errors import MotionError
from ambulo.motion import analysis
from ambulo.motion.euler import quat_from_euler
from ambulo.motion.motion import Motion
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply
from ambulo.motion.skeleton import Skeleton

ARM = Skeleton(
    "arm", ("root", "arm", "end"), (-1, 0, 1), [[0, 0, 1.0], [0, 0, 0], [2.0, 0, 0]]
)


def spinning(frames: int = 20, fps: float = 50.0, rate: float = 3.0) -> Motion:
    """The arm's joint turns about Z at `rate`, the root moves along +Y at 0.5 m/s."""
    time = np.arange(frames) / fps
    rotations = np.zeros((frames, 3, 4))
    rotations[..., 0] = 1.0
    rotations[:, 1] = quat_from_euler(rate * time[:, None], "Z")
    return Motion(
        ARM, fps, np.stack([0 * time, 0.5 * time, 1 + 0 * time], -1), rotations
    )


def test_joint_velocities_of_a_circle():
    motion = spinning()
    rates = analysis.joint_velocities(motion)
    np.testing.assert_allclose(rates[:, 0], np.tile([0, 0.5, 0], (20, 1)), atol=1e-12)
    # 2 m from the axis at 3 rad/s: 6 m/s across the arm; central differences lose
    # sin(x) / x of it, x = 3 / 50.
    x = 3.0 / 50.0
    phase = 3.0 * motion.times[5]
    across = 6.0 * np.sin(x) / x * np.array([-np.sin(phase), np.cos(phase), 0])
    np.testing.assert_allclose(rates[5, 2], across + np.array([0, 0.5, 0]), atol=1e-12)


def test_world_and_local_angular_velocities_differ_by_frame_and_parent():
    motion = spinning()
    rotations = motion.rotations.copy()
    rotations[:, 0] = quat_from_euler(
        np.tile([np.pi / 2], (20, 1)), "X"
    )  # Z becomes -Y
    motion = motion.replace(rotations=rotations)
    local = analysis.angular_velocities(motion)
    world = analysis.angular_velocities(motion, "world")
    np.testing.assert_allclose(local[:, 1], np.tile([0, 0, 3.0], (20, 1)), atol=1e-12)
    np.testing.assert_allclose(world[:, 1], np.tile([0, -3.0, 0], (20, 1)), atol=1e-12)
    np.testing.assert_allclose(world[:, 2], world[:, 1], atol=1e-12)  # rides along
    with pytest.raises(MotionError, match="'local' or 'world'"):
        analysis.angular_velocities(motion, "body")


def test_angular_velocities_have_an_error_of_second_order():
    def error(fps: float) -> float:
        time = np.arange(0.0, 1.0, 1.0 / fps)
        q = quat_multiply(
            quat_from_euler((time**2)[:, None], "Z"),
            quat_from_euler(2 * time[:, None], "X"),
        )
        rotations = np.zeros((len(time), 3, 4))
        rotations[..., 0] = 1.0
        rotations[:, 1] = q
        rates = analysis.angular_velocities(
            Motion(ARM, fps, np.zeros((len(time), 3)), rotations)
        )
        half = len(time) // 2
        t = time[half]
        # In the child's frame: 2 about X, and 2 t about the Z axis turned back by X.
        true = [2.0, 2 * t * np.sin(2 * t), 2 * t * np.cos(2 * t)]
        return float(np.abs(rates[half, 1] - true).max())

    assert error(50.0) / error(100.0) == pytest.approx(4.0, rel=0.2)


def test_speed_is_horizontal():
    motion = spinning()
    root = motion.root_positions + np.stack(
        [0 * motion.times] * 2 + [motion.times**2], -1
    )
    np.testing.assert_allclose(analysis.speed(motion.replace(root_positions=root)), 0.5)


def test_a_single_frame_does_not_move():
    motion = spinning(1)
    assert analysis.joint_velocities(motion).tolist() == np.zeros((1, 3, 3)).tolist()
    assert analysis.angular_velocities(motion, "world").shape == (1, 3, 3)
    assert analysis.speed(motion).tolist() == [0.0]
    assert analysis.jumps(motion) == []


def test_jumps_name_joint_frame_and_angle():
    motion = spinning()
    rotations = motion.rotations.copy()
    rotations[8:, 2] = quat_from_rotvec(np.array([0.0, np.deg2rad(120.0), 0.0]))
    rotations[3, 0] *= -1.0  # the same rotation, no jump
    (jump,) = analysis.jumps(motion.replace(rotations=rotations))
    assert (jump.joint, jump.frame) == ("end", 8)
    assert jump.angle_deg == pytest.approx(120.0)
    assert analysis.jumps(motion.replace(rotations=rotations), 130.0) == []


def test_spans_are_runs_of_true():
    found = np.array([True, True, False, True, False, False, True])
    assert analysis.spans(found) == [(0, 2), (3, 4), (6, 7)]
    assert analysis.spans(np.zeros(3, dtype=bool)) == []


def test_ranges_are_the_largest_turns_between_poses(walk_motion):
    ranges = analysis.joint_ranges(walk_motion(240))
    assert list(ranges) == list(analysis.RANGES)
    # Sines of these amplitudes about one axis each.
    assert ranges["hips"] == pytest.approx(np.rad2deg(0.8), rel=0.01)
    assert ranges["knees"] == pytest.approx(np.rad2deg(0.7), rel=0.01)
    assert ranges["ankles"] == pytest.approx(np.rad2deg(0.2), rel=0.01)
    assert ranges["elbows"] == pytest.approx(0.0, abs=1e-5)
    text = analysis.movement_text(walk_motion(240))
    assert text.startswith("1.20 m/s, root 0.91 to 0.95 m high; hips 46, knees 40")
    assert analysis.joint_ranges(spinning()) == {}
