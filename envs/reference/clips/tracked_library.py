"""Clips as a body tracker sees them: poses made of the trackers of a captured motion.

Everything of a control step comes from samples that have arrived by then: `delay` control
steps after the body has reached a pose, the newest sample is that far ahead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.track_body import TrackBodyConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.clip_library import ClipLibrary, joined_clips
from ambulo.envs.reference.clips.raw_clip import keep_within_limits
from ambulo.envs.reference.joint_positions import (
    body_places,
    motion_of_positions,
    qpos_of,
)
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.simulation.tangent import Tangent
from ambulo.ik.trackers.network import TrackerNetwork, find_tracker_network
from ambulo.ik.trackers.shape import BodyShape
from ambulo.ik.trackers.sizes import TRACKERS
from ambulo.ik.trackers.tracker import BodyTracker
from ambulo.ik.trackers.tracks import POINTS, TrackerTrack, track_of
from ambulo.motion.motion import Motion
from ambulo.motion.operations import resample
from ambulo.motion.rotations import quat_to_matrix

SAMPLES = 2
"""Samples of the trackers in a control step."""
WARM_UP = 0.5
"""Time for which the body tracker sees a clip before a body may follow it, [s]; of short
clips a quarter."""
BEND, SLOPE = 4, 2
"""Control steps before the newest pose over which accelerations, and velocities that go on,
are found."""


@dataclass(frozen=True, eq=False)
class TrackedLibrary:
    """What bodies follow, and what it was made of; Q knots as in `ClipLibrary`."""

    library: ClipLibrary
    """The poses of the body tracker. Accelerations of a control step are those known in it."""
    slope: Floats
    """Velocity with which the pose goes on, from this and earlier poses. Shape (Q, nv)."""
    captured: Floats
    """World places of the captured moving bodies, [m]. Shape (Q, B, 3)."""
    places: Floats
    """World places of the trackers, [m]; 0 of those that are not there. Shape (Q, 6, 3)."""
    axes: Floats
    """First two axes of each tracker in the world. Shape (Q, 6, 2, 3)."""
    present: Bools
    """Which trackers there are. Shape (6,)."""


def tracked_library(
    tables: Mapping[str, ReferenceTable],
    character: Character,
    substeps: int,
    settings: TrackBodyConfig,
) -> TrackedLibrary:
    """The poses that a body tracker makes of the trackers of each clip.

    Args:
        tables: Captured motions, a state for each physics step.
        character: The body; the player has its proportions, and the tracker knows them.
        substeps: Physics steps of a control step.
        settings: Of the trackers.

    Raises:
        IKError: There is no such network.
    """
    network = find_tracker_network(settings.tracker_network)
    clips, parts = zip(
        *(
            _tracked(table, character, substeps, settings, network, seed)
            for seed, table in enumerate(tables.values())
        ),
        strict=True,
    )
    slope, captured, places, axes, present = zip(*parts, strict=True)
    return TrackedLibrary(
        joined_clips(tuple(tables), clips, character, substeps),
        np.concatenate(slope), np.concatenate(captured), np.concatenate(places),
        np.concatenate(axes), present[0],
    )  # fmt: skip


def poses_of(
    track: TrackerTrack, character: Character, network: TrackerNetwork
) -> Motion:
    """The poses of a body tracker that is shown `track`, one a sample."""
    tracker = BodyTracker(network, BodyShape(), adapt=False)
    roots = np.empty((len(track), 3))
    turns = np.empty((len(track), len(character.skeleton.joints), 4))
    for k in range(len(track)):
        frame = tracker.step(track.sample(k), 1.0 / track.fps)
        roots[k], turns[k] = frame.root, frame.rotations
    return Motion(character.skeleton, track.fps, roots, turns)


def _tracked(
    table: ReferenceTable,
    character: Character,
    substeps: int,
    settings: TrackBodyConfig,
    network: TrackerNetwork,
    seed: int,
) -> tuple[tuple[Floats, Floats, Floats, Floats], tuple[Floats, ...]]:
    """One clip of `joined_clips`; slope, captured places, places, axes, which trackers."""
    model, skeleton = character.model, character.skeleton
    dt = float(model.opt.timestep)
    rate = 1.0 / (substeps * dt)
    captured = motion_of_positions(table.qpos, model, skeleton, 1.0 / dt)
    track = track_of(
        resample(captured, SAMPLES * rate), settings.points,
        noise=settings.tracker_noise, seed=seed,
    )  # fmt: skip
    poses = qpos_of(poses_of(track, character, network), model)[::SAMPLES]
    keep_within_limits(poses, model)
    knots = len(poses)
    warm = min(round(WARM_UP * rate), knots // 4)
    tangent = Tangent(model)
    bend, slope = _slopes(poses, tangent, 1.0 / rate)
    newest = np.minimum(np.arange(knots) + 1 + settings.pose_delay, knots - 1)
    clip = _rows(poses[warm:], bend[newest][warm:], tangent, dt, substeps)
    axes = quat_to_matrix(track.rotations[::SAMPLES])[..., :2].swapaxes(-1, -2)
    there = track.present[0]
    places, axes = track.positions[::SAMPLES].copy(), axes.copy()
    places[:, ~there], axes[:, ~there] = 0.0, 0.0
    truth = body_places(table.qpos[: knots * substeps : substeps], model)[0]
    return clip, (slope[warm:], truth[warm:], places[warm:], axes[warm:], there)


def _slopes(poses: Floats, tangent: Tangent, dt: float) -> tuple[Floats, Floats]:
    """Accelerations and velocities of poses (K, nq) from each and those before. (K, nv).

    Accelerations are those of parabolas through the last `BEND` + 1 poses (A. Savitzky and
    M. Golay, Analytical Chemistry 36, 1964), velocities means over `SLOPE` control steps.
    """
    times = dt * np.arange(-BEND, 1)
    taps = 2.0 * np.linalg.pinv(times[:, None] ** np.arange(3))[2]
    earlier = np.arange(len(poses))
    bend = np.zeros((len(poses), tangent.nv))
    for k, tap in enumerate(taps):
        other = poses[np.maximum(earlier - BEND + k, 0)]
        bend += tap * tangent.difference(other, poses)
    bend[:BEND] = 0.0
    before = np.maximum(earlier - SLOPE, 0)
    slope = tangent.difference(poses, poses[before])
    return bend, slope / (dt * np.maximum(earlier - before, 1))[:, None]


def _rows(
    poses: Floats, acceleration: Floats, tangent: Tangent, dt: float, substeps: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """One clip of `joined_clips` of poses (K, nq); accelerations (K, nv) of control steps."""
    apart = tangent.difference(poses[1:], poses[:-1])
    shares = np.arange(substeps) / substeps
    steps = (shares[:, None] * apart[:, None]).reshape(-1, tangent.nv)
    qpos = tangent.moved(np.repeat(poses[:-1], substeps, axis=0), steps)
    qpos = np.concatenate([qpos, poses[-1:]])
    rates = np.repeat(apart / (substeps * dt), substeps, axis=0)
    qvel = np.concatenate([rates[:1], rates])  # that of the step that leads to a row
    bend = np.concatenate(
        [np.repeat(acceleration[:-1], substeps, axis=0), acceleration[-1:]]
    )
    return qpos, qvel, np.zeros_like(qvel), bend


assert len(POINTS[6]) == TRACKERS
