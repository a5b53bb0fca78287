from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ambulo import cli
from ambulo.motion.formats.axes import Axes
from ambulo.motion.formats.files import read_motion, write_motion
from ambulo.motion.kinematics import joint_positions
from ambulo.motion.motion import Motion


def main(arguments: list[str]) -> int:
    return cli.main(["data", *arguments])


Walk = Callable[..., Motion]


def convert(*arguments: object) -> int:
    return main(["convert", *map(str, arguments)])


def same_places(first: Motion, second: Motion) -> float:
    """The largest distance between joints of the same name, [m]."""
    there = [second.skeleton.index(name) for name in first.skeleton.joints]
    return float(
        np.abs(joint_positions(first) - joint_positions(second)[:, there]).max()
    )


def test_a_chain_of_formats_keeps_every_joint_in_place(
    tmp_path: Path, walk_motion: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_motion(Path("1.npz"), walk_motion())
    for source, target in (
        ("1.npz", "2.bvh"), ("2.bvh", "3.amc"), ("3.amc", "4.npz"), ("4.npz", "5.bvh"),
    ):  # fmt: skip
        assert convert(source, target) == 0
    assert Path("3.asf").is_file()
    first, last = read_motion("1.npz"), read_motion("5.bvh", units="cm")
    assert last.fps == pytest.approx(120.0)
    assert same_places(first, last) < 1e-9


def test_the_numbers_of_an_amc_survive_the_way_over_bvh(
    tmp_path: Path, cmu: Path
) -> None:
    source = cmu / "asfamc" / "02" / "02_03.amc"
    assert convert(source, tmp_path / "run.bvh") == 0
    assert same_places(read_motion(source), read_motion(tmp_path / "run.bvh")) < 1e-9


def test_what_is_there_stays_without_force(
    tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "x.npz"
    out.write_text("mine")
    assert convert(clips / "a.bvh", out) == 2
    assert "--force replaces it" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert convert(clips / "a.bvh", out, "--force") == 0
    assert len(read_motion(out)) == 60


def test_the_skeleton_beside_an_amc_counts_as_there(
    tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.asf").write_text("mine")
    assert convert(clips / "a.bvh", tmp_path / "x.amc") == 2
    assert "x.asf: is there already" in capsys.readouterr().err
    assert not (tmp_path / "x.amc").exists()


def test_rate_and_skeleton_are_changed(
    tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "x.npz"
    assert convert(clips / "a.bvh", out, "--fps", 25, "--skeleton", "human23") == 0
    motion = read_motion(out)
    assert (motion.fps, len(motion), motion.skeleton.name) == (25.0, 13, "human23")
    assert "retargeted: joints " in capsys.readouterr().out


@pytest.mark.parametrize("axes", [Axes("Z", "-Y"), Axes("Z", "X"), Axes("Y", "Z")])
def test_a_rig_in_a_file_gets_the_motion_and_keeps_its_own_offsets(
    axes: Axes, tmp_path: Path, clips: Path, walk_motion: Walk
) -> None:
    """Other axes and names, no skeleton of the suite: the hierarchy comes back as it was."""
    walk = walk_motion()
    names = [f"bone_{name.lower()}" for name in walk.skeleton.joints]
    rig = walk.replace(skeleton=walk.skeleton.replace(joints=tuple(names)))
    write_motion(tmp_path / "rig.bvh", rig, axes=axes)
    out = tmp_path / "out.bvh"
    assert convert(clips / "a.bvh", out, "--skeleton", tmp_path / "rig.bvh") == 0
    given, got = (
        (tmp_path / name).read_text().partition("MOTION")[0].split()
        for name in ("rig.bvh", "out.bvh")
    )
    assert got == given
    again = read_motion(out, axes=axes)
    height = joint_positions(again)[:, again.skeleton.index("bone_head"), 2]
    assert height.min() > 1.3
    assert height.max() < 1.9


def test_frames_are_cut_and_told(
    tmp_path: Path, walk_motion: Walk, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, part = tmp_path / "walk.npz", tmp_path / "part.npz"
    write_motion(whole, walk_motion(120))
    assert convert(whole, part, "--frames", "20:80", "--fps", 60) == 0
    text = capsys.readouterr().out
    assert "30 frames, 31 joints, 60 fps\n  frames 20:80 of 120: 1.20 m/s, root" in text
    root = walk_motion(120).root_positions[20:80:2]
    np.testing.assert_allclose(read_motion(part).root_positions, root, atol=1e-12)


def test_a_part_is_the_same_in_the_whole(tmp_path: Path, walk_motion: Walk) -> None:
    """On a floor that falls by 10 cm and of a clip of which 20 Hz are filtered out."""
    walk = walk_motion(180)
    lift = np.linspace(0.1, 0.0, 180)[:, None] * [0.0, 0.0, 1.0]
    write_motion(
        tmp_path / "w.npz", walk.replace(root_positions=walk.root_positions + lift)
    )
    flags = ("--skeleton", "human23", "--filter", 20)
    assert convert(tmp_path / "w.npz", tmp_path / "all.npz", *flags) == 0
    out = tmp_path / "part.npz"
    assert convert(tmp_path / "w.npz", out, "--frames", "90:150", *flags) == 0
    whole, part = read_motion(tmp_path / "all.npz")[90:150], read_motion(out)
    assert same_places(whole, part) < 1e-9


def test_files_with_a_wrong_rate_are_played_at_another_speed(
    tmp_path: Path, walk_motion: Walk, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, slow = tmp_path / "walk.npz", tmp_path / "slow.npz"
    write_motion(whole, walk_motion(120))
    assert convert(whole, slow, "--speed", 0.5) == 0
    found = read_motion(slow)
    assert found.fps == pytest.approx(0.5 * walk_motion(120).fps)
    np.testing.assert_array_equal(found.rotations, read_motion(whole).rotations)
    for wrong in ("0", "nan", "-1"):
        assert convert(whole, tmp_path / "no.npz", "--speed", wrong) == 2
        assert "expected 0.05 to 20" in capsys.readouterr().err
    assert not (tmp_path / "no.npz").exists()


def test_the_filter_takes_out_what_is_fast(tmp_path: Path, walk_motion: Walk) -> None:
    walk = walk_motion(frames=240)
    shaken = walk.root_positions.copy()
    shaken[:, 2] += 0.01 * (-1.0) ** np.arange(240)
    write_motion(tmp_path / "s.npz", walk.replace(root_positions=shaken))
    assert convert(tmp_path / "s.npz", tmp_path / "f.npz", "--filter", 10) == 0
    heights = read_motion(tmp_path / "f.npz").root_positions[20:-20, 2]
    assert np.abs(heights - walk.root_positions[20:-20, 2]).max() < 5e-4


def test_units_of_both_sides(tmp_path: Path, clips: Path) -> None:
    out = tmp_path / "x.bvh"
    assert convert(clips / "a.bvh", out, "--units", "cm", "--out-units", "m") == 0
    as_metres = read_motion(out, units="m")
    assert same_places(read_motion(clips / "a.bvh", units="cm"), as_metres) < 1e-9


def test_a_folder_is_converted_and_bad_files_are_passed_over(
    tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert convert(clips, out, "--to", "npz") == 1
    streams = capsys.readouterr()
    made = sorted(str(file.relative_to(out)) for file in out.rglob("*.*"))
    assert made == ["a.npz", str(Path("b/b.npz")), "c.npz"]
    assert "3 of 4 files converted, 1 failed" in streams.out
    assert streams.err.count("\n") == 1
    assert "d.bvh: line" in streams.err
    assert convert(clips, out, "--to", "npz") == 1
    assert "0 of 4 files converted, 1 failed, 3 were there" in capsys.readouterr().out


@pytest.mark.integration
@pytest.mark.parametrize(
    "engine", ["process", pytest.param("ray", marks=pytest.mark.slow)]
)
def test_workers_write_and_say_what_one_process_does(
    tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    made = []
    for name, flags in (("1", []), ("2", ["--engine", engine, "--workers", "2"])):
        out = tmp_path / name
        assert convert(clips, out, "--to", "amc", *flags) == 1
        streams = capsys.readouterr()
        said = streams.out.replace(str(out), "OUT"), streams.err.splitlines()[-1]
        files = {p.relative_to(out): p.read_bytes() for p in sorted(out.rglob("*.a*"))}
        made.append((said, files))
    assert made[0] == made[1]
    assert len(made[0][1]) == 6
    assert not list((tmp_path / "2").glob(".shared*"))


def test_strict_stops_at_the_bad_file(tmp_path: Path, clips: Path) -> None:
    assert convert(clips, tmp_path / "out", "--to", "npz", "--strict") == 2


def test_two_sources_of_one_target_are_named(
    tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (clips / "d.bvh").unlink()
    (clips / "c.bvh").write_bytes((clips / "a.bvh").read_bytes())
    assert convert(clips, tmp_path / "out", "--to", "npz") == 1
    assert "is made from" in capsys.readouterr().err


def test_skeletons_are_not_written_beside_amc_files_that_are_read(
    tmp_path: Path, walk_motion: Walk, capsys: pytest.CaptureFixture[str]
) -> None:
    """The AMC files would be read with them, depending on what is converted first."""
    folder, walk = tmp_path / "in", walk_motion()
    (folder / "b").mkdir(parents=True)
    write_motion(folder / "a.bvh", walk)
    small = replace(walk.skeleton, offsets=0.5 * walk.skeleton.offsets)
    shrunk = walk.replace(skeleton=small)
    write_motion(folder / "b" / "k.amc", shrunk)
    old = folder / "b" / "k.amc"
    lines = old.read_text().splitlines(keepends=True)
    (folder / "b" / "a_1.amc").write_text("".join(lines[1:]))  # names no skeleton
    old.unlink()
    before = sorted(folder.rglob("*"))
    assert convert(folder, folder / "b", "--to", "amc") == 2
    told = capsys.readouterr().err
    assert f"{folder / 'b'}: skeletons would be written beside" in told
    assert told.count("\n") == 1
    assert sorted(folder.rglob("*")) == before
    assert convert(folder, tmp_path / "out", "--to", "amc") == 0
    assert same_places(read_motion(tmp_path / "out" / "b" / "a_1.amc"), shrunk) < 1e-6
    assert convert(folder, folder, "--to", "amc") == 0  # a_1.amc is there already


def test_nothing_is_converted_into_itself(
    clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (clips / "a.bvh").read_bytes()
    assert convert(clips / "a.bvh", clips / "a.bvh", "--force") == 2
    assert "into itself" in capsys.readouterr().err
    assert (clips / "a.bvh").read_bytes() == before
