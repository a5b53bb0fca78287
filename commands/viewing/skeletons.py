"""Stages of models that make poses: gait networks, IK networks, body trackers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ambulo.commands.trackers.track import read_source
from ambulo.commands.viewing.flags import PlayFlags
from ambulo.common.find_model import find_model
from ambulo.common.paths import resolve_path
from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ModelFileError
from ambulo.ik.trackers.record_motion import record_motion
from ambulo.ik.trackers.recording import Recording
from ambulo.ik.trackers.session import BodySession
from ambulo.motion.motion import Motion
from ambulo.policies.agents.body_tracker import load_tracker_network
from ambulo.policies.registry import load_file
from ambulo.viz.viewer.ik_stage import IKStage
from ambulo.viz.viewer.motion_stage import GaitStage
from ambulo.viz.viewer.tracker_stage import TrackerStage

RATE = 60.0
"""Rows a second of a motion that is seen by devices, [Hz]."""
WALK, CYCLES = "gait_net", 8
"""The gait network whose walk is tracked where there is no recording, and its cycles."""


def gait_stage(file: Path, flags: PlayFlags) -> GaitStage:
    """Return the stage of a gait network."""
    network: Any = load_file(file)

    def cycle(values: Floats) -> Motion:
        motion: Motion = network.to_motion(values, cycles=1, fps=RATE)
        return motion

    return GaitStage(
        network.space, cycle, f"{file.stem}: makes gaits", tuple(network.held)
    )


def ik_stage(file: Path, flags: PlayFlags) -> IKStage:
    """Return the stage of a pose network.

    Raises:
        ModelFileError: It is of the published kinds, which have no solver.
    """
    solver: Any = load_file(file)
    if not hasattr(solver, "solve"):
        raise ModelFileError(
            f"{file}: a published network alone; poses of targets need a solver"
        )
    return IKStage(solver, f"{file.parent.name}: drag the targets")


def body_tracker_stage(file: Path, flags: PlayFlags) -> TrackerStage:
    """Return the stage of a body tracker: of a recording, or of a walk with devices.

    Raises:
        MotionFileError: The recording cannot be used.
    """
    network, _ = load_tracker_network(file)
    recording, truth, name = _recording(flags.recording)
    return TrackerStage(
        lambda: BodySession(network, recording.header), recording,
        f"{file.stem}: tracks {name}", truth,
    )  # fmt: skip


def _recording(path: str | None) -> tuple[Recording, Motion | None, str]:
    """Return the rows, the motion if they were made from one, and their name."""
    if path is not None:
        source = resolve_path(path)
        return *read_source(source, RATE, "ambulo"), source.name
    network: Any = load_file(find_model(WALK))
    walk: Motion = network.walk(cycles=CYCLES, fps=RATE)
    return record_motion(walk), walk, "a walk"
