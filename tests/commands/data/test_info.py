"""`ambulo data info` and `ambulo data validate`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fixtures.motion import under_still_root

from ambulo import cli
from ambulo.commands.data.info import describe, limits_exceeded
from ambulo.motion.analysis import movement_text
from ambulo.motion.clip_checks import mended_clip
from ambulo.motion.euler import axis_quat, quat_from_euler
from ambulo.motion.formats.files import write_motion
from ambulo.motion.motion import Motion
from ambulo.motion.roles import SIDES, roles_of
from ambulo.motion.rotations import quat_conjugate, quat_multiply
from ambulo.motion.skeleton import Skeleton
from ambulo.viz.skeleton_actor import actor_of


def main(arguments: list[str]) -> int:
    return cli.main(["data", *arguments])


Walk = Callable[..., Motion]


def limited(order: str, limits: list[tuple[float, float]], axes: object) -> Skeleton:
    """A root and one joint with limits, [deg]."""
    bounds = np.radians([(-180.0, 180.0)] * 3 + limits)
    return Skeleton(
        name="two",
        joints=("root", "elbow"),
        parents=(-1, 0),
        offsets=np.array([[0.0, 0.0, 1.0], [0.3, 0.0, 0.0]]),
        orders=("ZXY", order),
        limits=bounds,
        axes=np.array([[1.0, 0.0, 0.0, 0.0], axes]),
    )


def bent(skeleton: Skeleton, angles_deg: list[tuple[float, ...]]) -> Motion:
    """Frames of the elbow's angles, measured in its own frame."""
    count = len(angles_deg)
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (count, 2, 1))
    local = quat_from_euler(np.radians(angles_deg), skeleton.orders[1])
    frame = skeleton.axes[1]
    rotations[:, 1] = quat_multiply(quat_multiply(frame, local), quat_conjugate(frame))
    return Motion(skeleton, 60.0, np.zeros((count, 3)), rotations)


def test_a_hinge_beyond_its_limits_is_told_with_share_and_worst() -> None:
    tilted = axis_quat("X", np.array(0.7))
    skeleton = limited("Y", [(0.0, 90.0)], tilted)
    motion = bent(skeleton, [(10.0,), (-20.0,), (100.0,), (90.3,)])
    [excess] = limits_exceeded(motion)
    assert excess.joint == "elbow"
    assert excess.share == 0.5
    assert excess.worst_deg == pytest.approx(20.0)


def test_angles_whose_twin_is_inside_the_limits_are_inside() -> None:
    # 170, 100 about the middle axis, 170 is the same rotation as -10, 80, -10.
    skeleton = limited(
        "ZXY", [(-30.0, 30.0), (0.0, 120.0), (-30.0, 30.0)], (1, 0, 0, 0)
    )
    assert limits_exceeded(bent(skeleton, [(170.0, 100.0, 170.0)])) == []
    wide = limited("ZXY", [(100.0, 180.0), (90.0, 120.0), (100.0, 180.0)], (1, 0, 0, 0))
    assert limits_exceeded(bent(wide, [(170.0, 100.0, 170.0)])) == []


def test_a_walk_is_described(tmp_path: Path, walk_motion: Walk) -> None:
    file = tmp_path / "walk.npz"
    write_motion(file, walk_motion(frames=121, fps=60.0, speed=1.5))
    info = describe(file)
    assert (info.joints, info.tips, info.angles) == (31, 7, 93)
    assert (info.frames, info.fps, info.duration_s) == (121, 60.0, 2.0)
    assert info.units == "m"
    assert info.speed_mean == pytest.approx(1.5, abs=0.01)
    assert info.tpose_frames == 0
    assert info.jumps == []
    assert info.contact_left is not None
    assert 0.0 < info.contact_left < 1.0


@pytest.mark.parametrize(("factor", "good"), [(0.01, True), (0.0858, False)])
def test_a_unit_that_fits_no_adult_is_told_with_one_that_does(
    tmp_path: Path,
    walk_motion: Walk,
    capsys: pytest.CaptureFixture[str],
    factor: float,
    good: bool,
) -> None:
    file, out = tmp_path / "walk.bvh", str(tmp_path / "out.npz")
    write_motion(file, walk_motion(10), units=factor)
    text = "units: no known unit fits, 0.0564 m gives legs of 0.53 m, adults' are 0.65"
    for words in (["info", str(file)], ["convert", str(file), out]):
        assert main(words) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert (text in printed) is not good
        assert ("--units 0.0879 suits an adult" in printed) is not good
        assert ("cm, legs of 0.81 m, an adult's" in printed) is good
        assert "as the format has them, head over feet in 100 % of the" in printed
        assert "the file's, a standing body" in printed
        assert main([*words, "--strict", *["--force"] * ("npz" in words[-1])]) == (
            0 if good else 2
        )
        assert (text in capsys.readouterr().err) is not good
    assert main(["validate", str(file)]) == 0
    assert (text in capsys.readouterr().out) is not good
    assert main(["info", str(file), "--units", f"{factor}", "--axes", "y-up"]) == 0
    printed = capsys.readouterr().out
    assert f"{factor}, legs of 0.81 m, an adult's" in printed
    assert "y-up, head over feet in 100 %" in printed


def test_legs_without_length_tell_nothing(
    tmp_path: Path, walk_motion: Walk, capsys: pytest.CaptureFixture[str]
) -> None:
    walk = walk_motion(10)
    roles = roles_of(walk.skeleton)
    offsets = walk.skeleton.offsets.copy()
    offsets[
        [roles[f"{side}_{part}"] for side in SIDES for part in ("shin", "foot")]
    ] = 0
    legless = walk.replace(skeleton=walk.skeleton.replace(offsets=offsets))
    write_motion(tmp_path / "walk.bvh", legless)
    assert main(["info", str(tmp_path / "walk.bvh")]) == 0
    assert main(["validate", str(tmp_path / "walk.bvh")]) == 0
    assert "no legs are known by which to tell" in capsys.readouterr().out


def test_the_speed_below_a_still_root_is_that_of_the_hips(
    tmp_path: Path, walk_motion: Walk
) -> None:
    walk = walk_motion(frames=61, speed=1.5)
    for name in ("root", "joint0"):  # hips by their name, and by what hangs on them
        names = (name, *walk.skeleton.joints[1:])
        named = walk.replace(skeleton=walk.skeleton.replace(joints=names))
        below = under_still_root(named)
        write_motion(tmp_path / "walk.bvh", below)
        info = describe(tmp_path / "walk.bvh")
        assert info.speed_mean == pytest.approx(1.5, abs=0.01)
        assert movement_text(below) == movement_text(walk)
        assert not mended_clip(below)[1]
    drawn, known = (actor_of(motion) for motion in (below, walk))
    np.testing.assert_allclose(drawn.root, known.root, atol=1e-12)
    assert len(drawn.bones) == len(known.bones)


def test_a_jump_of_a_joint_is_told(tmp_path: Path, walk_motion: Walk) -> None:
    walk = walk_motion()
    turned = walk.rotations.copy()
    wrist = walk.skeleton.index("lwrist")
    turned[30:, wrist] = axis_quat("X", np.array(np.radians(100.0)))
    write_motion(tmp_path / "w.npz", walk.replace(rotations=turned))
    [jump] = describe(tmp_path / "w.npz").jumps
    assert (jump["joint"], jump["frame"]) == ("lwrist", 30)
    assert jump["angle_deg"] == pytest.approx(100.0)


def test_a_tpose_at_the_start_does_not_count_as_movement(
    tmp_path: Path, walk_motion: Walk
) -> None:
    walk = walk_motion()
    rotations, roots = walk.rotations.copy(), walk.root_positions.copy()
    rotations[0], rotations[0, :, 0] = 0.0, 1.0
    roots[0] = (5.0, 5.0, 1.0)
    write_motion(
        tmp_path / "t.npz", walk.replace(rotations=rotations, root_positions=roots)
    )
    info = describe(tmp_path / "t.npz")
    assert info.tpose_frames == 1
    assert info.frames == 60
    assert info.speed_max < 2.0


def test_real_clips_are_described(cmu: Path) -> None:
    info = describe(cmu / "bvh_mb" / "02" / "02_01.bvh")
    assert (info.joints, info.frames, info.units, info.tpose_frames) == (
        31,
        344,
        "asf",
        1,
    )
    assert info.speed_mean == pytest.approx(1.2, abs=0.1)


def test_info_of_a_file_is_an_account(
    clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["info", str(clips / "a.bvh")]) == 0
    out = capsys.readouterr().out
    assert "31 joints, 7 tips, 93 angles" in out
    assert "60 at 120 fps, 0.49 s" in out
    assert main(["info", str(clips / "d.bvh")]) == 2


def test_info_of_a_folder_is_a_table_or_json(
    clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["info", str(clips)]) == 1
    streams = capsys.readouterr()
    assert "3 files, 140 frames" in streams.out
    assert "b/b.npz" in streams.out.replace("\\", "/")
    assert streams.err.count("\n") == 1
    assert main(["info", str(clips), "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert [Path(file["path"]).name for file in data["files"]] == [
        "a.bvh", "b.npz", "c.amc",
    ]  # fmt: skip
    [error] = data["errors"]
    assert "d.bvh" in error
    assert main(["info", str(clips), "--strict"]) == 2


def test_info_as_a_json_file(clips: Path, tmp_path: Path) -> None:
    out = tmp_path / "info.json"
    assert main(["info", str(clips / "c.amc"), "--json", str(out)]) == 0
    [info] = json.loads(out.read_text())["files"]
    assert info["frames"] == 20


def test_validate_names_every_file(
    clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(clips)]) == 1
    streams = capsys.readouterr()
    assert streams.out.count(": ok: ") == 3
    assert "3 of 4 files are good, 1 bad" in streams.out
    assert "d.bvh: line" in streams.err
    (clips / "d.bvh").unlink()
    assert main(["validate", str(clips)]) == 0


def test_a_single_bad_file_is_code_2(clips: Path) -> None:
    assert main(["validate", str(clips / "a.bvh")]) == 0
    assert main(["validate", str(clips / "d.bvh")]) == 2
    assert main(["info", str(clips / "d.bvh")]) == 2


def test_validate_with_strict_stops(clips: Path) -> None:
    assert main(["validate", str(clips), "--strict"]) == 2


def test_one_bad_file_among_many(
    tmp_path: Path, walk_motion: Walk, capsys: pytest.CaptureFixture[str]
) -> None:
    write_motion(tmp_path / "000.npz", walk_motion(frames=2))
    data = (tmp_path / "000.npz").read_bytes()
    for i in range(1, 100):
        (tmp_path / f"{i:03d}.npz").write_bytes(data)
    (tmp_path / "050.bvh").write_bytes(b"HIERARCHY\nROOT a\n{")
    assert main(["validate", str(tmp_path)]) == 1
    streams = capsys.readouterr()
    assert "100 of 101 files are good, 1 bad" in streams.out
    assert len(streams.err.splitlines()) == 1


@pytest.mark.parametrize("action", ["info", "validate"])
def test_nothing_there_is_one_line_and_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], action: str
) -> None:
    assert main([action, str(tmp_path / "none")]) == 2
    assert "no such file or folder" in capsys.readouterr().err
    assert main([action, str(tmp_path)]) == 2
    assert "no motion files" in capsys.readouterr().err
