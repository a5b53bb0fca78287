"""Streams of poses: as a clip of the same poses, and what becomes of jumps."""

from __future__ import annotations

import numpy as np
import pytest
from fixtures.swaying import swaying

from ambulo.configs.errors import MotionError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.clip_library import clip_library
from ambulo.envs.reference.clips.pose_stream import BRIDGE, HALF, PoseStream
from ambulo.envs.simulation.tangent import Tangent


def test_a_stream_is_a_clip_of_its_poses(character: Character) -> None:
    table = swaying(character, "sway").table
    whole = clip_library({"sway": table}, character, 5)
    stream = PoseStream(character, 5, seconds=3.0)
    poses = table.qpos[::5]
    stream.begin(poses[0])
    for pose in poses[1:]:
        stream.append(pose)
    assert stream.knots == len(poses) - 1
    assert stream.jumps == 0
    rows = np.arange(int(whole.steps[0]) + 1)
    np.testing.assert_allclose(
        stream.library.qpos[rows[::5]], whole.qpos[rows[::5]], atol=1e-9
    )
    # Between the poses it is linear, and the clip nearly so.
    assert np.abs(stream.library.qpos[rows] - whole.qpos[rows]).max() < 2e-3
    knots = len(poses)
    np.testing.assert_allclose(stream.library.joints[:knots], whole.joints, atol=1e-9)
    np.testing.assert_allclose(stream.library.com[:knots], whole.com, atol=1e-9)
    inner = rows[5 * HALF : -5 * (HALF + 1)]
    found = stream.library.acceleration[inner]
    wanted = whole.acceleration[inner]
    assert np.abs(found - wanted).max() < 0.2 * np.abs(wanted).max()


def test_a_jump_is_led_over_and_the_stream_goes_on_there(character: Character) -> None:
    first = swaying(character, "first").table.qpos[::5]
    second = swaying(character, "second", yaw=1.5).table.qpos[::5].copy()
    second[:, :2] += [3.0, -2.0]
    stream = PoseStream(character, 5, seconds=5.0)
    stream.begin(first[0])
    for pose in (*first[1:10], *second[10:20]):
        stream.append(pose)
    assert stream.jumps == 1
    assert stream.knots == 9 + BRIDGE + 9
    done = stream.library.qpos[: 5 * stream.knots + 1]
    steps = Tangent(character.model).difference(done[1:].copy(), done[:-1].copy())
    assert np.abs(steps).max() < 0.02  # nothing is faster than 3 m/s or rad/s
    assert np.abs(done[:, :2]).max() < 0.1


def test_poses_that_cannot_be_are_refused(character: Character) -> None:
    stream = PoseStream(character, 5, seconds=0.1)
    pose = swaying(character, "sway").table.qpos[0]
    stream.begin(pose)
    with pytest.raises(MotionError, match="finite"):
        stream.append(np.full_like(pose, np.nan))
    for _ in range(3):
        stream.append(pose)
    with pytest.raises(MotionError, match="full"):
        stream.append(pose)
