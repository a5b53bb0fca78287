"""Losses and scores of gait by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ambulo.configs.gait import gait_space
from ambulo.configs.gait_net import GaitNetLossConfig
from ambulo.evaluate.gait.scores import asymmetry, score, skates
from ambulo.motion.human23 import position_slices, to_sixdof
from ambulo.train.gait.losses import motion_loss, pose_loss, row_noise, squared_weights


@pytest.mark.parametrize(
    ("kind", "root", "way", "upper"),
    [
        ("as_documented", 10.0, 10.0, 2.5),
        ("as_coded", 20.0, 20.0, 1.25),
        ("balanced", 1000.0, 9000.0, 2.5),
    ],
)
def test_weights_of_squared_differences(
    kind: str, root: float, way: float, upper: float
) -> None:
    weights = squared_weights(GaitNetLossConfig(kind=kind))  # type: ignore[arg-type]
    assert weights[8] == root
    assert weights[6] == weights[7] == way
    assert (weights[57:] == upper).all()
    assert (weights[:6] == 5.0).all()
    assert (weights[9:57] == 5.0).all()


def test_loss_is_a_mean_over_all_numbers() -> None:
    weights = squared_weights(GaitNetLossConfig())
    true = torch.zeros(2, 101)
    predicted = true.clone()
    predicted[0, 8] = 0.1
    predicted[1, 60] = 0.2
    wanted = (20.0 * 0.01 + 1.25 * 0.04) / 202.0
    assert pose_loss(predicted, true, weights).item() == pytest.approx(wanted)


def test_motion_loss_is_that_of_the_change_in_a_radian() -> None:
    weights = torch.ones(101)
    true = torch.zeros(4, 101)  # frames 0 and 1, then the frames after them
    predicted = true.clone()
    predicted[0, 3] = predicted[2, 3] = 0.5  # a constant error does not count
    predicted[3, 9] = 0.1
    wanted = (0.1 * 30.0 / (2.0 * np.pi)) ** 2 / 202.0
    found = motion_loss(predicted, true, weights).item()
    assert found == pytest.approx(wanted, rel=1e-5)


def turned(angles: dict[str, float], way: float = 0.04) -> np.ndarray:
    """60 equal frames with joints turned about their first axis, [deg]."""
    positions = np.zeros((60, 56))
    for joint, angle in angles.items():
        positions[:, position_slices()[joint].start] = np.deg2rad(angle)
    frames = np.asarray(to_sixdof(positions))
    frames[:, 6] = way
    return frames


def test_scores_are_angles_and_speeds() -> None:
    true = np.stack([turned({}), turned({})])
    other = turned({"FemurL": 6.0, "TibiaR": 4.0, "TalusL": 2.0, "Head": 23.0}, 0.042)
    found = score(np.stack([other, true[1]]), true)
    assert found.hip_deg == pytest.approx(6.0 / 4)
    assert found.knee_deg == pytest.approx(4.0 / 4)
    assert found.ankle_deg == pytest.approx(2.0 / 4)
    assert found.legs_deg == pytest.approx(12.0 / 12)
    assert found.worst_legs_deg == pytest.approx(12.0 / 6)
    assert found.joints_deg == pytest.approx(35.0 / 46)
    assert found.speed_percent == pytest.approx(2.5)
    assert found.worst_speed_percent == pytest.approx(5.0)
    assert found.sequences == 2


def test_scaled_rows_are_the_same_rotation() -> None:
    true = np.stack([turned({"FemurL": 6.0})])
    scaled = true.copy()
    scaled[..., 9:12] *= 1.3
    found = score(scaled, true)
    assert found.legs_deg == pytest.approx(0.0, abs=1e-5)
    assert found.mse > 0.0


def test_a_sliding_stand_is_told() -> None:
    space = gait_space("human23")
    frames = turned({}, way=0.2 / 30.0)[None]
    frames[..., 8] = 0.9845
    found = skates(frames, space.default[None], np.array([30.0]), space)
    assert found[0] == pytest.approx(0.2, rel=1e-3)


def test_the_mean_gait_against_its_mirror_image() -> None:
    even = turned({"TibiaL": 20.0, "TibiaR": 20.0})
    left = turned({"TibiaL": 32.0, "TibiaR": 20.0})
    right = turned({"TibiaL": 20.0, "TibiaR": 32.0})
    assert asymmetry(np.stack([even])) == pytest.approx(0.0, abs=1e-4)
    assert asymmetry(np.stack([left, right])) == pytest.approx(0.0, abs=0.05)
    assert asymmetry(np.stack([left])) == pytest.approx(12.0 / 3)


def test_both_frames_of_a_pair_get_the_same_noise() -> None:
    values = torch.zeros(6, 4)
    alone = row_noise(np.random.default_rng(0), values, False)
    assert alone.shape == values.shape
    assert len(torch.unique(alone)) == 24
    pairs = row_noise(np.random.default_rng(0), values, True)
    assert torch.equal(pairs[:3], pairs[3:])
    assert len(torch.unique(pairs)) == 12
