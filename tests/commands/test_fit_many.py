"""`ambulo fit` of folders: a table, what is refused, what is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from ambulo.commands.fit_clip import main
from ambulo.envs.characters.character import human23
from ambulo.envs.reference.reference_file import load_reference
from ambulo.motion.formats.files import write_motion
from ambulo.motion.gaits.plain_walk import plain_walk
from ambulo.motion.motion import Motion
from ambulo.motion.operations import resample


@pytest.fixture(scope="module")
def walk() -> Motion:
    return resample(plain_walk(human23().skeleton).motion(2), 60.0)


def test_a_folder_becomes_a_folder_of_references(
    walk: Motion, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clips, out = tmp_path / "clips", tmp_path / "fitted"
    clips.mkdir()
    write_motion(clips / "good.bvh", walk[:40])
    write_motion(clips / "short.bvh", walk[:3])
    flags = ["--out", str(out), "--bodies", "0", "--workers", "2"]
    assert main([str(clips), *flags]) == 1
    text = capsys.readouterr().out
    assert "1 of 2 clips are done" in text
    assert "lasts 0.5 s or more" in " ".join(text.split())
    written = sorted(out.iterdir())
    assert [file.name for file in written] == ["good.human23.npz"]
    report = load_reference(written[0]).report
    assert report["error_world"] < 0.05
    before = written[0].stat().st_mtime_ns
    assert main([str(clips / "good.bvh"), str(clips / "short.bvh"), *flags]) == 1
    assert written[0].stat().st_mtime_ns == before
    # References among the clips, as an earlier call with --out clips leaves them.
    (clips / written[0].name).write_bytes(written[0].read_bytes())
    assert main([str(clips), *flags]) == 1
    assert "1 of 2 clips are done" in capsys.readouterr().out.rsplit("good", 1)[-1]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "--out names a folder"),
        (["--out", "o", "--frames", "0:9"], "--frames is for one clip"),
        (["--out", "o", "--film", "x.gif"], "--film is for one clip"),
        (["--out", "o", "--speed", "0.5"], "--speed is for one clip"),
        (["--out", "o", "--workers", "0"], "--workers must be at least 1"),
    ],
)
def test_bad_input_is_one_line(
    walk: Motion,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    flags: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_motion(tmp_path / "a.bvh", walk[:40])
    write_motion(tmp_path / "b.bvh", walk[:40])
    assert main(["a.bvh", "b.bvh", *flags]) == 2
    assert message in capsys.readouterr().err
