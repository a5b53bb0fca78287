"""Streamed frames as checked arrays in metres and wxyz; and conversion of answers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Array, Floats
from ambulo.motion.quaternion_kernels import rotated
from ambulo.motion.rotations import quat_conjugate, quat_rotate
from ambulo.rig_server.layout import RigError, RigLayout
from ambulo.rig_server.packets import Fault, PacketError

MAX_LENGTH = 1e4
"""Largest coordinate of a frame, [m]: larger ones are faults of the sender."""


@dataclass(frozen=True, eq=False)
class RigFrame:
    """One frame of a rig of B bones and E effectors."""

    root_position: Floats
    """World position of the root, [m]. Shape (3,)."""
    root_rotation: Floats
    """World orientation of the root, wxyz. Shape (4,)."""
    offsets: Floats
    """Each bone from its parent, in the parent's frame, [m]; the root's is 0. (B, 3)."""
    rotations: Floats
    """Local rotations wxyz; the root's is the identity. Shape (B, 4)."""
    normals: Floats
    """Unit ground normals in the root's frame. Shape (E, 3)."""
    hits: Floats
    """1 for a ground hit, else 0. Shape (E,)."""
    targets: Floats
    """Targets of the effectors in the root's frame, [m]. Shape (E, 3)."""
    up: Floats
    """The world's up direction (Z) in the root's frame. Shape (3,)."""


def checked_frames(layout: RigLayout, table: NDArray[np.float32]) -> list[RigFrame]:
    """Return the frames of a datagram, (k, frame_size); `PacketError` for a bad one."""
    try:
        return [frame_of(layout, row) for row in table]
    except RigError as error:
        raise PacketError(Fault.CONTENT, str(error)) from None


def frame_of(layout: RigLayout, floats: NDArray[np.float32]) -> RigFrame:
    """The frame in `floats` (frame_size,); `RigError` for an impossible value.

    Quaternions are normalised; one shorter than 0.5 or longer than 1.5 is refused. A
    normal without length, or without a hit, is the root's up direction.
    """
    bones, effectors = len(layout.bones), len(layout.effectors)
    if floats.shape != (layout.frame_size,):
        raise RigError(f"a frame has {layout.frame_size} numbers, got {floats.size}")
    frame = RigFrame(
        np.empty(3), np.empty(4), np.empty((bones, 3)), np.empty((bones, 4)),
        np.empty((effectors, 3)), np.empty(effectors), np.empty((effectors, 3)),
        np.empty(3),
    )  # fmt: skip
    # A copy: the kernel is compiled for writable arrays, datagrams are read-only ones.
    broken = _unpack(
        np.array(floats, np.float32), layout.scale,
        frame.root_position, frame.root_rotation, frame.offsets, frame.rotations,
        frame.normals, frame.hits, frame.targets, frame.up,
    )  # fmt: skip
    if broken:
        raise RigError(_RULES[broken])
    return frame


_RULES = (
    "",
    "every number of a frame must be finite",
    f"a position lies farther than {MAX_LENGTH:g} m",
    "a quaternion is not of unit length",
)


@njit(cache=True)
def _unpack(
    values: Array,
    scale: float,
    root_position: Array,
    root_rotation: Array,
    offsets: Array,
    rotations: Array,
    normals: Array,
    hits: Array,
    targets: Array,
    up: Array,
) -> int:
    """Fill the arrays of a frame; returns the index of the broken rule, or 0."""
    for i in range(len(values)):
        if not math.isfinite(values[i]):
            return 1
    bones, effectors = len(offsets), len(hits)
    for bone in range(bones):
        at, length = 7 * bone, 0.0
        for i in range(3):
            offsets[bone, i] = scale * values[at + i]
            if abs(offsets[bone, i]) > MAX_LENGTH:
                return 2
            rotations[bone, i + 1] = values[at + 3 + i]
        rotations[bone, 0] = values[at + 6]
        for i in range(4):
            length += rotations[bone, i] ** 2
        length = math.sqrt(length)
        if not 0.5 <= length <= 1.5:
            return 3
        for i in range(4):
            rotations[bone, i] /= length
    root_position[:], root_rotation[:] = offsets[0], rotations[0]
    offsets[0], rotations[0] = 0.0, 0.0
    rotations[0, 0] = 1.0
    w, x, y, z = root_rotation
    up[0], up[1], up[2] = rotated(w, -x, -y, -z, 0.0, 0.0, 1.0)
    for e in range(effectors):
        at, length = 7 * bones + 4 * e, 0.0
        hits[e] = 1.0 if values[at + 3] > 0.5 else 0.0
        for i in range(3):
            normals[e, i] = values[at + i]
            length += normals[e, i] ** 2
        length = math.sqrt(length)
        known = hits[e] > 0.5 and 1e-3 < length < 1e3
        for i in range(3):
            normals[e, i] = normals[e, i] / length if known else up[i]
            at_target = 7 * bones + 4 * effectors + 3 * e + i
            targets[e, i] = scale * values[at_target]
            if abs(targets[e, i]) > MAX_LENGTH:
                return 2
    return 0


def up_of(root_rotation: Floats) -> Floats:
    """The world's up direction (Z) in the root's frame. (4,) -> (3,)."""
    return quat_rotate(quat_conjugate(root_rotation), np.array([0.0, 0.0, 1.0]))


def floats_of(layout: RigLayout, frame: RigFrame) -> NDArray[np.float32]:
    """The wire's numbers of `frame`, (frame_size,)."""
    table = np.empty((len(layout.bones), 7))
    table[:, :3] = frame.offsets / layout.scale
    table[0, :3] = frame.root_position / layout.scale
    table[:, 3:6] = frame.rotations[:, 1:]
    table[:, 6] = frame.rotations[:, 0]
    table[0, 3:6], table[0, 6] = frame.root_rotation[1:], frame.root_rotation[0]
    ground = np.column_stack([frame.normals, frame.hits])
    parts = (table.ravel(), ground.ravel(), (frame.targets / layout.scale).ravel())
    return np.concatenate(parts).astype(np.float32)


def answer_floats(rotations: Floats) -> NDArray[np.float32]:
    """Local rotations (B, 4) wxyz as the wire's xyzw without the root, (4 (B - 1),)."""
    return rotations[1:, [1, 2, 3, 0]].astype(np.float32).ravel()


def answer_rotations(floats: NDArray[np.float32]) -> Floats:
    """The inverse of `answer_floats`, with the root's identity first. (B, 4)."""
    table = floats.astype(np.float64).reshape(-1, 4)[:, [3, 0, 1, 2]]
    return np.concatenate([[[1.0, 0.0, 0.0, 0.0]], table])
