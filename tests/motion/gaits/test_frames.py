"""Frames of gait: sequences out of positions, mirrored, and back to motions."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.configs.gait import gait_space
from ambulo.configs.healthy_gait import HEALTHY
from ambulo.motion.gaits.frames import (
    frame_rate,
    mirrored,
    motion_of,
    orthonormal,
    root_path,
    sequence,
    single,
    speed_of,
)
from ambulo.motion.human23 import (
    from_positions,
    position_slices,
    sixdof_slices,
    to_positions,
    to_sixdof,
)
from ambulo.motion.operations import mirror, transform

RATE, SPEED, PERIOD = 50.0, 1.2, 1.1


def walker(seconds: float = 4.0, course: float = 0.7) -> Floats:
    """Positions that go straight along `course`, with knees and hips that swing."""
    time = np.arange(round(seconds * RATE)) / RATE
    phase = 2.0 * np.pi * time / PERIOD
    places = position_slices()
    positions = np.zeros((len(time), 56))
    positions[:, places["FemurL"]] = np.stack(
        [0.1 * np.cos(phase), 0.5 * np.sin(phase), 0.05 * np.sin(2 * phase)], axis=1
    )
    positions[:, places["TibiaR"]] = 0.6 + 0.4 * np.cos(phase)[:, None]
    positions[:, places["ForeArmL"]] = -0.3 + 0.2 * np.cos(phase)[:, None]
    positions[:, 3] = SPEED * time
    positions[:, 4] = 0.02 * np.sin(phase)
    positions[:, 5] = 0.9 + 0.02 * np.cos(2 * phase)
    motion = from_positions(positions, RATE)
    return to_positions(transform(motion, yaw=course))


def moments() -> Floats:
    return 20.0 + np.arange(61) / 30.0 * PERIOD * RATE


def test_a_straight_walk_leads_along_x() -> None:
    frames = sequence(walker(), moments(), RATE)
    assert frames.shape == (60, 101)
    # Two whole cycles: the sway to the side ends where it began.
    assert speed_of(frames) == pytest.approx(SPEED, rel=2e-4)
    assert frames[:, 7].mean() == pytest.approx(0.0, abs=1e-5)
    np.testing.assert_allclose(frames[:30], frames[30:], atol=2e-4)
    knee = frames[:, sixdof_slices()["TibiaR"]][:, 0]
    phase = 2.0 * np.pi * moments()[:-1] / RATE / PERIOD
    np.testing.assert_allclose(knee, 0.6 + 0.4 * np.cos(phase), atol=1e-4)
    # At the start the way is 1/30 s of the speed there, whatever the rate.
    assert frames[0, 6] == pytest.approx(SPEED / 30.0, rel=0.02)
    np.testing.assert_allclose(frames[:, 8], 0.9 + 0.02 * np.cos(2 * phase), atol=1e-4)


def test_a_bend_is_straightened() -> None:
    positions = walker(course=0.0)
    turned = []
    for row, angle in zip(
        positions, np.linspace(0.0, 0.5, len(positions)), strict=True
    ):
        one = from_positions(row[None], RATE)
        turned.append(to_positions(transform(one, yaw=float(angle)))[0])
    bent = np.array(turned)
    steps = np.diff(positions[:, 3:5], axis=0)
    angles = np.linspace(0.0, 0.5, len(positions))[1:]
    cos, sin = np.cos(angles), np.sin(angles)
    ways = np.stack(
        [cos * steps[:, 0] - sin * steps[:, 1], sin * steps[:, 0] + cos * steps[:, 1]],
        1,
    )
    bent[1:, 3:5] = bent[0, 3:5] + np.cumsum(ways, axis=0)
    straight = sequence(walker(course=0.0), moments(), RATE)
    found = sequence(bent, moments(), RATE)
    np.testing.assert_allclose(found, straight, atol=6e-3)


def test_moments_outside_are_refused() -> None:
    with pytest.raises(MotionError, match="outside"):
        sequence(walker(1.0), moments(), RATE)
    with pytest.raises(MotionError, match="ascend"):
        sequence(walker(), moments()[::-1], RATE)


def test_one_cycle_is_closed_and_taken_twice() -> None:
    positions = walker()
    positions[:, position_slices()["TibiaR"]] += np.linspace(0, 1, len(positions))[
        :, None
    ]
    frames = single(positions, 20.0, 20.0 + PERIOD * RATE, RATE)
    np.testing.assert_array_equal(frames[:30], frames[30:])
    knee = frames[:, sixdof_slices()["TibiaR"]][:, 0]
    phase = 2.0 * np.pi * (20.0 / (PERIOD * RATE) + np.arange(30) / 30.0)
    # The drift of 0.27 rad over the cycle is gone, the swing is left.
    assert np.ptp(knee[:30] - 0.4 * np.cos(phase)) < 1e-3
    assert speed_of(frames) == pytest.approx(SPEED, rel=2e-4)


def test_rows_become_rotations() -> None:
    rng = np.random.default_rng(0)
    frames = rng.normal(size=(4, 101))
    out = orthonormal(frames)
    rows = out[:, :6].reshape(4, 2, 3)
    np.testing.assert_allclose(
        rows @ np.swapaxes(rows, 1, 2), np.tile(np.eye(2), (4, 1, 1)), atol=1e-12
    )
    assert (out[:, 6:9] == frames[:, 6:9]).all()
    assert out[:, 15] == pytest.approx(frames[:, 15])  # a hinge's angle stays


def test_mirror_is_that_of_the_motion() -> None:
    frames = sequence(walker(), moments(), RATE)
    motion = motion_of(frames, 30.0)
    other = to_sixdof(to_positions(mirror(motion)))
    found = mirrored(frames)
    keep = np.r_[0:6, 8:101]
    np.testing.assert_allclose(
        found[:, keep], np.roll(other, -15, axis=0)[:, keep], atol=1e-9
    )
    np.testing.assert_allclose(found[:, 7], -np.roll(frames[:, 7], -15), atol=1e-12)
    np.testing.assert_allclose(
        mirrored(found), np.roll(frames, -30, axis=0), atol=1e-12
    )


def test_the_path_is_the_way_added_up() -> None:
    frames = np.zeros((4, 101))
    frames[:, 6] = (0.03, 0.03, 0.06, 0.06)
    frames[:, 8] = 0.9
    path = root_path(frames, 60.0)  # a frame of 1/60 s is half of 1/30 s
    np.testing.assert_allclose(path[:, 0], [0.0, 0.015, 0.0375, 0.0675])
    np.testing.assert_allclose(path[:, 2], 0.9)


def test_frame_rate_of_the_healthy_and_the_small() -> None:
    space = gait_space("human23")
    healthy = space.default
    assert frame_rate(space, healthy) == pytest.approx(
        30.0 * HEALTHY.cycle_rate, rel=1e-4
    )
    small = space.vector(**{"global": 0.9, "cadence": 1.1})
    wanted = 30.0 * HEALTHY.cycle_rate * 1.1 / np.sqrt(0.9)
    assert frame_rate(space, np.stack([small, small])) == pytest.approx(
        wanted, rel=1e-4
    )
