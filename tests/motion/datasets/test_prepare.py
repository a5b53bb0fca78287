"""From files to states, and the cache."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ambulo.configs.errors import MotionFileError
from ambulo.motion.datasets import prepare
from ambulo.motion.datasets.clips import Clip, scan_clips
from ambulo.motion.datasets.prepare import cache_key, prepare_clip, prepare_clips
from ambulo.motion.formats.files import read_motion, write_motion
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.source import Source
from ambulo.motion.skeletons import load_skeleton

Folder = Callable[..., Path]


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were really prepared."""
    done: list[Path] = []
    real = prepare.read_source

    def read(path: Path, **options: object) -> Source:
        done.append(path)
        return real(path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(prepare, "read_source", read)
    return done


def test_states_of_a_file(data_folder: Folder, cache: Path) -> None:
    states = prepare_clip(data_folder("02_01.bvh") / "02_01.bvh")
    assert states.shape == (25, 112)  # 60 frames at 60 per second
    assert states.dtype == np.float32
    assert np.isfinite(states).all()
    # The walk goes ahead at 1 m/s, times the ratio of leg lengths.
    speed = states[:, 56 + 3]
    assert 0.7 < speed.mean() < 1.3


def test_the_second_time_comes_from_the_cache(
    data_folder: Folder, cache: Path, work: list[Path]
) -> None:
    path = data_folder("02_01.bvh") / "02_01.bvh"
    first = prepare_clip(path)
    second = prepare_clip(str(path))
    np.testing.assert_array_equal(first, second)
    assert len(work) == 1
    assert [entry.suffix for entry in cache.iterdir()] == [".npz"]


def test_other_content_rate_skeleton_or_recipe_is_another_entry(
    data_folder: Folder, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = data_folder("02_01.bvh") / "02_01.bvh"
    keys = [cache_key(path, 25.0), cache_key(path, 30.0)]
    path.write_bytes(path.read_bytes() + b"\n")
    keys.append(cache_key(path, 25.0))
    human = load_skeleton("human23")
    assert cache_key(path, 25.0, None, human) == keys[-1]
    keys.append(cache_key(path, 25.0, None, human.scaled(1.1)))
    keys.append(cache_key(path, 25.0, None, human, "z-up"))
    monkeypatch.setattr(prepare, "RECIPE", prepare.RECIPE + 1)
    keys.append(cache_key(path, 25.0))
    assert len(set(keys)) == 6


def test_the_skeleton_of_an_amc_is_part_of_the_key(tmp_path: Path) -> None:
    amc, asf = tmp_path / "02_01.amc", tmp_path / "02.asf"
    amc.write_text("a")
    asf.write_text("one")
    one = cache_key(amc, 25.0)
    assert cache_key(amc, 25.0, asf) == one
    asf.write_text("two")
    assert cache_key(amc, 25.0) != one


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_a_damaged_entry_is_made_again(
    data_folder: Folder, cache: Path, work: list[Path], damage: str
) -> None:
    path = data_folder("02_01.bvh") / "02_01.bvh"
    first = prepare_clip(path)
    entry = next(cache.iterdir())
    data = bytearray(entry.read_bytes())
    if damage == "flip":
        data[500] ^= 1
    entry.write_bytes({"cut": data[:-7], "flip": data, "empty": b""}[damage])
    np.testing.assert_array_equal(prepare_clip(path), first)
    assert len(work) == 2
    np.testing.assert_array_equal(prepare_clip(path), first)
    assert len(work) == 2


def test_warnings_of_a_clip_are_said_again_with_its_name(
    data_folder: Folder, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """By an equal file of another name too, and by processes that share the cache, once."""
    path = data_folder("02_01.bvh") / "02_01.bvh"
    motion = read_motion(path)
    small = replace(
        motion,
        skeleton=replace(motion.skeleton, offsets=0.2 * motion.skeleton.offsets),
        root_positions=0.2 * motion.root_positions,
    )
    said = []
    for name in ("small", "small", "other"):
        file = path.with_name(f"{name}.bvh")
        write_motion(file, small, units="m")
        caplog.clear()
        prepare_clip(file)
        said.append([record.getMessage() for record in caplog.records])
    assert said[0] == said[1] != []
    assert said[2] == [text.replace("small:", "other:") for text in said[0]]
    assert "ambulo data convert --units" in said[0][-1]
    assert len(list(cache.glob("*.npz"))) == 1


def test_without_a_cache_nothing_is_written(data_folder: Folder, cache: Path) -> None:
    prepare_clip(data_folder("02_01.bvh") / "02_01.bvh", cached=False)
    assert not cache.exists()


def test_a_cache_that_cannot_be_written_does_no_harm(
    data_folder: Folder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = data_folder("02_01.bvh") / "02_01.bvh"
    file = tmp_path / "a_file"
    file.write_text("no folder")
    with caplog.at_level("WARNING", logger="ambulo.motion.datasets"):
        assert len(prepare_clip(path, cache_folder=file)) == 25
    assert "no cache" in caplog.text


@pytest.mark.slow
def test_several_processes_write_one_cache(data_folder: Folder, cache: Path) -> None:
    path = data_folder("02_01.bvh") / "02_01.bvh"
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.starmap(prepare_clip, [(path, 25.0)] * 6)
    assert all(np.array_equal(states, found[0]) for states in found)
    assert len(list(cache.iterdir())) == 1


@pytest.mark.slow
def test_processes_prepare_what_one_prepares(data_folder: Folder, cache: Path) -> None:
    folder = data_folder("02_01.bvh", "02_03.bvh", "kim/a.bvh")
    (folder / "bad.bvh").write_text("HIERARCHY\n")
    clips, _ = scan_clips(folder, check=False)
    errors: list[MotionFileError] = []
    several = list(prepare_clips(clips, errors=errors, processes=2))
    one = list(prepare_clips(clips, errors=[], cached=False))
    assert [clip for clip, _ in several] == [clip for clip, _ in one]
    for (_, a), (_, b) in zip(several, one, strict=True):
        np.testing.assert_array_equal(a, b)
    assert [error.path.name for error in errors] == ["bad.bvh"]


def test_bad_clips_are_passed_over_or_fatal(data_folder: Folder, cache: Path) -> None:
    folder = data_folder("02_01.bvh")
    bad = Clip(folder / "02_02.bvh", "02", "02", "walk")
    bad.path.write_text("HIERARCHY\n")
    good = Clip(folder / "02_01.bvh", "02", "01", "walk")
    errors: list[MotionFileError] = []
    assert [clip for clip, _ in prepare_clips([bad, good], errors=errors)] == [good]
    assert [error.path for error in errors] == [bad.path]
    with pytest.raises(MotionFileError, match=r"02_02\.bvh"):
        list(prepare_clips([bad, good]))


def test_shaking_above_the_new_rate_does_not_fold_back(
    tmp_path: Path, walk_motion: Callable[..., Motion]
) -> None:
    """A root that shakes at 22 Hz would seem to swing at 3 Hz in 25 frames per second."""
    motion = walk_motion(frames=240, fps=120.0)
    still = prepare_clip(_written(tmp_path / "still.bvh", motion), cached=False)
    root = motion.root_positions.copy()
    root[:, 1] += 0.01 * np.sin(2.0 * np.pi * 22.0 * motion.times)
    shaking = motion.replace(root_positions=root)
    shaken = prepare_clip(_written(tmp_path / "shaken.bvh", shaking), cached=False)
    middle = slice(10, -10)
    assert np.abs(shaken - still)[middle, 4].max() < 0.001


def test_a_clip_that_is_too_short(
    tmp_path: Path, cache: Path, walk_motion: Callable[..., Motion]
) -> None:
    path = _written(tmp_path / "short.bvh", walk_motion(frames=2))
    with pytest.raises(MotionFileError, match="one frame has no velocity"):
        prepare_clip(path)


def _written(path: Path, motion: Motion) -> Path:
    write_motion(path, motion)
    return path


def test_the_t_pose_of_a_real_clip_is_dropped(cmu: Path) -> None:
    amc = prepare_clip(cmu / "asfamc/02/02_01.amc", cached=False)
    bvh = prepare_clip(cmu / "bvh_mb/02/02_01.bvh", cached=False)
    assert abs(len(amc) - len(bvh)) <= 1
    turns = np.linalg.norm(bvh[:3, 56:59], axis=1)  # root's angular velocity
    assert turns.max() < 3.0  # from a T-pose it would turn at 10 rad/s or more
