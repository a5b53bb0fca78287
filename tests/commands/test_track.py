"""The command `ambulo track`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ambulo
from ambulo import cli
from ambulo.ik.trackers.record_motion import record_motion
from ambulo.ik.trackers.recording import read_recording, write_recording
from ambulo.motion.gaits.generated_walks import generated_walks
from ambulo.motion.motion import Motion


@pytest.fixture(scope="module")
def walk() -> Motion:
    return generated_walks(60.0, 2.0)[5]


@pytest.fixture(scope="module")
def recording(walk: Motion, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("recording") / "walk.trackers"
    write_recording(file, record_motion(walk, axes="unity"))
    return file


@pytest.mark.parametrize("ending", [".bvh", ".npz", ".amc"])
def test_a_recording_becomes_a_motion_file(
    recording: Path, tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / f"pose{ending}"
    assert cli.main(["track", str(recording), "--out", str(out)]) == 0
    motion = ambulo.read_motion(out)
    assert len(motion) == 120
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(
        "tracked   120 rows of 3 trackers in 1.98 s (unity): 120"
    )
    assert lines[1] == "frames    ok 120"
    assert lines[2] == "Head      ok 120"
    assert lines[-1] == f"pose      {out}"


def test_a_ground_that_nobody_stands_on_is_hinted_at(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def hints(ground: str) -> list[str]:
        out = str(tmp_path / f"pose_{ground}.npz")
        assert (
            cli.main(["track", str(recording), "--ground", ground, "--out", out]) == 0
        )
        lines = capsys.readouterr().out.splitlines()
        return [line for line in lines if line.startswith("hint")]

    assert hints("0") == []
    (hint,) = hints("2")
    assert "check --ground" in hint


def test_a_motion_file_is_seen_by_three_trackers(
    walk: Motion, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clip, out = tmp_path / "walk.bvh", tmp_path / "pose.npz"
    ambulo.write_motion(clip, walk)
    assert cli.main(["track", str(clip), "--out", str(out), "--rate", "90"]) == 0
    summary = capsys.readouterr().out.splitlines()[0]
    assert "3 trackers" in summary
    assert "90 fps" in summary
    assert float(summary.split("joints ")[1].split(" cm")[0]) < 12.0
    assert ambulo.read_motion(out).fps == 90.0
    made = tmp_path / "walk.trackers"
    flags = ["--record", str(made), "--convention", "unreal", "--force"]
    assert cli.main(["track", str(clip), "--out", str(out), *flags]) == 0
    assert read_recording(made).header.convention == "unreal"
    assert capsys.readouterr().out.startswith(f"recorded  {made}\n")


def test_height_ground_and_rate(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "pose.npz"
    flags = ["--height", "1.8", "--ground", "0", "--rate", "30"]
    assert cli.main(["track", str(recording), "--out", str(out), *flags]) == 0
    assert "stature 1.80 m" in capsys.readouterr().out
    motion = ambulo.read_motion(out)
    assert motion.fps == 30.0
    assert np.isfinite(motion.root_positions).all()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--out", "pose.txt"], "--out pose.txt: must end in .bvh, .amc or .npz"),
        (["--out", "none/pose.bvh"], "no such folder"),
        (["--out", "pose.bvh", "--ground", "nan"], "--ground nan"),
        (["--out", "pose.bvh", "--model", "nothing"], "no such model"),
        (["--out", "pose.bvh", "--record", "b.trackers"], "is a recording already"),
        (["--out", "pose.bvh", "--convention", "unity"], "is a recording already"),
        (["--out", "pose.bvh", "--calibrate"], "no T-pose"),
    ],
)
def test_bad_flags_are_one_line(
    recording: Path, tmp_path: Path, flags: list[str], message: str,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert cli.main(["track", str(recording), *flags]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error
    assert not list(tmp_path.iterdir())


def test_bad_recordings_are_one_line(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytearray(recording.read_bytes())
    data[len(data) // 2] ^= 4
    damaged, out = tmp_path / "damaged.trackers", tmp_path / "pose.bvh"
    damaged.write_bytes(data)
    notes = tmp_path / "notes.md"
    notes.write_text("no recording\n")
    skeleton = tmp_path / "02.asf"
    skeleton.write_text(":version 1.10\n")
    for file, message in (
        (skeleton, "02.asf: is a skeleton without motion; give a clip (.amc) of it"),
        (damaged, "damaged.trackers: line"),
        (notes, "notes.md: line 1: the header is not valid JSON"),
        (tmp_path / "none.trackers", "none.trackers: cannot be read"),
        (tmp_path / "none.bvh", "none.bvh"),
    ):
        assert cli.main(["track", str(file), "--out", str(out)]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert message in error
        assert not out.exists()
