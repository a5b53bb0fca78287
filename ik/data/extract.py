"""Poses of clips: every clip on the rig, at one rate, inside the limits, thinned.

Clips go through the same steps as all motions (low pass, resampling, retargeting). Rotations
outside the joint limits are clamped and counted. Frames too far outside, which clamping would
change too much, are skipped.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.errors import IKError, MotionFileError
from ambulo.configs.jobs import Apply, here
from ambulo.ik.data import POSE_FPS, STEP
from ambulo.ik.data.pose_data import (
    ClipRecord,
    PoseData,
    PoseHeader,
    in_own_frame,
    unique_poses,
)
from ambulo.ik.limits import clamp, violation
from ambulo.ik.pose import Pose, fk
from ambulo.ik.rig import Rig
from ambulo.motion.contacts import foot_contacts
from ambulo.motion.datasets.clips import Clip
from ambulo.motion.datasets.prepare import motion_on

logger = logging.getLogger(__name__)

FAR = np.deg2rad(30.0)
"""A frame with a joint further outside its limits than this is skipped, [rad]: it is a capture
error, and clamping would make another pose of it."""

MOST = 0.5
"""A clip with more than this fraction of such frames is not used at all."""

_ROUNDING = np.deg2rad(0.01)
"""Violations below this are rounding, [rad]."""


@dataclass(frozen=True)
class Extraction:
    """Poses extracted from clips, with statistics."""

    data: PoseData
    """The poses."""
    frames: int
    """Frames of all clips at the poses' rate, before thinning."""
    left_out: dict[str, int]
    """Number of skipped frames by clip: those too far outside the limits, or all frames if most
    of them are."""
    clamped: float
    """Fraction of the other frames with a joint outside its limits."""
    joints_clamped: float
    """Fraction of all joints of these frames outside."""
    mean_degrees: float
    """Mean excess of those joints beyond their limits, [deg]."""
    worst: tuple[str, float]
    """The joint farthest outside its limits, and its excess, [deg]."""
    moved: float
    """Mean displacement of joints by clamping, in clamped frames, [m]."""
    errors: tuple[MotionFileError, ...]
    """Files that could not be used."""


def extract(
    clips: Sequence[Clip],
    rig: Rig,
    fps: float = POSE_FPS,
    *,
    step: float = STEP,
    progress: Iterable[Clip] | None = None,
    strict: bool = False,
    cached: bool = True,
    cache_folder: str | Path | None = None,
    axes: str = "auto",
    rest_pose: str = "auto",
    apply: Apply = here,
) -> Extraction:
    """The poses of `clips` on `rig`.

    Args:
        clips: Clips to read.
        rig: The rig.
        fps: Rate of the poses, [Hz].
        step: Thinning: smallest displacement of the joint that moves most since the last kept
            pose of the clip, [m]; 0 keeps all. Equal poses of all clips are kept once.
        progress: Wraps the clips to show progress (such as `tqdm`).
        strict: A file that cannot be used is an error.
        cached: As for `ambulo.motion.datasets.prepare.motion_on`.
        cache_folder: As for `ambulo.motion.datasets.prepare.motion_on`.
        axes: As for `ambulo.motion.datasets.prepare.motion_on`.
        rest_pose: As for `ambulo.motion.datasets.prepare.motion_on`.
        apply: Applies the work to the clips; the poses do not depend on it.
    """
    errors: list[MotionFileError] = []
    records: list[ClipRecord] = []
    parts: list[tuple[Pose, NDArray[np.int32], NDArray[np.uint8]]] = []
    tally = _Tally(rig)
    how = _Reading(rig, fps, step, cached, cache_folder, axes, rest_pose)
    for found in apply(
        _kept, how, clips if progress is None else progress, lambda clip: str(clip.path)
    ):
        if isinstance(found, MotionFileError):
            if strict:
                raise found
            logger.warning("%s", found)
            errors.append(found)
            continue
        tally.add(found)
        if len(found.rows):
            records.append(found.record)
            parts.append((found.pose, found.rows, found.stands))
    if not parts:
        raise IKError(
            f"none of {len(clips)} clips can be used ({len(errors)} cannot be read, "
            f"{len(tally.left_out)} are mostly outside the rig's limits)"
        )
    counts = [len(rows) for _, rows, _ in parts]
    data = PoseData(
        PoseHeader(rig=rig.name, fps=fps, clips=tuple(records)),
        np.concatenate([pose.root for pose, _, _ in parts]).astype(np.float32),
        np.concatenate([pose.rotations for pose, _, _ in parts]).astype(np.float32),
        np.repeat(np.arange(len(parts), dtype=np.int32), counts),
        np.concatenate([rows for _, rows, _ in parts]),
        np.concatenate([stands for _, _, stands in parts]),
    )
    if step > 0.0:
        data = data[unique_poses(rig, data.pose)]
    return tally.report(data, errors)


@dataclass(frozen=True)
class _Reading:
    """Settings of the extraction; see `extract`."""

    rig: Rig
    fps: float
    step: float
    cached: bool
    cache_folder: str | Path | None
    axes: str
    rest_pose: str


@dataclass(frozen=True, eq=False)
class _Kept:
    """The poses of a clip, and the effect of the limits."""

    record: ClipRecord
    """The clip."""
    pose: Pose
    """The kept poses."""
    rows: NDArray[np.int32]
    """Their frames."""
    stands: NDArray[np.uint8]
    """Their foot contacts."""
    frames: int
    """Frames of the clip."""
    used: int
    """Frames not too far outside the limits."""
    outside: NDArray[np.int64]
    """Number of these frames with each joint outside."""
    frames_outside: int
    """Number of frames with any joint outside."""
    far: NDArray[np.float64]
    """Largest excess of each joint, [rad]."""
    sum: float
    """Sum of all excesses, [rad]."""
    moved: float
    """Sum over frames of the mean displacement of joints by clamping, [m]."""


def _kept(how: _Reading, clip: Clip) -> _Kept | MotionFileError:
    """The thinned poses of `clip` inside the limits, or an error if it is unusable."""
    rig = how.rig
    try:
        motion = motion_on(
            clip.path, rig.skeleton, how.fps, asf=clip.asf, cached=how.cached,
            cache_folder=how.cache_folder, axes=how.axes, rest_pose=how.rest_pose,
        )  # fmt: skip
    except MotionFileError as error:
        return error
    pose = Pose(motion.root_positions, motion.rotations)
    far = violation(rig, pose.rotations)
    usable = (far <= FAR).all(axis=1)
    if usable.mean() < 1.0 - MOST:
        usable[:] = False
    far[~usable] = 0.0
    bad = far > _ROUNDING
    inside = Pose(pose.root, clamp(rig, pose.rotations))
    frames = bad.any(axis=1)
    moved = 0.0
    if frames.any():
        way = fk(rig, inside[frames])[0] - fk(rig, pose[frames])[0]
        moved = float(np.linalg.norm(way, axis=-1).mean(axis=1).sum())
    rows = np.zeros(0, dtype=np.int64)
    stands = np.zeros((len(pose), 2), dtype=np.uint8)
    if usable.any():
        rows = _thinned(rig, inside, usable, how.step)
        stands = foot_contacts(motion).astype(np.uint8)
    return _Kept(
        record=ClipRecord(name=clip.name, subject=clip.subject, activity=clip.activity),
        pose=inside[rows],
        rows=rows.astype(np.int32),
        stands=stands[rows],
        frames=len(pose),
        used=int(usable.sum()),
        outside=bad.sum(axis=0),
        frames_outside=int(frames.sum()),
        far=far.max(axis=0),
        sum=float(far[bad].sum()),
        moved=moved,
    )


def _thinned(
    rig: Rig, pose: Pose, usable: NDArray[np.bool_], step: float
) -> NDArray[np.int64]:
    """Indices of the usable poses that differ from the previously kept one."""
    rows = np.flatnonzero(usable)
    if step <= 0.0:
        return rows
    places = fk(rig, in_own_frame(rig, pose)[1])[0]
    kept = [int(rows[0])]
    for i in rows[1:].tolist():
        way = places[i] - places[kept[-1]]
        if float((way * way).sum(axis=-1).max()) >= step * step:
            kept.append(i)
    return np.array(kept)


class _Tally:
    """Sums up the effect of the limits."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.frames = self.frames_used = self.frames_outside = 0
        self.left_out: dict[str, int] = {}
        self.outside = np.zeros(len(rig), dtype=np.int64)
        self.far = np.zeros(len(rig))
        self.sum = self.moved = 0.0

    def add(self, clip: _Kept) -> None:
        """Add a clip."""
        if clip.used < clip.frames:
            self.left_out[clip.record.name] = clip.frames - clip.used
        self.frames += clip.frames
        self.frames_used += clip.used
        self.frames_outside += clip.frames_outside
        self.outside += clip.outside
        self.far = np.maximum(self.far, clip.far)
        self.sum += clip.sum
        self.moved += clip.moved

    def report(self, data: PoseData, errors: Sequence[MotionFileError]) -> Extraction:
        """Return the statistics with the poses."""
        worst = int(self.far.argmax())
        return Extraction(
            data=data,
            frames=self.frames,
            left_out=self.left_out,
            clamped=self.frames_outside / self.frames_used,
            joints_clamped=float(self.outside.sum())
            / (self.frames_used * len(self.rig)),
            mean_degrees=float(np.rad2deg(self.sum / max(int(self.outside.sum()), 1))),
            worst=(self.rig.skeleton.joints[worst], float(np.rad2deg(self.far[worst]))),
            moved=self.moved / max(self.frames_outside, 1),
            errors=tuple(errors),
        )
