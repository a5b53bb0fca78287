from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.evaluate.motion.metrics import (
    euler_errors,
    foot_skate_cm_s,
    growth_slope,
    horizon_frames,
    joint_angle_deg,
    joint_distance_mm,
    npss,
    npss_parts,
    r_squared,
    spectrum_features,
)
from ambulo.evaluate.shared.intervals import clip_intervals
from ambulo.motion.euler import quat_from_euler


def about_x(degrees):
    """Quaternions (..., 4) about X."""
    half = np.radians(np.asarray(degrees, float)) / 2
    zero = np.zeros_like(half)
    return np.stack([np.cos(half), np.sin(half), zero, zero], axis=-1)


def test_joint_distance_is_the_mean_over_joints_in_mm():
    true = np.zeros((1, 2, 3))
    predicted = np.array([[[0.003, 0.004, 0.0], [0.0, 0.0, -0.001]]])
    assert joint_distance_mm(predicted, true) == pytest.approx([3.0])  # (5 + 1) / 2


def test_joint_angle_is_the_mean_over_joints_whatever_the_sign_of_a_quaternion():
    true = about_x([[0.0, 10.0]])
    predicted = about_x([[30.0, 350.0]])
    assert joint_angle_deg(predicted, true) == pytest.approx([25.0])  # (30 + 20) / 2
    assert joint_angle_deg(-predicted, true) == pytest.approx([25.0])


def test_euler_errors_of_a_ball_a_hinge_and_a_fixed_joint():
    ball = quat_from_euler(np.radians([[10.0, 20.0, 30.0]]), "ZXY")
    other = quat_from_euler(np.radians([[13.0, 16.0, 30.0]]), "ZXY")
    hinge = quat_from_euler(np.radians([[100.0]]), "Y")
    bent = quat_from_euler(np.radians([[112.0]]), "Y")
    still = np.array([[1.0, 0.0, 0.0, 0.0]])
    true = np.stack([ball, hinge, still], axis=1)
    predicted = np.stack([other, bent, still], axis=1)
    norm, mean = euler_errors(predicted, true, ("ZXY", "Y", ""))
    assert norm == pytest.approx([np.radians(13.0)])  # sqrt(9 + 16 + 144)
    assert mean == pytest.approx([19.0 / 4.0])


def test_euler_errors_have_no_jump_where_only_the_numbers_jump():
    # The middle angle passes 90 deg: the nearest triple of angles is the twin.
    before = quat_from_euler(np.radians([[[5.0, 89.0, 0.0]]]), "ZXY")
    after = quat_from_euler(np.radians([[[5.0, 91.0, 0.0]]]), "ZXY")
    norm, _ = euler_errors(after, before, ("ZXY",))
    assert np.degrees(norm) == pytest.approx(2.0, abs=1e-6)
    there = quat_from_euler(np.radians([[[179.0]]]), "Y")
    round_ = quat_from_euler(np.radians([[[-179.0]]]), "Y")
    assert np.degrees(euler_errors(there, round_, ("Y",))[0]) == pytest.approx(2.0)


def test_npss_is_zero_for_the_same_spectrum_and_counts_the_distance_of_a_shift():
    t = np.arange(16)
    slow = np.cos(2 * np.pi * t / 16)[None, :, None]
    fast = np.cos(2 * np.pi * 2 * t / 16)[None, :, None]
    assert npss(slow, slow) == pytest.approx(0.0, abs=1e-12)
    assert npss(3.0 * np.roll(slow, 5, axis=1), slow) == pytest.approx(0.0, abs=1e-9)
    # Half of the power moves from bin 1 to 2, the other half from bin 15 to 14.
    assert npss(fast, slow) == pytest.approx(1.0)


def test_npss_weighs_with_the_true_power():
    t = np.arange(8)
    slow, fast = (np.cos(2 * np.pi * k * t / 8) for k in (1, 2))
    true = np.stack([3.0 * slow, slow], axis=-1)[None]
    predicted = np.stack([3.0 * slow, fast], axis=-1)[None]
    assert npss(predicted, true) == pytest.approx(0.1)  # 1 of 9 + 1
    parts, weights = npss_parts(predicted, true)
    assert parts / weights == pytest.approx([0.1])


def test_npss_of_a_still_prediction_is_finite():
    moving = np.sin(np.arange(10.0))[None, :, None]
    assert np.isfinite(npss(np.zeros_like(moving), moving))
    assert npss(moving, np.zeros_like(moving)) == 0.0


def test_spectrum_features_are_continuous_and_about_the_rotation_vector():
    turning = about_x(np.linspace(150.0, 210.0, 7))[None, :, None]
    turning[:, 4:] *= -1.0
    features = spectrum_features(turning)
    assert features.shape == (1, 7, 3)
    assert np.abs(np.diff(features[0, :, 0])).max() < 0.2
    small = spectrum_features(about_x([[[2.0]]]))
    assert small[0, 0, 0] == pytest.approx(np.radians(2.0), rel=1e-3)


def test_foot_skate_counts_low_feet_only():
    still = np.zeros((1, 3, 1, 3))
    ground = np.zeros((1, 3, 1))
    sliding = still.copy()
    sliding[0, :, 0, 0] = [0.0, 0.01, 0.02]  # 1 cm a frame at 10 Hz
    assert foot_skate_cm_s(still, ground, 10.0) == pytest.approx([0.0])
    assert foot_skate_cm_s(sliding, ground, 10.0) == pytest.approx([10.0])
    sliding[..., 2] = 0.0125  # half of 2.5 cm
    expected = 10.0 * (2.0 - 2.0**0.5)
    assert foot_skate_cm_s(sliding, ground, 10.0) == pytest.approx([expected])
    assert foot_skate_cm_s(sliding, ground + 0.0125, 10.0) == pytest.approx([10.0])
    sliding[..., 2] = 0.03
    assert foot_skate_cm_s(sliding, ground, 10.0) == pytest.approx([0.0])


def test_r_squared_leaves_out_numbers_that_stand_still():
    true = np.array([[0.0, 0.0, 5.0], [2.0, 20.0, 5.0]])
    predicted = np.array([[1.0, 0.0, 6.0], [2.0, 20.0, 4.0]])
    pooled, mean = r_squared(predicted, true)
    assert pooled == pytest.approx(1.0 - 1.0 / 202.0)  # deviations 2 and 200
    assert mean == pytest.approx((0.5 + 1.0) / 2)
    assert np.isnan(r_squared(predicted[:, 2:], true[:, 2:])[0])


@given(st.floats(0.1, 2.0), st.floats(0.01, 100.0))
def test_growth_slope_is_the_exponent(exponent, scale):
    errors = scale * np.arange(1, 61) ** exponent
    assert growth_slope(errors) == pytest.approx(exponent)


def test_growth_slope_needs_sixty_frames_and_errors():
    assert np.isnan(growth_slope(np.ones(59)))
    assert np.isnan(growth_slope(np.zeros(60)))


def test_horizons_are_frames_after_the_last_known_one():
    assert horizon_frames((40, 80, 160, 320, 400, 560, 1000), 25.0) == [
        1, 2, 4, 8, 10, 14, 25,
    ]  # fmt: skip
    assert horizon_frames((5,), 25.0) == [1]


def test_intervals_are_over_clips_not_windows():
    clips = np.repeat([0, 1], 500)
    values = np.where(clips == 0, 1.0, 3.0)
    ((low, high),) = clip_intervals(values, clips, seed=0)
    assert (low, high) == (1.0, 3.0)  # two clips: a resample may hold only one
    ((low, high),) = clip_intervals(values, np.arange(1000), seed=0)
    assert 1.9 < low < 2.0 < high < 2.1


def test_intervals_of_columns_and_weights():
    clips = np.array([0, 0, 1])
    values = np.array([[1.0, 10.0], [3.0, 30.0], [2.0, 20.0]])
    found = clip_intervals(values, clips, seed=3)
    assert found.shape == (2, 2)
    assert found[0] == pytest.approx([2.0, 2.0])  # both clips have mean 2
    weighted = clip_intervals(values[:, 0], clips, 3, weights=np.array([1.0, 1.0, 4.0]))
    assert weighted[0] == pytest.approx([0.5, 2.0])


def test_the_same_seed_gives_the_same_interval():
    rng = np.random.default_rng(0)
    values, clips = rng.normal(size=40), np.repeat(np.arange(8), 5)
    first, again = (clip_intervals(values, clips, seed=5) for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, clip_intervals(values, clips, seed=6))
