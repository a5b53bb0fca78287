"""Captured cycles: strikes, steady strides and what they measure."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.gait import gait_space
from ambulo.configs.healthy_gait import HEALTHY
from ambulo.motion.gaits.frames import speed_of
from ambulo.motion.gaits.plain_walk import PERIOD, plain_walk
from ambulo.motion.gaits.skeleton import gait_skeleton, leg_length
from ambulo.motion.gaits.strides import (
    CapturedCycles,
    captured_space,
    cycles_of,
    measured_lengths,
    space_row,
    strikes,
)
from ambulo.motion.motion import Motion
from ambulo.motion.operations import mirror, resample
from ambulo.motion.skeletons import load_skeleton

RATE = 60.0


def walk(cycles: int = 4) -> Motion:
    """The textbook walk of 1.3 m in 1.1 s."""
    return resample(plain_walk(load_skeleton("human23")).motion(cycles), RATE)


def contacts_of(motion: Motion) -> np.ndarray:
    """The left foot stands in the first 60 % of its cycle, the right half a cycle later."""
    phase = motion.times / PERIOD
    return np.stack([(phase % 1.0) < 0.6, ((phase + 0.5) % 1.0) < 0.6], axis=1)


def cycles() -> CapturedCycles:
    motion = walk()
    return cycles_of(motion, contacts_of(motion))


def test_strikes_are_a_cycle_apart() -> None:
    motion = walk()
    found = strikes(motion, contacts_of(motion)[:, 0])
    assert len(found) == 3
    np.testing.assert_allclose(np.diff(found), PERIOD * RATE, atol=0.02)
    # The foremost ankle of this walk lies just before the foot stands.
    assert 0.0 <= PERIOD * RATE - found[0] < 0.12 * PERIOD * RATE


def test_noise_in_contacts_makes_no_strikes() -> None:
    motion = walk()
    stands = contacts_of(motion)[:, 0].copy()
    clean = strikes(motion, stands)
    stands[10:13] = False
    stands[50:53] = True
    np.testing.assert_array_equal(strikes(motion, stands), clean)


def test_strides_are_measured() -> None:
    found = cycles()
    assert len(found) >= 2
    space = gait_space("human23")
    stride, cadence = HEALTHY.ratios(1.3, 1.0 / PERIOD, HEALTHY.leg_length)
    np.testing.assert_allclose(
        found.params[:, space.index("stride")], stride, rtol=1e-3
    )
    np.testing.assert_allclose(
        found.params[:, space.index("cadence")], cadence, rtol=1e-3
    )
    np.testing.assert_allclose(found.params[:, 2:11], 1.0, atol=1e-4)
    np.testing.assert_allclose(found.fps, 30.0 / PERIOD, rtol=1e-3)
    np.testing.assert_allclose(speed_of(found.frames), 1.3 / PERIOD, rtol=2e-3)


def test_right_strides_are_mirrored() -> None:
    found = cycles()
    left = [k for k, name in enumerate(found.names) if name.startswith("left")]
    right = [k for k, name in enumerate(found.names) if name.startswith("right")]
    assert left
    assert right
    # This walk is its own mirror image half a cycle later.
    np.testing.assert_allclose(found.frames[left[0]], found.frames[right[0]], atol=5e-3)
    motion = walk()
    other = cycles_of(mirror(motion), contacts_of(motion)[:, ::-1])
    np.testing.assert_allclose(
        sorted(found.params[:, 0]), sorted(other.params[:, 0]), rtol=1e-6
    )


def test_standing_gives_nothing() -> None:
    motion = walk()
    still = motion.replace(
        root_positions=np.tile(motion.root_positions[:1], (len(motion), 1)),
        rotations=np.tile(motion.rotations[:1], (len(motion), 1, 1)),
    )
    assert len(cycles_of(still, contacts_of(motion))) == 0


def test_uneven_strides_are_left_out() -> None:
    motion = walk()
    root = motion.root_positions.copy()
    half = len(root) // 2
    root[half:, 0] = root[half, 0] + 2.0 * (root[half:, 0] - root[half, 0])
    uneven = motion.replace(root_positions=root)
    assert len(cycles_of(uneven, contacts_of(motion))) < len(cycles())


def test_lengths_are_measured_back() -> None:
    space = gait_space("human23")
    values = space.vector(**{"global": 0.9, "femur_length_left": 0.95})
    lengths = measured_lengths(gait_skeleton(space, values))
    # The geometric mean of eight limbs, one of them 0.95 of the rest.
    assert lengths["global"] == pytest.approx(0.9 * 0.95 ** (1 / 8))
    product = lengths["global"] * lengths["femur_length_left"]
    assert product == pytest.approx(0.9 * 0.95)
    wanted = leg_length(space, values)
    assert leg_length(space, space_row(lengths)) == pytest.approx(wanted)


def test_the_captured_space_holds_what_was_measured() -> None:
    params = np.stack([space_row({}, 0.63, 1.31), space_row({}, 1.42, 0.8)])
    space = captured_space(params)
    space.check(params)
    assert (space.name, space.names) == ("captured", gait_space("human23").names)
    assert (space.low[0], space.high[0]) == pytest.approx((0.6, 1.45))
    # What never varies still has a range, and torsions keep theirs.
    assert space.high[3] - space.low[3] == pytest.approx(0.1)
    assert space.high[-1] == gait_space("human23").high[-1]
