"""Motions of many people as training sequences for trackers: extraction, and their file.

Each clip is retargeted to human23 with the performer's own proportions
(`ambulo.ik.trackers.shape`), at one rate. Faulty frames are cut out. A file is an NPZ of plain
arrays and a JSON header; it contains no code.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Singles
from ambulo.configs.base import Config
from ambulo.configs.errors import IKError, MotionFileError
from ambulo.configs.jobs import Apply, here
from ambulo.ik.data import SEQUENCE_FPS
from ambulo.ik.data.array_file import load_arrays, save_arrays
from ambulo.ik.trackers.shape import BodyShape, shape_of, sized_skeleton
from ambulo.motion.contacts import foot_contacts
from ambulo.motion.datasets.clips import Clip
from ambulo.motion.datasets.prepare import CUTOFF_RATIO, at_most, finite
from ambulo.motion.filters import smoothed
from ambulo.motion.formats.disk import rules_of
from ambulo.motion.kinematics import motion_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.operations import resample
from ambulo.motion.retargeting.retarget import retarget
from ambulo.motion.retargeting.source import read_source
from ambulo.motion.retargeting.twists import untwisted
from ambulo.motion.rotations import quat_angle

logger = logging.getLogger(__name__)

CUTOFF = 12.0
"""Low-pass of all motions, [Hz]: marker noise is above, foot strikes are below. At most
`CUTOFF_RATIO` of a slower file's own rate."""
MAX_SPEED = 12.0
"""Largest speed of a joint relative to the hips, [m/s]; faster ones are capture errors.
Pitchers' hands reach 10."""
MAX_ROOT_SPEED = 7.0
"""Largest speed of the hips, [m/s]."""
MAX_TURN = np.deg2rad(2000.0)
"""Largest angular speed of a joint, [rad/s]."""
MAX_DEPTH = 0.15
"""Largest depth of a foot below the ground, [m]."""
MIN_SECONDS = 1.0
"""Shortest kept piece, [s]."""
AROUND = 0.1
"""Time that is cut out on each side of an error, [s]."""


class SequenceRecord(Config):
    """Origin of one sequence."""

    name: str
    """Subject and trial, such as "02_01"."""
    subject: str
    """The performer."""
    activity: str
    """The activity label."""
    shape: tuple[float, float, float]
    """Proportions of the performer; see `ambulo.ik.trackers.shape`."""
    frames: int
    """Its length."""


class SequenceHeader(Config):
    """The header of a file of sequences."""

    format: Literal["ambulo-tracker-sequences"] = "ambulo-tracker-sequences"
    """Identifies the file format."""
    version: Literal[1] = 1
    """Version of the format."""
    fps: float
    """Rate of the frames, [Hz]."""
    clips: tuple[SequenceRecord, ...]
    """All sequences, in the order of their frames."""


@dataclass(frozen=True, eq=False)
class SequenceData:
    """Sequences of N frames in all, one after the other, on human23."""

    header: SequenceHeader
    """Rate and sequences."""
    root: Singles
    """World position of the pelvis, the ground at height 0, [m]. Shape (N, 3)."""
    rotations: Singles
    """Local rotations, wxyz. Shape (N, 23, 4)."""
    contacts: NDArray[np.uint8]
    """Whether left and right foot are in contact. Shape (N, 2)."""

    def __len__(self) -> int:
        """The number of sequences."""
        return len(self.header.clips)

    @property
    def starts(self) -> NDArray[np.int64]:
        """The first frame of each sequence, and the end of the last. Shape (len + 1,)."""
        return np.cumsum([0, *(clip.frames for clip in self.header.clips)])

    @property
    def subjects(self) -> tuple[str, ...]:
        """Every performer once, sorted."""
        return tuple(sorted({clip.subject for clip in self.header.clips}))

    def of_subjects(self, subjects: Iterable[str]) -> SequenceData:
        """The sequences of these performers."""
        chosen = set(subjects)
        taken = [clip.subject in chosen for clip in self.header.clips]
        return self[np.flatnonzero(taken)]

    def __getitem__(self, rows: NDArray[np.int64]) -> SequenceData:
        """The sequences of these indices."""
        starts = self.starts
        frames = np.concatenate(
            [
                np.zeros(0, np.int64),
                *(np.arange(starts[i], starts[i + 1]) for i in rows),
            ]
        )
        clips = tuple(self.header.clips[int(i)] for i in rows)
        return SequenceData(
            SequenceHeader(fps=self.header.fps, clips=clips),
            self.root[frames],
            self.rotations[frames],
            self.contacts[frames],
        )

    def motion(self, index: int) -> Motion:
        """One sequence, on human23 with the performer's proportions."""
        clip, start = self.header.clips[index], self.starts[index]
        part = slice(start, start + clip.frames)
        return Motion(
            sized_skeleton(BodyShape(*clip.shape)),
            self.header.fps,
            self.root[part].astype(np.float64),
            self.rotations[part].astype(np.float64),
            name=clip.name,
        )


@dataclass
class SequenceReport:
    """Statistics of an extraction."""

    frames: int = 0
    """Frames of all usable files, at the sequences' rate."""
    cut: dict[str, int] = field(default_factory=dict)
    """Frames cut out of each clip that lost any."""
    errors: list[MotionFileError] = field(default_factory=list)
    """Files that could not be used."""


@dataclass(frozen=True)
class _Options:
    """Settings for reading a clip."""

    fps: float
    axes: str
    rest_pose: str


def sized_motion(
    path: Path,
    fps: float = SEQUENCE_FPS,
    *,
    asf: Path | None = None,
    axes: str = "auto",
    rest_pose: str = "auto",
) -> tuple[Motion, BodyShape]:
    """A motion file on human23 with the performer's proportions, at `fps`.

    Args:
        path: Any motion file.
        fps: Rate, [Hz].
        asf: The skeleton of an AMC file, if it is not beside it.
        axes: Axes of the file, as for `read_source`.
        rest_pose: Rest pose of its skeleton, as for `read_source`.

    Raises:
        MotionFileError: The file cannot be used.
    """
    source = read_source(path, asf=asf, drop_tpose=True, axes=axes, rest_pose=rest_pose)
    motion = source.logged()
    with rules_of(path):
        shape = shape_of(motion.skeleton)
        motion = at_most(untwisted(motion), fps)
        motion = retarget(motion, sized_skeleton(shape)).motion
        cutoff = min(CUTOFF, CUTOFF_RATIO * motion.fps)
        if motion.fps < fps * 0.999:
            motion = resample(motion, fps)
        if len(motion) > 1:
            motion = smoothed(motion, min(cutoff, CUTOFF_RATIO * fps))
    return finite(motion, path), shape


def faulty_frames(motion: Motion) -> Bools:
    """Mask of faulty frames (T,): too fast, or feet deep in the ground."""
    positions = motion_kinematics(motion)[0]
    bad = np.zeros(len(motion), dtype=np.bool_)
    bad |= positions[..., 2].min(axis=1) < -MAX_DEPTH
    if len(motion) > 1:
        steps = np.diff(positions, axis=0) * motion.fps
        root = np.linalg.norm(steps[:, :1], axis=-1)
        limbs = np.linalg.norm(steps - steps[:, :1], axis=-1).max(axis=1)
        turns = quat_angle(motion.rotations[:-1], motion.rotations[1:]).max(axis=1)
        fast = (limbs > MAX_SPEED) | (root[:, 0] > MAX_ROOT_SPEED)
        fast |= turns * motion.fps > MAX_TURN
        bad[1:] |= fast
        bad[:-1] |= fast
    reach = round(AROUND * motion.fps)
    return np.convolve(bad, np.ones(2 * reach + 1), "same") > 0.5


def extract_sequences(
    clips: Sequence[Clip],
    fps: float = SEQUENCE_FPS,
    *,
    progress: Iterable[Clip] | None = None,
    axes: str = "auto",
    rest_pose: str = "auto",
    apply: Apply = here,
) -> tuple[SequenceData, SequenceReport]:
    """The sequences of `clips`, faulty frames cut out.

    Args:
        clips: Clips to read.
        fps: Rate, [Hz].
        progress: Wraps the clips to show progress.
        axes: Axes of the files, as for `read_source`.
        rest_pose: Rest poses of their skeletons, as for `read_source`.
        apply: Applies the work to the clips.

    Raises:
        IKError: None of them can be used.
    """
    report = SequenceReport()
    records: list[SequenceRecord] = []
    arrays: list[tuple[Singles, Singles, NDArray[np.uint8]]] = []
    options = _Options(fps, axes, rest_pose)
    found = apply(
        _pieces, options, clips if progress is None else progress, lambda c: str(c.path)
    )
    for pieces in found:
        if isinstance(pieces, MotionFileError):
            logger.warning("%s", pieces)
            report.errors.append(pieces)
            continue
        frames, kept = pieces
        report.frames += frames
        left = frames - sum(record.frames for record, _ in kept)
        if left:
            name = kept[0][0].name if kept else "a clip shorter than a second"
            report.cut[name] = report.cut.get(name, 0) + left
        for record, values in kept:
            records.append(record)
            arrays.append(values)
    if not records:
        raise IKError("no sequence: none of the motion files can be used")
    header = SequenceHeader(fps=fps, clips=tuple(records))
    joined = [np.concatenate(values) for values in zip(*arrays, strict=True)]
    return SequenceData(header, *joined), report


_Piece = tuple[SequenceRecord, tuple[Singles, Singles, NDArray[np.uint8]]]


def _pieces(
    options: _Options, clip: Clip
) -> tuple[int, list[_Piece]] | MotionFileError:
    """Frame count of a clip and its faultless pieces, or an error if it is unusable."""
    try:
        motion, shape = sized_motion(
            clip.path, options.fps, asf=clip.asf, axes=options.axes,
            rest_pose=options.rest_pose,
        )  # fmt: skip
    except MotionFileError as error:
        return error
    bad = faulty_frames(motion)
    contacts = foot_contacts(motion).astype(np.uint8)
    edges = np.flatnonzero(np.diff(np.concatenate([[True], bad, [True]]).astype(int)))
    pieces: list[_Piece] = []
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        if stop - start < MIN_SECONDS * options.fps:
            continue
        trunk, arm, leg = shape.ratios.tolist()
        record = SequenceRecord(
            name=clip.name, subject=clip.subject, activity=clip.activity,
            shape=(trunk, arm, leg), frames=int(stop - start),
        )  # fmt: skip
        pieces.append(
            (
                record,
                (
                    motion.root_positions[start:stop].astype(np.float32),
                    motion.rotations[start:stop].astype(np.float32),
                    contacts[start:stop],
                ),
            )
        )
    return len(motion), pieces


_TYPES = {"root": "f4", "rotations": "f4", "contacts": "u1"}


def save_sequences(path: str | Path, data: SequenceData) -> None:
    """Write `data` atomically."""
    save_arrays(path, data)


def load_sequences(path: str | Path) -> SequenceData:
    """Return the sequences in the file `path`; `IKError` names the problem."""

    def shapes(header: SequenceHeader, _: object) -> dict[str, tuple[int, ...]]:
        count = sum(clip.frames for clip in header.clips)
        return {"root": (count, 3), "rotations": (count, 23, 4), "contacts": (count, 2)}

    header, arrays = load_arrays(path, SequenceHeader, "sequences", _TYPES, shapes)
    return SequenceData(header, **arrays)
