"""Compile solver and trackers in the background, so that Blender does not freeze later.

The kernels are compiled once after an installation (40 s of one core) and cached on disk;
Blender's own Python does that in the background while the add-on is being enabled.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys

_LOG = logging.getLogger(__name__)

_PROGRAM = """
from ambulo.ik.rig import load_rig
from ambulo.ik.solver.solver import NeuralIKSolver
NeuralIKSolver(load_rig("ik23")).warm_up()
from ambulo.policies.agents.body_tracker import load_tracker
from ambulo.shipped import locate
from ambulo.ik.trackers.conventions import TrackerSample
model = locate("ik_trackers")
if model is not None:
    tracker, sample = load_tracker(model), TrackerSample.nothing()
    sample.present[:], sample.positions[:, 2] = True, 1.0
    tracker.step(sample, 1 / 60)
"""


def start() -> subprocess.Popen[bytes] | None:
    """The compiling process, or None if it cannot be started.

    It ends after a second if everything is compiled already.
    """
    paths = os.pathsep.join(path for path in sys.path if path)
    quiet = subprocess.DEVNULL
    try:
        return subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
            stdin=quiet,
            stdout=quiet,
            stderr=quiet,
        )
    except OSError as error:
        _LOG.warning("cannot compile ahead: %s", error)
        return None
