"""Small sets of poses: people who swing their limbs about, each in an own way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ambulo.ik.limits import clamp
from ambulo.ik.pose import start_pose
from ambulo.ik.pose_data import ClipRecord, PoseData, PoseHeader, save_poses
from ambulo.ik.rig import Rig, load_rig
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply

Make = Callable[..., PoseData]


def make_poses(people: int = 6, frames: int = 60, seed: int = 0) -> PoseData:
    """One clip of each of `people`, at 30 Hz, inside the limits."""
    rig = load_rig()
    rng = np.random.default_rng(seed)
    base = start_pose(rig)
    roots, turns = [], []
    time = np.arange(frames)[:, None, None] / 30.0
    for _ in range(people):
        size, phase = (
            rng.normal(0.0, 0.25, (len(rig), 3)),
            rng.uniform(0.0, 6.0, (len(rig), 3)),
        )
        wave = size * np.sin(2.0 * np.pi * time * rng.uniform(0.3, 1.0) + phase)
        wave[:, 0, 2] += np.linspace(0.0, 3.0, frames)  # turns about the vertical
        local = quat_multiply(base.rotations, quat_from_rotvec(wave))
        turns.append(clamp(rig, local))
        way = np.stack(
            [time[:, 0, 0], 0.1 * time[:, 0, 0], 0.0 * time[:, 0, 0]], axis=1
        )
        roots.append(base.root + way + rng.normal(0.0, 0.01, (frames, 3)))
    header = PoseHeader(
        rig="ik23",
        fps=30.0,
        clips=tuple(
            ClipRecord(name=f"{i + 1:02d}_01", subject=f"{i + 1:02d}", activity="walk")
            for i in range(people)
        ),
    )
    return PoseData(
        header,
        np.concatenate(roots).astype(np.float32),
        np.concatenate(turns).astype(np.float32),
        np.repeat(np.arange(people, dtype=np.int32), frames),
        np.tile(np.arange(frames, dtype=np.int32), people),
        rng.integers(0, 2, (people * frames, 2)).astype(np.uint8),
    )


@pytest.fixture(scope="session")
def rig() -> Rig:
    """The rig that ships."""
    return load_rig()


@pytest.fixture
def make() -> Make:
    """The maker of sets of poses."""
    return make_poses


@pytest.fixture
def poses_file(tmp_path: Path) -> Path:
    """A file with poses of six people."""
    path = tmp_path / "poses.npz"
    save_poses(path, make_poses())
    return path
