"""Scores by hand, and what refuses to train."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ambulo.configs.errors import IKError
from ambulo.configs.neural_ik import IKRunConfig
from ambulo.evaluate.ik.scores import score
from ambulo.ik.data.pose_data import PoseData
from ambulo.ik.pose import Pose, start_pose
from ambulo.ik.rig import Rig
from ambulo.ik.solver.targets import Targets
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply
from ambulo.train.ik.checks import described, judge, kinematics_errors
from ambulo.train.ik.losses import PoseLoss
from ambulo.train.ik.poses import Poses

Make = Callable[..., PoseData]


def test_truth_scores_nothing(rig: Rig) -> None:
    pose = start_pose(rig)
    found = score(rig, Targets.of_pose(rig, pose), pose, pose)
    assert found["met_percent"] == 100.0
    assert found["outside_percent"] == 0.0
    assert found["mpjpe_cm"] == found["free_cm"] == 0.0


def test_a_shift_scores_its_length(rig: Rig) -> None:
    pose = start_pose(rig)
    moved = Pose(pose.root + np.array([0.03, 0.0, 0.04]), pose.rotations)
    found = score(rig, Targets.of_pose(rig, pose).only("Head"), moved, pose)
    for value in (
        found["mpjpe_cm"],
        found["free_cm"],
        found["position_cm"],
        found["lower_cm"],
    ):
        assert value == pytest.approx(5.0)
    assert found["rotation_deg"] == pytest.approx(0.0, abs=1e-6)
    assert found["met_percent"] == 0.0


def test_a_turned_hand_scores_its_angle(rig: Rig) -> None:
    pose = start_pose(rig)
    turns = pose.rotations.copy()
    hand = rig.effectors[0]
    turns[:, hand] = quat_multiply(
        turns[:, hand], quat_from_rotvec(np.array([0.1, 0.0, 0.0]))
    )
    found = score(
        rig,
        Targets.of_pose(rig, pose).only("LeftHand", "Head"),
        Pose(pose.root, turns),
        pose,
    )
    assert found["rotation_deg"] == pytest.approx(np.rad2deg(0.1) / 2.0)
    assert found["mpjre_deg"] == pytest.approx(np.rad2deg(0.1) / 23.0)
    assert found["mpjpe_cm"] == pytest.approx(0.0, abs=1e-9)
    bent = turns.copy()
    bent[:, hand] = quat_multiply(
        turns[:, hand], quat_from_rotvec(np.array([0.0, 1.0, 0.0]))
    )
    found = score(rig, Targets.of_pose(rig, pose), Pose(pose.root, bent), pose)
    assert found["outside_percent"] == 100.0


@pytest.mark.parametrize("kind", ["own", "published"])
def test_both_kinematics_agree(make: Make, rig: Rig, kind: str) -> None:
    config = IKRunConfig.model_validate({"network": {"kind": kind}})
    import torch

    poses = Poses(make(), rig, config, mirror=False)
    errors = kinematics_errors(poses, PoseLoss(config, rig, torch.device("cpu")))
    assert list(errors) == ["LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head"]
    assert max(errors.values()) < 1e-3
    assert judge(errors) is None
    assert "LeftHand 0.0000" in described(errors)


def test_wrong_kinematics_warn_and_refuse(make: Make, rig: Rig) -> None:
    import torch

    config = IKRunConfig()
    poses = Poses(make(), rig, config, mirror=False)
    loss = PoseLoss(config, rig, torch.device("cpu"))
    loss.kinematics._levels[0][2].mul_(1.2)
    errors = kinematics_errors(poses, loss)
    assert max(errors.values()) > 1.0
    warning = judge({"LeftHand": 0.2, "Head": 1.4})
    assert warning is not None
    assert "1.40 cm" in warning
    assert "Head" in warning
    for bad in (5.01, float("nan")):
        with pytest.raises(IKError, match="not trained"):
            judge({"LeftHand": bad})
