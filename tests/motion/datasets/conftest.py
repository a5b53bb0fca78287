"""Small data folders made by our own code: short walks as BVH files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.motion import make_walk

from ambulo.motion.datasets.clips import Clip
from ambulo.motion.formats.files import write_motion


@pytest.fixture(scope="session")
def walk_text(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A walk of 60 frames as a BVH file."""
    path = tmp_path_factory.mktemp("walk") / "walk.bvh"
    write_motion(path, make_walk(60, 60.0, speed=1.0))
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
