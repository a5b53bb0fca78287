"""Vector layouts of the human23 body: 56 positions, 56 velocities and the 101-number pose.

All functions but `to_positions` and `from_positions` take NumPy arrays and torch tensors
alike, with gradients in torch.

Positions, (..., 56): root rotation vector [rad] at 0:3, root position [m] at 3:6, then the
joints in the skeleton's order: a ball's rotation vector (3) or a hinge's angle (1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import MotionError
from ambulo.configs.namespace import array_namespace
from ambulo.motion.motion import Motion
from ambulo.motion.rotations import (
    Array,
    constant,
    matrix_to_sixd,
    quat_conjugate,
    quat_from_matrix,
    quat_from_rotvec,
    quat_multiply,
    quat_normalize,
    quat_to_matrix,
    quat_to_rotvec,
    sixd_to_matrix,
)
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

N_POSITIONS = 56
"""Degrees of freedom: a free root (6), 14 balls (3 each), 8 hinges (1 each)."""

N_SIXDOF = 101
"""The published pose: root (6 + 3), 14 balls (6 each), 8 hinges (1 each)."""


@dataclass(frozen=True)
class _Layout:
    """Index arrays of the layouts; balls include the root."""

    joint_order: Ints
    """(23,) from [balls, hinges] to the skeleton's order."""
    balls: Ints
    """(15,) joints with three angles."""
    hinges: Ints
    """(8,) joints with one angle."""
    axes: Floats
    """(8, 3) the hinges' axes."""
    ball_positions: Ints
    """(45,) the balls' rotation vectors in positions."""
    hinge_positions: Ints
    """(8,) the hinges' angles in positions."""
    position_order: Ints
    """(56,) from [rotation vectors, root position, hinge angles] to positions."""
    ball_sixdof: Ints
    """(90,) the balls' rows in the 101 numbers."""
    hinge_sixdof: Ints
    """(8,) the hinges' angles in the 101 numbers."""
    sixdof_order: Ints
    """(101,) from [rows, root position, hinge angles] to the 101 numbers."""


def position_slices() -> dict[str, slice]:
    """Columns of each joint's rotation in positions; the root's position is at 3:6."""
    return _slices(3)


def sixdof_slices() -> dict[str, slice]:
    """Columns of each joint's rotation in the 101 numbers; the root's position is at 6:9."""
    return _slices(6)


def _slices(ball: int) -> dict[str, slice]:
    skeleton = load_skeleton("human23")
    slices, start = {}, 0
    for joint, order in zip(skeleton.joints, skeleton.orders, strict=True):
        size = 1 if len(order) == 1 else ball
        slices[joint] = slice(start, start + size)
        start += size + (3 if joint == skeleton.joints[0] else 0)
    return slices


@cache
def _layout() -> _Layout:
    skeleton = load_skeleton("human23")
    counts = np.array([len(order) for order in skeleton.orders])
    balls, hinges = np.flatnonzero(counts == 3), np.flatnonzero(counts == 1)

    def places(joints: Ints, ball: int) -> Ints:
        slices = list(_slices(ball).values())
        return np.concatenate([np.r_[slices[joint]] for joint in joints])

    def order(ball: int) -> Ints:
        root = np.arange(ball, ball + 3)
        return np.argsort(np.r_[places(balls, ball), root, places(hinges, ball)])

    return _Layout(
        joint_order=np.argsort(np.r_[balls, hinges]),
        balls=balls,
        hinges=hinges,
        axes=np.array([np.eye(3)["XYZ".index(skeleton.orders[j])] for j in hinges]),
        ball_positions=places(balls, 3),
        hinge_positions=places(hinges, 3),
        position_order=order(3),
        ball_sixdof=places(balls, 6),
        hinge_sixdof=places(hinges, 6),
        sixdof_order=order(6),
    )


def to_positions(motion: Motion) -> Floats:
    """The 56 positions of each frame of a motion on human23 (any sizes). Shape (T, 56).

    Rotation vectors are the shortest ones, of at most pi, so that equal poses have equal
    numbers. A vector therefore jumps to its opposite when a joint's angle passes pi, which only
    the root does, for example when an upright character faces -X. See `continuous` for paths
    without jumps.
    """
    if motion.skeleton.joints != load_skeleton("human23").joints:
        raise MotionError(
            f"{motion.label}: is on {motion.skeleton.name}, expected human23; "
            "retarget it first"
        )
    return positions_of(motion.root_positions, motion.rotations)


def from_positions(
    positions: Floats, fps: float, skeleton: Skeleton | None = None
) -> Motion:
    """The motion of `positions` (T, 56) at `fps` on `skeleton`, or the canonical one."""
    positions = np.asarray(positions, dtype=np.float64)
    if positions.ndim != 2 or positions.shape[1] != N_POSITIONS:
        raise MotionError(f"positions: expected shape (T, 56), got {positions.shape}")
    return Motion(
        skeleton=skeleton or load_skeleton("human23"),
        fps=fps,
        root_positions=positions[:, 3:6],
        rotations=local_rotations(positions),
    )


def positions_of(root_positions: Array, rotations: Array) -> Array:
    """Positions (..., 56) of root positions (..., 3) and local rotations (..., 23, 4).

    Of a hinge's rotation, only the component about its axis counts.
    """
    layout = _layout()
    xp = array_namespace(root_positions, rotations)
    balls = xp.take(rotations, constant(layout.balls, rotations), axis=-2)
    hinges = xp.take(rotations, constant(layout.hinges, rotations), axis=-2)
    return _arranged(
        quat_to_rotvec(balls),
        root_positions,
        _hinge_angles(hinges),
        layout.position_order,
    )


def local_rotations(positions: Array) -> Array:
    """Local rotations (..., 23, 4) of `positions` (..., 56)."""
    layout = _layout()
    vectors, angles = _parts(positions)
    return _joined(quat_from_rotvec(vectors), angles, layout)


def velocities(positions: Array, fps: float) -> Array:
    """Velocities (T, 56) of `positions` (T, 56) at `fps`; the first row is the second's.

    Backward differences, so that no row depends on a later pose: root angular velocity in
    the root's own frame [rad/s], root velocity in the world [m/s] (as MuJoCo's free joint,
    but angular first), balls' angular velocities in the child's own frame, log(q_t-1^-1
    q_t) fps, hinges' rates. Leading dimensions before T are kept.
    """
    xp = array_namespace(positions)
    if positions.shape[-2] < 2:
        return xp.zeros_like(positions)
    vectors, angles = _parts(positions)
    q = quat_from_rotvec(vectors)
    turns = quat_to_rotvec(
        quat_multiply(quat_conjugate(q[..., :-1, :, :]), q[..., 1:, :, :])
    )
    root = positions[..., 3:6]
    moved = root[..., 1:, :] - root[..., :-1, :]
    bent = angles[..., 1:, :] - angles[..., :-1, :]
    rows = _arranged(turns * fps, moved * fps, bent * fps, _layout().position_order)
    return xp.concat([rows[..., :1, :], rows], axis=-2)


def integrate(positions: Array, velocities: Array, dt: float) -> Array:
    """The pose (..., 56) after `dt` seconds of `velocities` (..., 56).

    The exact inverse of `velocities()`: the pose at t - 1 and the row at t give the pose at t.
    """
    vectors, angles = _parts(positions)
    turns, rates = _parts(velocities)
    q = quat_multiply(quat_from_rotvec(vectors), quat_from_rotvec(turns * dt))
    root = positions[..., 3:6] + velocities[..., 3:6] * dt
    return _arranged(
        quat_to_rotvec(q), root, angles + rates * dt, _layout().position_order
    )


def to_sixdof(positions: Array) -> Array:
    """The published pose (..., 101) of `positions` (..., 56).

    In the skeleton's order: for a ball the first two rows of its rotation matrix, row after row
    (6), for a hinge its angle (1); after the root's rows its position (3). Axes are ours (Z
    up), where the published data have Y up.
    """
    vectors, angles = _parts(positions)
    rows = matrix_to_sixd(quat_to_matrix(quat_from_rotvec(vectors)))
    return _arranged(rows, positions[..., 3:6], angles, _layout().sixdof_order)


def from_sixdof(sixdof: Array) -> Array:
    """Positions (..., 56) of published poses (..., 101); rows need not be orthonormal."""
    balls, angles = _sixdof_parts(sixdof)
    return _arranged(
        quat_to_rotvec(balls), sixdof[..., 6:9], angles, _layout().position_order
    )


def rotations_of_sixdof(sixdof: Array) -> Array:
    """Local rotations (..., 23, 4) of published poses (..., 101)."""
    balls, angles = _sixdof_parts(sixdof)
    return _joined(balls, angles, _layout())


def _sixdof_parts(sixdof: Array) -> tuple[Array, Array]:
    """Quaternions (..., 15, 4) of the balls and hinge angles (..., 8)."""
    layout = _layout()
    xp = array_namespace(sixdof)
    rows = xp.take(sixdof, constant(layout.ball_sixdof, sixdof), axis=-1)
    rows = xp.reshape(rows, (*sixdof.shape[:-1], len(layout.balls), 6))
    angles = xp.take(sixdof, constant(layout.hinge_sixdof, sixdof), axis=-1)
    return quat_from_matrix(sixd_to_matrix(rows)), angles


def _parts(positions: Array) -> tuple[Array, Array]:
    """Rotation vectors (..., 15, 3) and hinge angles (..., 8)."""
    layout = _layout()
    xp = array_namespace(positions)
    vectors = xp.take(positions, constant(layout.ball_positions, positions), axis=-1)
    vectors = xp.reshape(vectors, (*positions.shape[:-1], len(layout.balls), 3))
    return vectors, xp.take(
        positions, constant(layout.hinge_positions, positions), axis=-1
    )


def _joined(balls: Array, angles: Array, layout: _Layout) -> Array:
    """Rotations (..., 23, 4) of the balls' quaternions and the hinges' angles."""
    xp = array_namespace(balls, angles)
    half = 0.5 * angles[..., None]
    axes = constant(layout.axes, balls, balls.dtype)
    hinges = xp.concat([xp.cos(half), xp.sin(half) * axes], axis=-1)
    joined = xp.concat([quat_normalize(balls), hinges], axis=-2)
    return xp.take(joined, constant(layout.joint_order, balls), axis=-2)


def _hinge_angles(rotations: Array) -> Array:
    """Angles (..., 8) of the hinges' rotations (..., 8, 4) about their axes, [rad]."""
    xp = array_namespace(rotations)
    axes = constant(_layout().axes, rotations, rotations.dtype)
    along = xp.sum(rotations[..., 1:] * axes, axis=-1)
    w = rotations[..., 0]
    sign = xp.where(w < 0.0, -xp.ones_like(w), xp.ones_like(w))
    return 2.0 * xp.atan2(along * sign, w * sign)


def _arranged(rotations: Array, place: Array, angles: Array, order: Ints) -> Array:
    """Rotations (..., 15, n), root position and hinge angles as one row in `order`."""
    xp = array_namespace(rotations, place, angles)
    flat = xp.reshape(rotations, (*rotations.shape[:-2], -1))
    row = xp.concat([flat, place, angles], axis=-1)
    return xp.take(row, constant(order, row), axis=-1)
