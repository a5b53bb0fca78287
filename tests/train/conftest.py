"""The motions of `tests/motion`, for the commands that read and draw them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from ambulo.motion.files import write_motion

_SHARED = Path(__file__).parents[1] / "motion" / "conftest.py"
_spec = importlib.util.spec_from_file_location("motion_fixtures", _SHARED)
assert _spec is not None
assert _spec.loader is not None
_fixtures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_fixtures)

cmu = _fixtures.cmu
walk_motion = _fixtures.walk_motion


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    """A folder of three good clips, a damaged one and a text: `a.bvh`, `b/b.npz`, ..."""
    folder = tmp_path / "clips"
    (folder / "b").mkdir(parents=True)
    walk = _fixtures.make_walk()
    write_motion(folder / "a.bvh", walk)
    write_motion(folder / "b" / "b.npz", walk)
    write_motion(folder / "c.amc", walk[:20])
    damaged = (folder / "a.bvh").read_text()[:-40]
    (folder / "d.bvh").write_text(damaged)
    (folder / "notes.txt").write_text("no motion")
    return folder
