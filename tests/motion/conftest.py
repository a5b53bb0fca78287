"""Motions for tests: real clips where they are, and a small walk made here."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ambulo.motion.euler import quat_from_euler
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton

# Joint, parent, offset [m] (ours: X forward, Y left, Z up): the tree of CMU's ASF files.
_TREE = (
    ("root", "", (0.0, 0.0, 0.96)),
    ("lhipjoint", "root", (0.0, 0.0, 0.0)),
    ("lfemur", "lhipjoint", (0.0, 0.09, -0.09)),
    ("ltibia", "lfemur", (0.0, 0.0, -0.40)),
    ("lfoot", "ltibia", (0.0, 0.0, -0.41)),
    ("ltoes", "lfoot", (0.14, 0.0, -0.04)),
    ("rhipjoint", "root", (0.0, 0.0, 0.0)),
    ("rfemur", "rhipjoint", (0.0, -0.09, -0.09)),
    ("rtibia", "rfemur", (0.0, 0.0, -0.40)),
    ("rfoot", "rtibia", (0.0, 0.0, -0.41)),
    ("rtoes", "rfoot", (0.14, 0.0, -0.04)),
    ("lowerback", "root", (0.0, 0.0, 0.0)),
    ("upperback", "lowerback", (0.0, 0.0, 0.11)),
    ("thorax", "upperback", (0.0, 0.0, 0.11)),
    ("lowerneck", "thorax", (0.0, 0.0, 0.11)),
    ("upperneck", "lowerneck", (0.0, 0.0, 0.09)),
    ("head", "upperneck", (0.0, 0.0, 0.09)),
    ("lclavicle", "thorax", (0.0, 0.0, 0.11)),
    ("lhumerus", "lclavicle", (0.0, 0.18, 0.05)),
    ("lradius", "lhumerus", (0.0, 0.28, 0.0)),
    ("lwrist", "lradius", (0.0, 0.17, 0.0)),
    ("lhand", "lwrist", (0.0, 0.09, 0.0)),
    ("lfingers", "lhand", (0.0, 0.06, 0.0)),
    ("lthumb", "lwrist", (0.0, 0.09, 0.0)),
    ("rclavicle", "thorax", (0.0, 0.0, 0.11)),
    ("rhumerus", "rclavicle", (0.0, -0.18, 0.05)),
    ("rradius", "rhumerus", (0.0, -0.28, 0.0)),
    ("rwrist", "rradius", (0.0, -0.17, 0.0)),
    ("rhand", "rwrist", (0.0, -0.09, 0.0)),
    ("rfingers", "rhand", (0.0, -0.06, 0.0)),
    ("rthumb", "rwrist", (0.0, -0.09, 0.0)),
)
_TIPS = {
    "ltoes": (0.06, 0.0, 0.0),
    "rtoes": (0.06, 0.0, 0.0),
    "head": (0.0, 0.0, 0.09),
    "lfingers": (0.0, 0.05, 0.0),
    "lthumb": (0.05, 0.03, 0.0),
    "rfingers": (0.0, -0.05, 0.0),
    "rthumb": (0.05, -0.03, 0.0),
}


def make_walk(
    frames: int = 60, fps: float = 120.0, speed: float = 1.2, order: str = "XZY"
) -> Motion:
    """A plain walk along +X at `speed` [m/s], one stride a second, every joint a ball."""
    names = [name for name, _, _ in _TREE]
    skeleton = Skeleton(
        name="walker",
        joints=tuple(names),
        parents=tuple(names.index(up) if up else -1 for _, up, _ in _TREE),
        offsets=np.array([offset for _, _, offset in _TREE]),
        orders=(order,) * len(names),
        tip_parents=tuple(names.index(name) for name in _TIPS),
        tips=np.array(list(_TIPS.values())),
    )
    time = np.arange(frames) / fps
    phase = 2.0 * np.pi * time
    angles = np.zeros((frames, len(names), 3))  # about X, Y, Z
    for side, shift in (("l", 0.0), ("r", np.pi)):
        swing = np.sin(phase + shift)
        angles[:, names.index(f"{side}femur"), 1] = -0.4 * swing
        angles[:, names.index(f"{side}tibia"), 1] = 0.4 - 0.35 * np.cos(phase + shift)
        angles[:, names.index(f"{side}foot"), 1] = 0.1 * np.cos(phase + shift)
        sign = 1.0 if side == "l" else -1.0
        arm = names.index(f"{side}humerus")
        angles[:, arm, 0] = -1.3 * sign
        angles[:, arm, 1] = 0.5 * swing
        angles[:, names.index(f"{side}radius"), 2] = -0.3 * sign
    angles[:, 0, 2] = 0.05 * np.sin(phase)
    angles[:, names.index("thorax"), 2] = -0.1 * np.sin(phase)
    angles[:, names.index("head"), 1] = 0.05 * np.cos(2.0 * phase)
    root = np.stack(
        [speed * time, 0.02 * np.sin(phase), 0.93 + 0.02 * np.cos(2.0 * phase)], axis=-1
    )
    return Motion(skeleton, fps, root, quat_from_euler(angles, "XYZ"), name="walk")


@pytest.fixture(scope="session")
def cmu() -> Path:
    """The folder of real CMU clips: AMBULO_DATA, or shared/data beside the repository."""
    named = os.environ.get("AMBULO_DATA")
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    root = Path(named) if named else beside
    for folder in (root / "cmu", root):
        if (folder / "manifest.csv").is_file():
            return folder
    pytest.skip("no CMU clips: set AMBULO_DATA to the folder that holds cmu/")


@pytest.fixture(scope="session")
def walk_motion() -> Callable[..., Motion]:
    """`walk_motion(frames, fps, speed, order)`: the walk of `make_walk`."""
    return make_walk
