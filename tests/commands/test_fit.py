"""`ambulo fit` of clips and folders: files, tables, messages and exit codes."""

from __future__ import annotations

import contextlib
import io
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from fixtures.swaying import swaying

from ambulo.commands.fit import main
from ambulo.envs.characters.character import human23
from ambulo.envs.reference.joint_positions import motion_of_positions
from ambulo.envs.reference.reference import load_reference
from ambulo.motion.formats.files import write_motion
from ambulo.motion.motion import Motion

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def motion() -> Motion:
    """A second of a body that stands and swings its arms: fitted in no time."""
    body = human23()
    qpos = swaying(body, "sway", seconds=1.0).table.qpos
    every = round(1.0 / (60.0 * body.model.opt.timestep))
    return motion_of_positions(qpos[::every], body.model, body.skeleton, 60.0)


@pytest.fixture(scope="module")
def clip(motion: Motion, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clips") / "sway.bvh"
    write_motion(path, motion)
    return path


@dataclass(frozen=True)
class Fit:
    """What the command made of a part of the clip."""

    reference: Path
    film: Path
    text: str


@pytest.fixture(scope="module")
def fit(clip: Path) -> Fit:
    out, film, text = clip.with_suffix(".npz"), clip.with_suffix(".gif"), io.StringIO()
    flags = [
        "--frames",
        "8:40",
        "--bodies",
        "4",
        "--out",
        str(out),
        "--film",
        str(film),
    ]
    with contextlib.redirect_stdout(text):
        assert main([str(clip), *flags]) == 0
    return Fit(out, film, text.getvalue())


def test_a_reference_and_a_film(
    fit: Fit, clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "frames 8:40 of " in fit.text
    assert "survive 20 N s" in fit.text
    assert fit.film.stat().st_size > 10_000
    assert not load_reference(fit.reference).table.periodic
    for flags in ([], ["--out", str(tmp_path)]):
        clips = [str(fit.reference), str(clip)] if flags else [str(fit.reference)]
        assert main([*clips, *flags]) == 2
        assert "is a fitted reference already" in capsys.readouterr().err


def test_an_old_file_stays(
    clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "walk.npz"
    out.write_bytes(b"mine")
    assert main([str(clip), "--out", str(out)]) == 2
    assert "is there already; --force replaces it" in capsys.readouterr().err
    assert out.read_bytes() == b"mine"


@pytest.mark.parametrize("kept", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_folder_becomes_a_folder_of_references(
    kept: bool,
    motion: Motion,
    fit: Fit,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A table, what is refused, what is kept; `kept` by an earlier call, or by this one."""
    clips, out = tmp_path / "clips", tmp_path / "fitted"
    clips.mkdir()
    write_motion(clips / "good.bvh", motion[:32])
    write_motion(clips / "short.bvh", motion[:3])
    if kept:
        out.mkdir()
        shutil.copy(fit.reference, out / "good.human23.npz")
    flags = ["--out", str(out), "--bodies", "0"]
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
