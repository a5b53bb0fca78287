"""Files of poses, and what refuses to be learnt from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ambulo.configs.errors import IKError
from ambulo.ik.data.pose_data import (
    ClipRecord,
    PoseData,
    PoseHeader,
    check_poses,
    load_poses,
    mirrored,
    save_poses,
    still_joints,
    unique_poses,
)
from ambulo.ik.pose import start_pose
from ambulo.ik.rig import Rig
from ambulo.motion.rotations import quat_angle, quat_from_rotvec, quat_multiply


def make(rig: Rig, count: int = 40, size: float = 0.3, seed: int = 0) -> PoseData:
    """Two clips, "02_01" of 30 frames with a gap and "05_03" of the rest."""
    rng = np.random.default_rng(seed)
    base = start_pose(rig)
    turns = quat_multiply(
        base.rotations, quat_from_rotvec(rng.normal(0, size, (count, len(rig), 3)))
    )
    root = base.root + rng.normal(0, 0.1, (count, 3)) * (size > 0)
    header = PoseHeader(
        rig="ik23",
        fps=30.0,
        clips=(
            ClipRecord(name="02_01", subject="02", activity="walk"),
            ClipRecord(name="05_03", subject="05", activity="dance"),
        ),
    )
    frames = np.concatenate([np.arange(10), np.arange(12, 32), np.arange(count - 30)])
    return PoseData(
        header,
        root.astype(np.float32),
        turns.astype(np.float32),
        (np.arange(count) >= 30).astype(np.int32),
        frames.astype(np.int32),
        rng.integers(0, 2, (count, 2)).astype(np.uint8),
    )


def test_people_clips_and_successors(rig: Rig) -> None:
    data = make(rig)
    assert data.subjects.tolist() == ["02"] * 30 + ["05"] * 10
    assert len(data.of_clips(["05_03"])) == 10
    after = data.successors()
    assert after[0] == 1
    assert after[9] == -1  # frames 10 and 11 were left out
    assert after[10] == 11
    assert after[29] == -1  # the next one is of another clip
    assert after[39] == -1


def test_mirrored_twice_is_the_same(rig: Rig) -> None:
    data = make(rig)
    twin = mirrored(mirrored(data, rig), rig)
    assert np.abs(twin.root - data.root).max() < 1e-6
    assert (
        quat_angle(twin.rotations.astype(float), data.rotations.astype(float)).max()
        < 1e-5
    )
    assert np.array_equal(twin.contacts, data.contacts)


def test_equal_poses_are_one(rig: Rig) -> None:
    data = make(rig)
    doubled = data[np.concatenate([np.arange(40), np.arange(40)])]
    assert len(unique_poses(rig, doubled.pose)) == 40
    elsewhere = replace(data, root=data.root + np.float32([5.0, 2.0, 0.0]))
    both = replace(doubled, root=np.concatenate([data.root, elsewhere.root]))
    assert len(unique_poses(rig, both.pose)) == 40  # walking away is no new pose


def test_one_pose_many_times_is_refused(rig: Rig) -> None:
    with pytest.raises(IKError, match=r"40 poses, 1 of them unique.*at least 30"):
        check_poses(make(rig, size=0.0), rig, least=30)
    assert check_poses(make(rig), rig, least=30) == 40


def test_dead_columns_are_named(rig: Rig) -> None:
    data = make(rig)
    still = data.rotations.copy()
    arm = [
        rig.skeleton.index(n)
        for n in ("Spine", "Spine1", "Spine2", "NeckLower", "NeckUpper", "Head", "Hips")
    ]
    still[:, arm] = start_pose(rig).rotations[:, arm]
    with pytest.raises(IKError, match=r"dead inputs.*Head\.x"):
        check_poses(replace(data, rotations=still), rig, least=30)
    still = data.rotations.copy()
    toe = rig.skeleton.index("LeftToeBase")
    still[:, toe] = still[0, toe]
    assert still_joints(rig, replace(data, rotations=still).pose) == ["LeftToeBase"]


def test_poses_that_break_a_rule_are_refused(rig: Rig, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    save_poses(path, make(rig))
    whole = dict(np.load(path))
    for name, array, rule in (
        ("clip", np.full(40, 2, np.int32), "does not name"),
        ("rotations", np.zeros((40, 23, 4), np.float32), "length 1"),
        ("header", np.frombuffer(b'{"rig": "ik23"}', np.uint8), "header"),
    ):
        np.savez(path, **whole | {name: array})
        with pytest.raises(IKError, match=rule):
            load_poses(path)
