"""Windows of test clips: what a predictor is given, and what then really happened.

BodyPoses are human23 numbers (56) with everything that the scores need computed from them once.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import percentile_filter

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import MotionError
from ambulo.evaluate.motion.metrics import horizon_frames
from ambulo.motion import human23
from ambulo.motion.contacts import GROUND_PERCENTILE, GROUND_SECONDS
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_rotvec,
    quat_from_yaw,
    quat_multiply,
    quat_rotate,
    quat_to_rotvec,
    yaw_of,
)
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

Rows = slice | Ints | NDArray[np.bool_]
"""Chooses some of the windows."""

MAJOR_JOINTS = (
    "TibiaR", "TalusR", "FootThumbR", "TibiaL", "TalusL", "FootThumbL",
    "Torso", "Neck", "Head",
    "ShoulderR", "ArmR", "ForeArmR", "HandR",
    "ShoulderL", "ArmL", "ForeArmL", "HandL",
)  # fmt: skip
"""Joints of the position error: pelvis, hips and spine stand still when the root's motion
is removed, and the little toes follow the big ones."""
FOOT_ROWS = (MAJOR_JOINTS.index("FootThumbR"), MAJOR_JOINTS.index("FootThumbL"))
"""Major joints that must not move while a foot stands."""


@dataclass(frozen=True, eq=False)
class BodyPoses:
    """Poses of human23 with leading shape (...)."""

    positions: Floats
    """The 56 numbers, see `ambulo.motion.human23`. Shape (..., 56)."""
    rotations: Floats
    """Local rotations, the root's first, wxyz. Shape (..., 23, 4)."""
    world: Floats
    """Major joints in the world, [m]. Shape (..., 17, 3)."""
    local: Floats
    """Major joints in the root's frame, [m]. Shape (..., 17, 3)."""

    def __getitem__(self, index: Any) -> Self:
        """The same poses with an index applied to the leading shape."""
        return type(self)(*(getattr(self, f.name)[index] for f in fields(self)))


@functools.cache
def body() -> Skeleton:
    """The canonical human23 skeleton."""
    return load_skeleton("human23")


def poses_of(positions: Floats) -> BodyPoses:
    """Everything about poses (..., 56)."""
    skeleton = body()
    positions = np.asarray(positions, np.float64)
    rotations = human23.local_rotations(positions)
    places, turned = forward_kinematics(skeleton, positions[..., 3:6], rotations)
    major = [skeleton.index(name) for name in MAJOR_JOINTS]
    world = places[..., major, :]
    back = quat_conjugate(turned[..., :1, :])
    local = quat_rotate(back, world - positions[..., None, 3:6])
    return BodyPoses(positions, rotations, world, local)


@dataclass(frozen=True, eq=False)
class EvalClip:
    """A clip to cut windows from."""

    name: str
    """Subject and trial, such as "02_01"."""
    activity: str
    """Activity, such as "walk"."""
    positions: Floats
    """Shape (T, 56)."""


@dataclass(frozen=True)
class EvalData:
    """Clips as arrays."""

    judged: list[EvalClip]
    """Clips that are scored."""
    train: list[EvalClip]
    """Clips that baselines are fitted to."""
    validation: list[EvalClip]
    """Clips that the strength of baselines is chosen on."""

    def has_windows(self, length: int) -> bool:
        """Whether every part that is used has a clip of `length` frames."""
        parts = [self.judged, *filter(None, (self.train, self.validation))]
        return all(any(len(c.positions) >= length for c in part) for part in parts)


@dataclass(frozen=True)
class WindowPlan:
    """Windows that are judged, and the measures reported of them."""

    history: int
    """States that a predictor is given; a window knows one frame more."""
    fps: float
    """Frames a second of all clips, [Hz]."""
    horizons: tuple[int, ...]
    """Horizons of the errors, [ms]."""
    stride: int = 5
    """Frames between the starts of windows of a clip."""
    limit: int | None = None
    """Most windows; None for all."""
    seed: int = 0
    """Seed of windows and intervals."""

    @property
    def steps(self) -> int:
        """Frames to the furthest horizon."""
        return max(horizon_frames(self.horizons, self.fps))


@dataclass(frozen=True, eq=False)
class Windows:
    """B windows of H known frames and the F that came after them."""

    past: BodyPoses
    """Leading shape (B, H): one frame more than there are states, for the first velocity
    takes two."""
    future: BodyPoses
    """Leading shape (B, F)."""
    clips: Ints
    """The clip of each window. Shape (B,)."""
    starts: Ints
    """Frame of the clip at which each window starts. Shape (B,)."""
    ground: Floats
    """Height of each foot joint when it stands, [m], in the last known frame and all
    later ones. Shape (B, F + 1, 2)."""
    names: tuple[str, ...]
    """Names of the clips."""
    activities: tuple[str, ...]
    """Activities of the clips."""
    fps: float
    """Frames a second, [Hz]."""

    def __len__(self) -> int:
        """The number of windows."""
        return len(self.clips)

    @property
    def steps(self) -> int:
        """Frames to predict, F."""
        return self.future.positions.shape[1]

    def __getitem__(self, rows: Rows) -> Windows:
        """Some of the windows."""
        own = ("past", "future", "clips", "starts", "ground")
        return replace(self, **{name: getattr(self, name)[rows] for name in own})

    def activity_of_windows(self) -> NDArray[np.str_]:
        """The activity of each window. Shape (B,)."""
        return np.array(self.activities, dtype=np.str_)[self.clips]


def cut_windows(
    clips: Sequence[EvalClip],
    plan: WindowPlan,
    steps: int,
    *,
    limit: int | None = None,
    seed: int = 0,
) -> Windows:
    """All windows of `plan` with `steps` frames to predict, or `limit` drawn with `seed`.

    Clips shorter than one window give none; `MotionError` when no clip is long enough.
    """
    history = plan.history + 1
    length = history + steps
    places = [
        (number, start)
        for number, clip in enumerate(clips)
        for start in range(0, len(clip.positions) - length + 1, plan.stride)
    ]
    if not places:
        longest = max((len(clip.positions) for clip in clips), default=0)
        raise MotionError(
            f"no clip has the {length} frames of a window ({history} known, {steps} to "
            f"predict); the longest of {len(clips)} has {longest}"
        )
    if limit is not None and limit < len(places):
        drawn = np.random.default_rng(seed).choice(len(places), limit, replace=False)
        places = [places[k] for k in sorted(drawn.tolist())]
    used = sorted({number for number, _ in places})
    past, future, ground, rows = [], [], [], []
    for row, number in enumerate(used):
        whole = poses_of(clips[number].positions)
        starts = np.array([start for n, start in places if n == number])
        past.append(whole[starts[:, None] + np.arange(history)])
        future.append(whole[starts[:, None] + np.arange(history, length)])
        level = standing_heights(whole.world[:, FOOT_ROWS, 2], plan.fps)
        ground.append(level[starts[:, None] + np.arange(history - 1, length)])
        rows.append(np.column_stack([np.full(len(starts), row), starts]))
    where = np.concatenate(rows)
    return Windows(
        _joined(past),
        _joined(future),
        where[:, 0],
        where[:, 1],
        np.concatenate(ground),
        tuple(clips[number].name for number in used),
        tuple(clips[number].activity for number in used),
        plan.fps,
    )


def standing_heights(heights: Floats, fps: float) -> Floats:
    """The level to which each foot joint comes down around each frame, [m].

    Captured floors tilt, so the level is local in time, as in `ambulo.motion.contacts`.
    Shape (T, K) -> (T, K).
    """
    size = (2 * round(0.5 * GROUND_SECONDS * fps) + 1, 1)
    return percentile_filter(heights, GROUND_PERCENTILE, size=size, mode="nearest")


def differences(before: Floats, after: Floats) -> Floats:
    """Velocity with which `human23.integrate` turns `before` into `after` in one second.

    Shapes (..., 56); rotations as rotation vectors, [rad], root in the world, [m].
    """
    pair = np.stack(np.broadcast_arrays(before, after), axis=-2)
    found: Floats = human23.velocities(pair, 1.0)[..., 1, :]
    return found


def causal_states(positions: Floats, fps: float) -> Floats:
    """States (B, T, 112) of poses (B, T, 56): positions, then velocities.

    Velocities are those of `human23.velocities`, from the frame before: no state tells
    the frame after it. The first row has the second's velocity.
    """
    velocities = human23.velocities(positions, fps)
    return np.concatenate([positions, velocities], axis=-1)


@dataclass(frozen=True, eq=False)
class Heading:
    """A ground frame of each window: where its last known pose stands and faces."""

    yaw: Floats
    """[rad]. Shape (B,)."""
    place: Floats
    """x and y in the world, [m]. Shape (B, 2)."""

    @classmethod
    def of(cls, poses: Floats) -> Heading:
        """The frames of poses (B, 56)."""
        return cls(yaw_of(quat_from_rotvec(poses[:, :3])), poses[:, 3:5])

    def inside(self, positions: Floats) -> Floats:
        """Poses (B, T, 56) in these frames instead of the world."""
        moved = positions.copy()
        moved[..., 3:5] -= self.place[:, None]
        return self._turned(moved, -self.yaw)

    def outside(self, positions: Floats) -> Floats:
        """Poses (B, T, 56) of these frames in the world; undoes `inside`."""
        moved = self._turned(positions.copy(), self.yaw)
        moved[..., 3:5] += self.place[:, None]
        return moved

    def velocities_inside(self, velocities: Floats) -> Floats:
        """Velocities (B, T, 56), the root's linear one turned out of the world."""
        moved = velocities.copy()
        moved[..., 3:6] = quat_rotate(
            quat_from_yaw(-self.yaw)[:, None], velocities[..., 3:6]
        )
        return moved

    def points_inside(self, points: Floats) -> Floats:
        """Points (B, T, K, 3) of the world in these frames, [m]."""
        moved = points.copy()
        moved[..., :2] -= self.place[:, None, None]
        return quat_rotate(quat_from_yaw(-self.yaw)[:, None, None], moved)

    def points_outside(self, points: Floats) -> Floats:
        """Points (B, T, K, 3) of these frames in the world; undoes `points_inside`."""
        moved = quat_rotate(quat_from_yaw(self.yaw)[:, None, None], points)
        moved[..., :2] += self.place[:, None, None]
        return moved

    @staticmethod
    def _turned(positions: Floats, yaw: Floats) -> Floats:
        turn = quat_from_yaw(yaw)[:, None]
        root = quat_multiply(turn, quat_from_rotvec(positions[..., :3]))
        positions[..., :3] = quat_to_rotvec(root)
        positions[..., 3:6] = quat_rotate(turn, positions[..., 3:6])
        return positions


def _joined(parts: Sequence[BodyPoses]) -> BodyPoses:
    return BodyPoses(
        *(
            np.concatenate([getattr(p, f.name) for p in parts])
            for f in fields(BodyPoses)
        )
    )
