"""Baselines of pose networks on what they must get right."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from fixtures.poses import *  # noqa: F403

from ambulo.configs.neural_ik import IKRunConfig
from ambulo.evaluate.ik.data import MASKS, Poses
from ambulo.evaluate.ik.scores import score

if TYPE_CHECKING:
    from ambulo.ik.data.pose_data import PoseData
    from ambulo.ik.rig import Rig

Make = Callable[..., "PoseData"]


def test_nearest_knows_its_own_poses(make: Make, rig: Rig) -> None:
    from _ik_baselines import NearestPose, answer, examples

    poses = Poses(make(people=3), rig, IKRunConfig(), mirror=False)
    names = MASKS["trackers"]
    model = NearestPose(*examples(poses, names))
    rows = np.arange(0, 180, 17)
    found = answer(rig, model, poses.targets(rows, names))
    assert (
        score(rig, poses.targets(rows, names), found, poses.pose(rows)).mpjpe_cm < 1e-3
    )


def test_ridge_finds_a_linear_law() -> None:
    from _ik_baselines import Ridge

    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(500, 4)) * [1.0, 10.0, 0.1, 0.0]
    law = rng.normal(size=(4, 3))
    outputs = inputs @ law + 2.0
    assert np.abs(Ridge(inputs, outputs, 1e-9)(inputs) - outputs).max() < 1e-5
    heavy = Ridge(inputs, outputs, 1e9)(inputs)
    assert np.abs(heavy - outputs.mean(axis=0)).max() < 1e-3
