"""Blender for the tests: the `bpy` wheel, an empty file for each test, the add-on on.

bpy wants Python 3.11 and an older NumPy, so it has an environment of its own, made by
`make test-blender`; elsewhere each file of tests is skipped, saying so.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "blender"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what stands in this folder."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.blender)


@pytest.fixture(scope="session")
def _registered() -> Iterator[None]:
    import ambulo_ik

    ambulo_ik.register()
    yield
    # Python functions that are left in Blender's handlers keep it from exiting.
    ambulo_ik.unregister()


@pytest.fixture
def context(_registered: None) -> Any:
    """Blender's context in an empty file, with the add-on registered."""
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    return bpy.context


@pytest.fixture
def armature(context: Any) -> Any:
    """The Ambulo rig, active."""
    import bpy

    bpy.ops.ambulo_ik.add_rig()
    return context.object


@pytest.fixture(scope="session")
def cmu() -> Path:
    """The folder of real CMU clips: AMBULO_DATA, or shared/data beside the repository."""
    named = os.environ.get("AMBULO_DATA")
    root = Path(named) if named else ROOT.parent / "shared" / "data"
    for folder in (root / "cmu", root):
        if (folder / "manifest.csv").is_file():
            return folder
    pytest.skip("no CMU clips: set AMBULO_DATA to the folder that holds cmu/")


@pytest.fixture(scope="session")
def walk_on_rig() -> Any:
    """Twenty frames of a plain walk on `ik23`, legs and arms swinging."""
    from ambulo.ik.pose import start_pose
    from ambulo.ik.rig import load_rig
    from ambulo.motion.motion import Motion
    from ambulo.motion.rotations import quat_from_rotvec, quat_multiply

    rig = load_rig("ik23")
    start, count = start_pose(rig), 20
    swing = np.sin(np.linspace(0.0, 2.0 * np.pi, count, endpoint=False))
    turns = np.zeros((count, len(rig), 3))
    for name, size in (("Thigh", 0.4), ("Arm", -0.3)):
        turns[:, rig.skeleton.index(f"Left{name}"), 0] = size * swing
        turns[:, rig.skeleton.index(f"Right{name}"), 0] = -size * swing
    turns[:, rig.skeleton.index("Spine1"), 1] = 0.1 * swing
    root = np.repeat(start.root, count, axis=0)
    root[:, 0] += 0.04 * np.arange(count)
    rotations = quat_multiply(start.rotations, quat_from_rotvec(turns))
    return Motion(rig.skeleton, 30.0, root, rotations, name="walk")
