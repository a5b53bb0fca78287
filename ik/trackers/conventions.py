"""Poses of tracked devices in the axes of other programs, and the joints that they track.

| convention | up | ahead | right | hand | unit |
|---|---|---|---|---|---|
| `ambulo` | +Z | +X | -Y | right | metre |
| `openxr` | +Y | -Z | +X | right | metre |
| `unity` | +Y | +Z | +X | left | metre |
| `unreal` | +Z | +X | +Y | left | centimetre |

A convention is a signed permutation A of axes and a unit: a point p becomes s A p, a rotation R
becomes A R A', so that the vector part of a quaternion becomes det(A) A v. The same holds for a
device's own axes, so that `A` also turns what "ahead" and "right" of a device mean.

In `openxr`, `unity` and `unreal` poses are those of devices:

- Head: the view pose, between the eyes, looking ahead. In `unity` and `unreal` the camera's.
- Hands: the grip pose (OpenXR 1.1, section "Standard pose identifiers"): its origin is the
  centroid of the palm of a hand that holds the device; its -Z runs through the tube that the
  closed fingers form, from the little finger to the thumb; its +X is normal to the palm,
  away from the palm in the left hand, into it in the right; so its +Y points to the wrist.
  `unity` and `unreal` have the same device with their own axes.
- Feet and hips: the joint itself with its axes at rest, unless mounts are given.

In `ambulo` poses are those of human23's joints. The pose of a joint in the frame of its device
is its *mount*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.errors import IKError, nearest
from ambulo.ik.avatar.layout import EYES
from ambulo.ik.trackers.layout import (
    HEAD_ROW,
    LEFT_HAND,
    RIGHT_HAND,
    TRACKED,
)
from ambulo.ik.trackers.shape import BodyShape, sized_skeleton
from ambulo.ik.trackers.sizes import TRACKERS
from ambulo.motion.kinematics import rest_positions
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_yaw,
    quat_multiply,
    quat_normalize,
    quat_rotate,
    yaw_of,
)


@dataclass(frozen=True, eq=False)
class Convention:
    """Axes, unit and meaning of poses."""

    name: str
    """Its name in files."""
    axes: Floats
    """Rows: ahead, left and up of Ambulo in the convention's axes. Shape (3, 3)."""
    unit: float
    """Its unit of length, [m]."""
    devices: bool
    """Whether its poses are those of devices rather than of joints."""

    @property
    def parity(self) -> float:
        """1.0 where its axes are right-handed, else -1.0."""
        return float(np.linalg.det(self.axes).round())


CONVENTIONS: Final = {
    name: Convention(name, np.array(axes, dtype=np.float64), unit, devices)
    for name, axes, unit, devices in (
        ("ambulo", ((1, 0, 0), (0, 1, 0), (0, 0, 1)), 1.0, False),
        ("openxr", ((0, 0, -1), (-1, 0, 0), (0, 1, 0)), 1.0, True),
        ("unreal", ((1, 0, 0), (0, -1, 0), (0, 0, 1)), 0.01, True),
        ("unity", ((0, 0, 1), (-1, 0, 0), (0, 1, 0)), 1.0, True),
    )
}
"""The conventions by name."""

PALM: Final = 0.0756
"""Distance along the hand of human23 from the wrist to the centroid of the palm around a
handle, [m]: 0.4 of the hand's length (our choice)."""
THICKNESS: Final = 0.025
"""Distance of that point from the wrist's axis towards the palm, [m] (our choice)."""
LEAST_SPAN = 0.5
"""Smallest distance of the hands in a T-pose, [m]."""
HIGHEST_HANDS, LOWEST_HANDS, BESIDE_HEAD = 0.05, 0.3, 0.13
"""Largest distances of the hands' midpoint above, below and beside the head in a T-pose, over
the distance of the hands: on human23 the eyes are 0.15 of it above the hands."""
_QUARTER = math.sqrt(0.5)


def convention(name: str) -> Convention:
    """Return the convention of that name.

    Raises:
        IKError: The name is unknown.
    """
    if name not in CONVENTIONS:
        raise IKError(f"unknown convention {name!r}{nearest(name, CONVENTIONS)}")
    return CONVENTIONS[name]


def points_to_project(points: Floats, source: Convention) -> Floats:
    """Points (..., 3) of a convention in Ambulo's axes, [m]."""
    result: Floats = source.unit * (np.asarray(points, dtype=float) @ source.axes.T)
    return result


def points_from_project(points: Floats, target: Convention) -> Floats:
    """Points (..., 3), [m], in a convention's axes and unit."""
    result: Floats = np.asarray(points, dtype=float) @ target.axes / target.unit
    return result


def turns_to_project(turns: Floats, source: Convention) -> Floats:
    """Rotations wxyz (..., 4) of a convention in Ambulo's axes, of any length."""
    turns = np.asarray(turns, dtype=np.float64)
    vectors = source.parity * (turns[..., 1:] @ source.axes.T)
    return np.concatenate([turns[..., :1], vectors], axis=-1)


def turns_from_project(turns: Floats, target: Convention) -> Floats:
    """Rotations wxyz (..., 4) in a convention's axes, of any length."""
    turns = np.asarray(turns, dtype=np.float64)
    vectors = target.parity * (turns[..., 1:] @ target.axes)
    return np.concatenate([turns[..., :1], vectors], axis=-1)


def xyzw(turns: Floats) -> Floats:
    """Quaternions wxyz (..., 4) in the order x, y, z, w."""
    return np.roll(turns, -1, axis=-1)


def wxyz(turns: Floats) -> Floats:
    """Quaternions xyzw (..., 4) in the order w, x, y, z."""
    return np.roll(turns, 1, axis=-1)


def poses_to_project(poses: Floats, source: Convention) -> tuple[Floats, Floats]:
    """Positions (..., 3), [m], and rotations wxyz (..., 4) in Ambulo's axes.

    Args:
        poses: x, y, z, qx, qy, qz, qw in the convention. Shape (..., 7).
        source: The convention.
    """
    return (
        points_to_project(poses[..., :3], source),
        turns_to_project(wxyz(poses[..., 3:]), source),
    )


def poses_from_project(positions: Floats, turns: Floats, target: Convention) -> Floats:
    """The inverse of `poses_to_project`. Shape (..., 7)."""
    return np.concatenate(
        [
            points_from_project(positions, target),
            xyzw(turns_from_project(turns, target)),
        ],
        axis=-1,
    )


@dataclass(frozen=True, eq=False)
class Mounts:
    """Poses of joints in the frames of their devices; rows as in `ambulo.ik.rig.TARGETS`."""

    positions: Floats
    """Positions, [m]. Shape (6, 3)."""
    rotations: Floats
    """Unit quaternions wxyz. Shape (6, 4)."""

    @classmethod
    def none(cls) -> Mounts:
        """Return the mounts of devices that are the joints themselves."""
        turns = np.zeros((TRACKERS, 4))
        turns[:, 0] = 1.0
        return cls(np.zeros((TRACKERS, 3)), turns)

    def joints(self, positions: Floats, rotations: Floats) -> tuple[Floats, Floats]:
        """Poses of the joints (..., 6, 3) and (..., 6, 4) from those of the devices.

        A quaternion far from unit length is kept; its joint is then at the device.
        """
        lengths = np.linalg.norm(rotations, axis=-1, keepdims=True)
        good = (lengths > 0.5) & (lengths < 2.0)
        turns = np.where(good, rotations / np.where(good, lengths, 1.0), _ONE)
        places = positions + np.where(good, quat_rotate(turns, self.positions), 0.0)
        return places, quat_multiply(rotations, self.rotations)

    def devices(self, positions: Floats, rotations: Floats) -> tuple[Floats, Floats]:
        """Poses of the devices from those of the joints: the inverse of `joints`."""
        turns = quat_multiply(rotations, quat_conjugate(self.rotations))
        return positions - quat_rotate(turns, self.positions), turns


def default_mounts(kind: Convention, shape: BodyShape | None = None) -> Mounts:
    """Mounts of a headset and controllers on a person; none where poses are joints.

    Args:
        kind: The convention.
        shape: Proportions of the player; by default human23's.
    """
    mounts = Mounts.none()
    if not kind.devices:
        return mounts
    body = BodyShape() if shape is None else shape
    mounts.positions[HEAD_ROW] = -body.trunk * np.array(EYES)
    for row, side in ((LEFT_HAND, 1.0), (RIGHT_HAND, -1.0)):
        # Palms down, fingers to the side: the grip's X points down in the left hand and up
        # in the right, its Z backwards.
        turn = np.array([_QUARTER, -side * _QUARTER, 0.0, 0.0])
        palm = body.arm * np.array([0.0, side * PALM, -THICKNESS])
        mounts.positions[row] = -quat_rotate(turn, palm)
        mounts.rotations[row] = turn
    return mounts


@dataclass(frozen=True, eq=False)
class TrackerSample:
    """Poses of tracked joints, or of their devices, at one moment; rows as in `TARGETS`."""

    positions: Floats
    """World positions, [m]. Shape (6, 3)."""
    rotations: Floats
    """World orientations, wxyz; of joints those of human23. Shape (6, 4)."""
    present: Bools
    """Whether each tracker is present. Shape (6,)."""
    time: float = 0.0
    """Time of the sample, [s]; for streams of devices."""

    @classmethod
    def nothing(cls) -> TrackerSample:
        """Return a sample without trackers."""
        turns = np.zeros((TRACKERS, 4))
        turns[:, 0] = 1.0
        return cls(np.zeros((TRACKERS, 3)), turns, np.zeros(TRACKERS, dtype=np.bool_))


def calibrated_mounts(
    sample: TrackerSample,
    shape: BodyShape,
    kind: Convention = CONVENTIONS["openxr"],
    ground: float = 0.0,
) -> Mounts:
    """Mounts calibrated from one sample of devices in a T-pose.

    The body stands upright on the ground with its arms to the sides and its palms down. It
    faces across the line of its hands (or as the head, without hands), and its head is under
    the headset as in `default_mounts`. Absent devices keep their default.

    Args:
        sample: The devices; the head must be present.
        shape: Proportions of the player.
        kind: Convention of the devices.
        ground: Height of the ground, [m].

    Raises:
        IKError: No headset, or no T-pose.
    """
    positions, rotations, present = sample.positions, sample.rotations, sample.present
    _check_t_pose(positions, rotations, present)
    turns = quat_normalize(np.where(present[:, None], rotations, _ONE))
    yaw = _facing(positions, turns, present)
    body = quat_from_yaw(np.array(yaw))
    mounts = default_mounts(kind, shape)
    rest = rest_positions(sized_skeleton(shape))[list(TRACKED)]
    eyes = rest[HEAD_ROW] - mounts.positions[HEAD_ROW]
    origin = positions[HEAD_ROW] - quat_rotate(body, eyes)
    origin[2] = ground
    for row in np.flatnonzero(present):
        joint = origin + quat_rotate(body, rest[row])
        back = quat_conjugate(turns[row])
        mounts.positions[row] = quat_rotate(back, joint - positions[row])
        mounts.rotations[row] = quat_multiply(back, body)
    return mounts


def shape_in_t_pose(
    sample: TrackerSample,
    kind: Convention = CONVENTIONS["openxr"],
    ground: float = 0.0,
) -> BodyShape:
    """Proportions calibrated from one sample of devices in a T-pose.

    Trunk and legs scale with the height of the headset, arms with the distance of the hands.
    Arguments as for `calibrated_mounts`.

    Raises:
        IKError: No headset, no T-pose, or implausible lengths.
    """
    positions, present = sample.positions, sample.present
    _check_t_pose(positions, sample.rotations, present)
    mounts = default_mounts(kind)
    rest = rest_positions(sized_skeleton(BodyShape()))[list(TRACKED)]
    eyes = rest[HEAD_ROW, 2] - mounts.positions[HEAD_ROW, 2]
    size = (positions[HEAD_ROW, 2] - ground) / float(eyes)
    arm = size
    if present[LEFT_HAND] and present[RIGHT_HAND]:
        trunk = 2.0 * _shoulder()
        grips = 2.0 * PALM if kind.devices else 0.0
        span = float(np.linalg.norm(positions[LEFT_HAND] - positions[RIGHT_HAND]))
        arm = (span - size * trunk) / (2.0 * rest[LEFT_HAND, 1] - trunk + grips)
    try:
        return BodyShape(trunk=float(size), arm=float(arm), leg=float(size))
    except IKError as error:
        raise IKError(f"calibration: {error}") from None


def _shoulder() -> float:
    """Distance of a shoulder of human23 from the midline, [m]."""
    skeleton = sized_skeleton(BodyShape())
    return float(rest_positions(skeleton)[skeleton.index("ArmL"), 1])


def _check_t_pose(positions: Floats, rotations: Floats, present: Bools) -> None:
    """Raise `IKError` if a sample is no T-pose of a person with a headset."""
    if not present[HEAD_ROW]:
        raise IKError("calibration: the sample has no head")
    there = positions[present], rotations[present]
    if not all(np.isfinite(array).all() for array in there):
        raise IKError("calibration: a number is not finite")
    lengths = np.linalg.norm(there[1], axis=-1)
    if not ((lengths > 0.5) & (lengths < 2.0)).all():
        raise IKError("calibration: a quaternion is far from unit length")
    if present[LEFT_HAND] and present[RIGHT_HAND]:
        line = positions[LEFT_HAND] - positions[RIGHT_HAND]
        across = float(np.hypot(line[0], line[1]))
        if across < max(LEAST_SPAN, 2.0 * abs(line[2])):
            raise IKError("calibration: no T-pose: the hands are not out to the sides")
        middle = 0.5 * (positions[LEFT_HAND] + positions[RIGHT_HAND])
        below = positions[HEAD_ROW, 2] - middle[2]
        if not -HIGHEST_HANDS * across <= below <= LOWEST_HANDS * across:
            raise IKError(
                "calibration: no T-pose: the hands are not at the height of the shoulders"
            )
        beside = float(np.hypot(*(middle - positions[HEAD_ROW])[:2]))
        if beside > BESIDE_HEAD * across:
            raise IKError("calibration: no T-pose: the hands are not beside the head")


def _facing(positions: Floats, turns: Floats, present: Bools) -> float:
    """Yaw of a body in a T-pose, [rad]."""
    if present[LEFT_HAND] and present[RIGHT_HAND]:
        line = positions[LEFT_HAND] - positions[RIGHT_HAND]
        return math.atan2(-line[0], line[1])
    return float(yaw_of(turns[HEAD_ROW]))


_ONE = np.array([1.0, 0.0, 0.0, 0.0])
