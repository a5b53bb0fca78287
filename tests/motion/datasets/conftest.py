"""Small data folders made by our own code: short walks as BVH files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ambulo.motion.datasets.clips import Clip
from ambulo.motion.euler import axis_quat
from ambulo.motion.formats.files import write_motion
from ambulo.motion.motion import Motion
from ambulo.motion.skeletons import load_skeleton

Walk = Callable[..., Motion]


def make_walk(frames: int = 60, fps: float = 60.0, stride: float = 0.5) -> Motion:
    """Legs that swing by `stride` [rad], a root that goes ahead; made up."""
    skeleton = load_skeleton("cmu31")
    times = np.arange(frames) / fps
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (frames, len(skeleton), 1))
    swing = stride * np.sin(2.0 * np.pi * times)
    for joint, angle in (
        ("lfemur", swing),
        ("rfemur", -swing),
        ("ltibia", 0.3 + 0.2 * swing),
        ("rhumerus", 0.5 * swing),
    ):
        rotations[:, skeleton.index(joint)] = axis_quat("Y", angle)
    root = np.zeros((frames, 3)) + skeleton.offsets[0]
    root[:, 0] += times
    return Motion(skeleton, fps, root, rotations)


@pytest.fixture
def walk() -> Walk:
    """`make_walk`: a walk of so many `frames` at `fps`."""
    return make_walk


@pytest.fixture(scope="session")
def walk_text(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A walk of 60 frames as a BVH file."""
    path = tmp_path_factory.mktemp("walk") / "walk.bvh"
    write_motion(path, make_walk())
    return path.read_bytes()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder of this test."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("AMBULO_MOTION_CACHE", str(folder))
    return folder


@pytest.fixture
def data_folder(tmp_path: Path, walk_text: bytes) -> Callable[..., Path]:
    """Makes a folder with the walk under the names it is given."""

    def make(*names: str, folder: str = "data") -> Path:
        place = tmp_path / folder
        place.mkdir(exist_ok=True)
        for name in names:
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(walk_text)
        return place

    return make


@pytest.fixture
def clip_of() -> Callable[..., Clip]:
    """A clip that is only a name."""

    def make(subject: str, trial: str, activity: str = "walk", copy: str = "") -> Clip:
        return Clip(Path(f"{subject}_{trial}{copy}.bvh"), subject, trial, activity)

    return make
