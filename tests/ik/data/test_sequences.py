"""Training sequences of body trackers: extraction, faults, the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ambulo.cli import main as ambulo
from ambulo.ik.data.sequences import (
    faulty_frames,
    load_sequences,
    sized_motion,
)
from ambulo.ik.trackers.shape import BodyShape, sized_skeleton
from ambulo.motion.formats.files import write_motion
from ambulo.motion.gaits.generated_walks import generated_walks
from ambulo.motion.kinematics import joint_positions
from ambulo.motion.motion import Motion


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Walks of three people, one of them small, one file that is no motion."""
    place = tmp_path / "motions"
    walks = generated_walks(30.0, 3.0)
    for number, size in enumerate((1.0, 0.8, 1.1)):
        walk = walks[number]
        shape = BodyShape(size, size, size)
        small = Motion(
            sized_skeleton(shape), 30.0, size * walk.root_positions, walk.rotations
        )
        (place / f"p{number}").mkdir(parents=True)
        write_motion(place / f"p{number}" / "walk.bvh", small)
    (place / "p0" / "broken.bvh").write_text("HIERARCHY\nROOT x")
    return place


def test_a_clip_keeps_the_size_of_its_performer(folder: Path) -> None:
    motion, shape = sized_motion(folder / "p1" / "walk.bvh")
    assert shape.scale == pytest.approx(0.8, abs=0.02)
    assert motion.fps == 60.0
    heights = joint_positions(motion)[..., 2]
    assert -0.02 < heights.min() < 0.06
    assert heights.max() == pytest.approx(0.8 * 1.55, abs=0.06)


def test_the_command_writes_sequences_of_people(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "sequences.npz"
    code = ambulo(["ik", "sequences", "--motions", str(folder), "--out", str(out)])
    assert code == 0
    text = capsys.readouterr()
    assert "3 sequences of 3 people" in text.out
    assert "broken.bvh" in text.err
    data = load_sequences(out)
    assert data.subjects == ("p0", "p1", "p2")
    part = data.of_subjects(["p1"])
    assert len(part) == 1
    np.testing.assert_allclose(part.motion(0).root_positions, part.root, atol=1e-6)
    words = ["sequences", "--motions", str(folder), "--out", str(out), "--without"]
    assert ambulo(["ik", *words, "p0", "p1"]) == 2  # it exists
    assert len(load_sequences(out).subjects) == 3
    assert ambulo(["ik", *words, "p0", "p1", "--force"]) == 0
    assert load_sequences(out).subjects == ("p2",)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--out", "sequences.txt"], "must end in .npz"),
        (["--without", "nobody"], "--without nobody"),
    ],
)
def test_wrong_flags_are_one_line(
    flags: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ambulo(["ik", "sequences", "--motions", str(folder), *flags]) == 2
    error = capsys.readouterr().err.strip()
    assert message in error
    assert "\n" not in error


def test_frames_that_nobody_took_are_found() -> None:
    walk = generated_walks(60.0, 3.0)[0]
    assert not faulty_frames(walk).any()
    roots = walk.root_positions.copy()
    roots[100:] += np.array([1.0, 0.0, 0.0])
    jumped = faulty_frames(walk.replace(root_positions=roots))
    assert jumped[95:105].all()
    assert not jumped[:90].any()
    sunk = walk.root_positions - np.array([0.0, 0.0, 0.3])
    assert faulty_frames(walk.replace(root_positions=sunk)).all()
