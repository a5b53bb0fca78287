"""Recordings made from captured motions, for tests and examples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.errors import IKError
from ambulo.ik.rig import TARGETS
from ambulo.ik.trackers.layout import (
    TRACKED,
)
from ambulo.ik.trackers.recording import Recording
from ambulo.ik.trackers.recording_lines import FORMAT, VERSION, RecordingHeader
from ambulo.ik.trackers.shape import BodyShape, shape_of, sized_skeleton
from ambulo.ik.trackers.sizes import (
    TRACKERS,
)
from ambulo.motion.kinematics import motion_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.operations import resample
from ambulo.motion.retargeting.retarget import retarget
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply
from ambulo.motion.skeletons import load_skeleton

THREE_POINTS = ("Head", "LeftHand", "RightHand")
"""A headset and two controllers."""


def on_human23(motion: Motion) -> tuple[Motion, BodyShape]:
    """Return a motion on human23 with its own proportions, and the proportions.

    Raises:
        MotionError: Its skeleton lacks hips, thighs or legs, or is not a person's.
    """
    shape = shape_of(motion.skeleton)
    if motion.skeleton.joints == load_skeleton("human23").joints:
        return motion, shape
    return retarget(motion, sized_skeleton(shape)).motion, shape


def record_motion(
    motion: Motion,
    trackers: Sequence[str] = THREE_POINTS,
    *,
    axes: str = "ambulo",
    rate: float | None = None,
    noise: float = 0.0,
    turn_noise: float = 0.0,
    dropouts: float = 0.0,
    dropout_seconds: float = 0.5,
    seed: int = 0,
    with_shape: bool = True,
) -> Recording:
    """Return the readings of devices on the tracked joints of a motion.

    Args:
        motion: A motion of any skeleton whose joints have roles; others than human23 are
            retargeted.
        trackers: Names of `ambulo.ik.rig.TARGETS`.
        axes: Convention of the file; the devices have its default mounts.
        rate: Rows per second; None: the motion's.
        noise: Standard deviation of positions along each axis, [m].
        turn_noise: Standard deviation of rotations about each axis, [rad].
        dropouts: Rate at which a tracker is lost (Poisson process), [1/s].
        dropout_seconds: Duration of a dropout, [s].
        seed: Seed of noise and dropouts.
        with_shape: Whether the header has the proportions.

    Raises:
        IKError: A tracker is unknown, or a number is invalid.
        MotionError: The motion cannot be used.
    """
    if unknown := [name for name in trackers if name not in TARGETS]:
        raise IKError(f"unknown tracker {unknown[0]!r} (valid: {', '.join(TARGETS)})")
    for what, value in (
        ("noise", noise),
        ("turn_noise", turn_noise),
        ("dropouts", dropouts),
        ("dropout_seconds", dropout_seconds),
    ):
        if not 0.0 <= value < np.inf:
            raise IKError(f"{what} must be at least 0, got {value:g}")
    body, shape = on_human23(motion)
    if rate is not None:
        body = resample(body, rate)
    rng = np.random.default_rng(seed)
    positions, rotations = (part[:, TRACKED] for part in motion_kinematics(body))
    given = {"trunk": shape.trunk, "arm": shape.arm, "leg": shape.leg}
    header = RecordingHeader.model_validate(
        {
            "format": FORMAT,
            "version": VERSION,
            "convention": axes,
            "trackers": tuple(trackers),
            "shape": given if with_shape else None,
            "name": motion.name[:200],
        }
    )
    positions, rotations = header.joint_mounts(shape).devices(positions, rotations)
    positions = positions + noise * rng.standard_normal(positions.shape)
    shake = turn_noise * rng.standard_normal(positions.shape)
    rotations = quat_multiply(rotations, quat_from_rotvec(shake))
    present = np.zeros((len(body), TRACKERS), dtype=np.bool_)
    present[:, list(header.rows)] = True
    present &= ~_lost(rng, len(body), body.fps, dropouts, dropout_seconds)
    return Recording(
        header, body.times, *_blank(positions, rotations, present), present
    )


def _lost(
    rng: np.random.Generator, rows: int, fps: float, rate: float, seconds: float
) -> Bools:
    """Mask of rows (T, 6) in which each tracker is lost."""
    begins = rng.random((rows, TRACKERS)) < 1.0 - np.exp(-rate / fps)
    span = max(1, round(seconds * fps))
    since = np.cumsum(begins, axis=0)
    before = np.zeros_like(since)
    before[span:] = since[:-span]
    result: Bools = since > before
    return result


def _blank(
    positions: Floats, rotations: Floats, present: Bools
) -> tuple[Floats, Floats]:
    """Poses with those of absent trackers as in a file: at the origin, unrotated."""
    one = np.array([1.0, 0.0, 0.0, 0.0])
    there = present[..., None]
    return np.where(there, positions, 0.0), np.where(there, rotations, one)
