"""Films of actions: every scene plays inside the limits, and a film is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ambulo.commands.ik_action_films import play, scenes, write_films
from ambulo.ik.limits import violation
from ambulo.ik.rig import load_rig


def test_scenes_move_without_jumps_inside_the_limits() -> None:
    """All in one test: a list of them for `parametrize` would compile at collection."""
    rig = load_rig()
    for scene in scenes(rig):
        motion = play(rig, scene, fps=10.0)
        assert violation(rig, motion.rotations).max() == 0.0, scene.name
        assert np.ptp(motion.rotations, axis=0).max() > 0.02, scene.name
        steps = np.linalg.norm(np.diff(motion.root_positions, axis=0), axis=1)
        assert steps.max() < 0.12, scene.name


@pytest.mark.slow
def test_film_is_written(tmp_path: Path) -> None:
    (path,) = write_films(tmp_path, ["crouch"])
    assert path.name == "ik_crouch.gif"
    assert path.read_bytes()[:3] == b"GIF"
