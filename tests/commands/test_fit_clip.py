"""`ambulo fit`: files, messages and exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ambulo.commands.fit_clip import main
from ambulo.envs.characters.character import human23
from ambulo.envs.reference.reference_file import load_reference
from ambulo.motion.formats.files import write_motion
from ambulo.motion.gaits.plain_walk import plain_walk
from ambulo.motion.operations import resample


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clips") / "walk.bvh"
    write_motion(path, resample(plain_walk(human23().skeleton).motion(3), 60.0))
    return path


def test_a_reference_and_a_film(
    clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, film = tmp_path / "walk.npz", tmp_path / "walk.gif"
    parts = ["--frames", "8:50", "--bodies", "4"]
    parts += ["--out", str(out), "--film", str(film)]
    assert main([str(clip), *parts]) == 0
    text = capsys.readouterr().out
    assert "frames 8:50 of " in text
    assert "survive 20 N s" in text
    assert film.stat().st_size > 10_000
    assert not load_reference(out).table.periodic
    for flags in ([], ["--out", str(tmp_path)]):
        clips = [str(out), str(clip)] if flags else [str(out)]
        assert main([*clips, *flags]) == 2
        assert "is a fitted reference already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--frames", "half"], "--frames half: expected A:B"),
        (["--frames", "40:10"], "--frames 40:10: A must be below B in A:B"),
        (["--frames", "0:99999"], "the clip has the frames 0:"),
        (["--frames", "0:4"], "a clip to follow lasts"),
        (["--out", "x.txt"], "a reference ends in .npz"),
        (["--film", "x.avi"], "a film ends in .mp4 or .gif"),
        (["--bodies", "-1"], "must be at least 0"),
        (["--body", "horse"], "horse"),
    ],
)
def test_bad_input_is_one_line(
    clip: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    flags: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([str(clip), *flags]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert message in error
    assert not list(tmp_path.iterdir())


def test_an_old_file_stays(
    clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "walk.npz"
    out.write_bytes(b"mine")
    assert main([str(clip), "--out", str(out)]) == 2
    assert "exists; --force overwrites it" in capsys.readouterr().err
    assert out.read_bytes() == b"mine"
