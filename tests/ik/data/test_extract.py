"""Poses out of clips: rates, limits, thinning, the cache, and files that cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.rigs import MAKERS, write_as

import ambulo
from ambulo.commands.ik.extract import described
from ambulo.configs.errors import IKError, MotionFileError
from ambulo.ik.data import POSE_FPS
from ambulo.ik.data.extract import FAR, extract
from ambulo.ik.limits import violation
from ambulo.ik.pose import Pose, fk, start_pose
from ambulo.ik.rig import Rig, load_rig
from ambulo.motion.datasets.clips import Clip, scan_clips
from ambulo.motion.datasets.prepare import motion_on
from ambulo.motion.formats.files import write_motion
from ambulo.motion.motion import Motion
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply
from ambulo.train.shared.jobs import Workers


def wave(rig: Rig, frames: int, fps: float, twist: float = 0.0) -> Motion:
    """An arm that swings once a second, in a body that stands still at first."""
    pose = start_pose(rig)
    turns = np.repeat(pose.rotations, frames, axis=0)
    time = np.maximum(np.arange(frames) / fps - 1.0, 0.0)
    swing = np.zeros((frames, 3))
    swing[:, 0] = 0.5 * np.sin(2.0 * np.pi * time)
    swing[:, 1] = twist
    arm = rig.skeleton.index("LeftArm")
    turns[:, arm] = quat_multiply(turns[:, arm], quat_from_rotvec(swing))
    return Motion(
        rig.skeleton, fps, np.repeat(pose.root, frames, axis=0), turns, name="wave"
    )


@pytest.fixture
def folder(rig: Rig, tmp_path: Path) -> Path:
    """Two people's clips at 120 Hz."""
    place = tmp_path / "clips"
    for name in ("02/02_01_walk", "05/05_02"):
        (place / name).parent.mkdir(parents=True)
        write_motion(place / f"{name}.npz", wave(rig, 361, 120.0))
    return place


def clips_of(folder: Path) -> list[Clip]:
    return scan_clips(folder, check=False)[0]


def motion_on_rig(
    clip: Clip, rig: Rig, fps: float = POSE_FPS, **options: Any
) -> Motion:
    return motion_on(clip.path, rig.skeleton, fps, asf=clip.asf, **options)


def test_rate_people_and_thinning(rig: Rig, folder: Path) -> None:
    whole = extract(clips_of(folder), rig, step=0.0, cached=False)
    data = whole.data
    assert whole.frames == len(data) == 2 * 91  # three seconds at 30 Hz
    assert [clip.subject for clip in data.header.clips] == ["02", "05"]
    assert data.frame[:91].tolist() == list(range(91))
    thin = extract(clips_of(folder), rig, cached=False)
    # The first second stands still; the swing and the second clip repeat themselves.
    assert 8 < len(thin.data) < 40
    assert thin.data.frame[1] >= 28
    assert thin.frames == whole.frames
    assert not thin.errors


def test_poses_are_inside_the_limits(rig: Rig, tmp_path: Path) -> None:
    plain, twisted = tmp_path / "02_01.npz", tmp_path / "02_02.npz"
    write_motion(plain, wave(rig, 91, 30.0))
    # The arm starts at -18 degrees and may be twisted to 90.
    write_motion(twisted, wave(rig, 91, 30.0, twist=np.deg2rad(123.0)))
    clips = clips_of(tmp_path)
    assert extract(clips[:1], rig, cached=False).clamped < 1.0
    far = violation(rig, motion_on_rig(clips[1], rig, cached=False).rotations)
    found = extract(clips[1:], rig, cached=False)
    assert np.deg2rad(5.0) < float(far.max()) < FAR
    assert found.clamped == 1.0
    assert not found.left_out
    assert found.worst[1] == pytest.approx(np.rad2deg(far.max()), rel=1e-6)
    inside = violation(rig, found.data.rotations.astype(np.float64))
    assert float(inside.max()) < 1e-5
    assert found.moved > 0.0


def test_what_nobody_can_do_is_left_out(rig: Rig, tmp_path: Path) -> None:
    good, bad = wave(rig, 91, 30.0), wave(rig, 91, 30.0, twist=np.deg2rad(168.0))
    rotations = good.rotations.copy()
    rotations[60:80] = bad.rotations[60:80]
    write_motion(tmp_path / "02_01.npz", good.replace(rotations=rotations))
    write_motion(tmp_path / "02_02.npz", bad)
    clips = clips_of(tmp_path)
    found = extract(clips, rig, step=0.0, cached=False)
    # A frame or two beside a jump are drawn along by the smoothness of retargeting.
    assert 20 <= found.left_out["02_01"] <= 24
    assert found.left_out["02_02"] == 91
    assert found.frames == 182
    assert len(found.data) == 91 - found.left_out["02_01"]
    assert [clip.name for clip in found.data.header.clips] == ["02_01"]
    assert not set(found.data.frame.tolist()) & set(range(60, 80))
    text = described(found, len(found.data))
    assert f"left out: {91 + found.left_out['02_01']} frames of 2 clips" in text
    assert "(most: 02_02 91, 02_01" in text
    with pytest.raises(IKError, match="1 are mostly outside"):
        extract(clips[1:], rig, cached=False)


def test_retargeted_clips_keep_their_shape(rig: Rig, folder: Path) -> None:
    motion = motion_on_rig(clips_of(folder)[0], rig, cached=False)
    assert motion.fps == 30.0
    where = fk(rig, Pose(motion.root_positions, motion.rotations))[0]
    hand = where[:, rig.effectors[0]]
    assert np.ptp(hand[:29], axis=0).max() < 0.02
    assert np.ptp(hand[30:], axis=0).max() > 0.2


def test_the_cache_gives_the_same(rig: Rig, folder: Path, tmp_path: Path) -> None:
    clip, cache = clips_of(folder)[0], tmp_path / "cache"
    first = motion_on_rig(clip, rig, cache_folder=cache)
    (entry,) = cache.iterdir()
    again = motion_on_rig(clip, rig, cache_folder=cache)
    assert np.array_equal(first.rotations, again.rotations)
    assert np.array_equal(first.root_positions, again.root_positions)
    entry.write_bytes(b"damaged")
    repaired = motion_on_rig(clip, rig, cache_folder=cache)
    assert np.array_equal(first.rotations, repaired.rotations)
    assert entry.stat().st_size > 100


def test_bad_clips(rig: Rig, folder: Path) -> None:
    (folder / "05" / "05_09.npz").write_bytes(b"nothing")
    clips = clips_of(folder)
    assert len(clips) == 3
    found = extract(clips, rig, cached=False)
    assert [error.path.name for error in found.errors] == ["05_09.npz"]
    assert len(found.data.header.clips) == 2
    with pytest.raises(MotionFileError, match="05_09"):
        extract(clips, rig, strict=True, cached=False)
    with pytest.raises(IKError, match="none of 1 clips"):
        extract(clips[-1:], rig, cached=False)


@pytest.mark.slow
def test_workers_extract_what_one_process_does(rig: Rig, folder: Path) -> None:
    (folder / "05" / "05_09.npz").write_bytes(b"nothing")
    clips = clips_of(folder)
    alone = extract(clips, rig, cached=False)
    many = extract(clips, rig, cached=False, apply=Workers(count=2).in_order)
    np.testing.assert_array_equal(many.data.rotations, alone.data.rotations)
    np.testing.assert_array_equal(many.data.frame, alone.data.frame)
    assert described(many, 5) == described(alone, 5)
    assert list(map(str, many.errors)) == list(map(str, alone.errors))


@pytest.mark.integration
def test_axes_and_rest_pose_are_part_of_what_is_kept(tmp_path: Path) -> None:
    """A cache entry of a guess is not taken for what was asked for later."""
    folder = tmp_path / "clips" / "01"
    folder.mkdir(parents=True)
    walk = ambulo.load("gait_net").walk(cycles=3)
    maker = next(m for m in MAKERS if m.name == "lafan z-up inches")
    write_as(folder / "01_01.bvh", walk, maker)
    clips, _ = scan_clips([tmp_path / "clips"], True, check=False)
    rig, cache = load_rig("ik23"), tmp_path / "cache"
    seen = motion_on_rig(clips[0], rig, 20.0, cache_folder=cache)
    assert seen.root_positions[:, 2].min() > 0.7
    asked = motion_on_rig(
        clips[0], rig, 20.0, cache_folder=cache, axes="z-up", rest_pose="frame:3"
    )
    assert len(list(cache.glob("*.npz"))) == 2
    assert np.abs(asked.rotations - seen.rotations).max() > 1e-3
