"""Films of actions: every scene plays inside the limits."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from ambulo.ik.limits import violation
from ambulo.ik.rig import load_rig

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from make_ik_films import play, scenes


def test_scenes_move_without_jumps_inside_the_limits() -> None:
    """All in one test: a list of them for `parametrize` would compile at collection."""
    rig = load_rig()
    for scene in scenes(rig):
        motion = play(rig, scene, fps=10.0)
        assert violation(rig, motion.rotations).max() == 0.0, scene.name
        assert np.ptp(motion.rotations, axis=0).max() > 0.02, scene.name
        steps = np.linalg.norm(np.diff(motion.root_positions, axis=0), axis=1)
        assert steps.max() < 0.12, scene.name
