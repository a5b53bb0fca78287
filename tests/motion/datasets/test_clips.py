"""Scanning data folders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ambulo.configs.errors import MotionError, MotionFileError
from ambulo.motion.datasets.clips import names_of, scan_clips

Folder = Callable[..., Path]


@pytest.mark.parametrize(
    ("name", "subject", "trial"),
    [
        ("07/07_03.amc", "07", "03"),
        ("x/7_3.bvh", "07", "03"),
        ("x/131_04_take2.bvh", "131", "04"),
        ("kim/jump.bvh", "kim", "jump"),
        ("kim/2024_01.bvh", "kim", "2024_01"),
    ],
)
def test_names(name: str, subject: str, trial: str) -> None:
    assert names_of(Path(name)) == (subject, trial)


def test_clips_are_sorted_and_labelled(data_folder: Folder) -> None:
    folder = data_folder("b/02_03.bvh", "a/02_01.BVH", "kim/Dance2.bvh")
    (folder / "notes.md").write_text("not a motion", encoding="utf-8")
    clips, errors = scan_clips(folder)
    assert errors == []
    assert [(clip.name, clip.activity) for clip in clips] == [
        ("02_01", "walk"),
        ("02_03", "run"),
        ("kim_Dance2", "dance"),
    ]


def test_files_named_twice_count_once(data_folder: Folder) -> None:
    folder = data_folder("a/02_01.bvh")
    clips, _ = scan_clips([folder, folder / "a", folder / "a" / "02_01.bvh"])
    assert len(clips) == 1


def test_the_best_conversion_of_a_recording_stays(data_folder: Folder) -> None:
    folder = data_folder("daz/02_01.bvh", "mb/02_01.bvh")
    daz = folder / "daz" / "02_01.bvh"
    daz.write_text(daz.read_text().replace("ROOT root", "ROOT hip"))
    clips, errors = scan_clips(folder)
    assert ([clip.path.parent.name for clip in clips], errors) == (["mb"], [])
    every, _ = scan_clips(folder, all_conversions=True)
    assert len(every) == 2


def test_a_damaged_conversion_gives_way_to_a_worse_one(data_folder: Folder) -> None:
    folder = data_folder("02_01.bvh")
    (folder / "02_01.amc").write_text("junk\n")
    (folder / "02.asf").write_text("junk\n")
    clips, errors = scan_clips(folder)
    assert [clip.path.name for clip in clips] == ["02_01.bvh"]
    assert [error.path.name for error in errors] == ["02_01.amc"]


def test_an_amc_takes_the_skeleton_of_another_folder(tmp_path: Path) -> None:
    for name in ("more/02/02_01.amc", "more/03/03_01.amc", "small/02/02.asf"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n")
    folders = [tmp_path / "small", tmp_path / "more"]
    clips, errors = scan_clips(folders, check=False)
    assert [clip.asf for clip in clips] == [tmp_path / "small" / "02" / "02.asf"]
    assert [str(error) for error in errors] == [
        f"{tmp_path / 'more/03/03_01.amc'}: no skeleton: 03.asf is in none of the data "
        "folders"
    ]


SMALL = """HIERARCHY
ROOT hips
{
 OFFSET 0 90 0
 CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
 End Site
 {
  OFFSET 0 80 0
 }
}
MOTION
Frames: 2
Frame Time: 0.04
0 90 0 0 0 0
0 90 1 0 0 5
"""


def test_one_damaged_file_of_a_hundred(tmp_path: Path) -> None:
    files = [tmp_path / f"s{i % 10}" / f"take{i}.bvh" for i in range(100)]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text(SMALL)
    bad = files[43]
    bad.write_text(SMALL[:-8])
    clips, errors = scan_clips(tmp_path)
    assert len(clips) == 99
    assert [error.path for error in errors] == [bad]
    with pytest.raises(MotionFileError) as caught:
        scan_clips(tmp_path, strict=True)
    assert caught.value.path == bad


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MotionError, match="no such data folder"):
        scan_clips(tmp_path / "nothing")


def test_a_broken_manifest_is_reported(data_folder: Folder) -> None:
    folder = data_folder("02_01.bvh", "02_03.bvh")
    (folder / "manifest.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    clips, errors = scan_clips(folder, check=False)
    assert len(clips) == 2
    assert [error.path.name for error in errors] == ["manifest.csv"]


def test_real_clips(cmu: Path) -> None:
    clips, errors = scan_clips(cmu, check=False)
    assert errors == []
    by_name = {clip.name: clip for clip in clips}
    assert len(by_name) == len(clips)  # one file of each recording
    assert by_name["02_01"].path.suffix == ".amc"
    assert by_name["01_01"].path.suffix == ".amc"
    assert by_name["05_06"].path.parent.parent.name == "bvh_mb"
    assert by_name["02_03"].activity == "run"
