"""Heading frames: level frames on the ground, X along the heading of a body or its reference.

A frame is x, y, [m], yaw, [rad], and the height of the ground, [m].
"""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats


def heading_frames(qpos: Floats) -> Floats:
    """Heading frames of roots: x, y, [m], yaw, [rad], 0. (R, nq) to (R, 4)."""
    w, x, y, z = qpos[:, 3:7].T
    yaw = np.arctan2(2.0 * (x * y + w * z), 1.0 - 2.0 * (y * y + z * z))
    return np.stack([qpos[:, 0], qpos[:, 1], yaw, np.zeros(len(qpos))], axis=1)


def into_frames(places: Floats, frames: Floats) -> Floats:
    """World points (N, B, 3), [m], in heading frames (N, 4). Shape (N, B, 3)."""
    moved = places - frames[:, None, [0, 1, 3]]
    c, s = np.cos(frames[:, 2, None]), np.sin(frames[:, 2, None])
    x, y = moved[..., 0].copy(), moved[..., 1].copy()
    moved[..., 0], moved[..., 1] = c * x + s * y, c * y - s * x
    return np.asarray(moved)


def from_frames(places: Floats, frames: Floats) -> Floats:
    """World coordinates of points (N, B, 3) in heading frames (N, 4), [m]."""
    x, y, yaw = frames[:, :3].T[:, :, None]
    c, s = np.cos(yaw), np.sin(yaw)
    out = places.copy()
    out[..., 0] = x + c * places[..., 0] - s * places[..., 1]
    out[..., 1] = y + s * places[..., 0] + c * places[..., 1]
    return out


def along_heading(vectors: Floats, yaw: Floats) -> Floats:
    """World vectors (N, ..., 2 or more) along headings (N,), [rad], and to their left.

    Shape (N, ..., 2).
    """
    yaw = yaw.reshape(-1, *(1,) * (vectors.ndim - 2))
    c, s = np.cos(yaw), np.sin(yaw)
    x, y = vectors[..., 0], vectors[..., 1]
    return np.stack([c * x + s * y, c * y - s * x], axis=-1)


def out_of_frame(qpos: Floats, qvel: Floats, reference_frame: Floats) -> None:
    """Transform root states (k, nq), (k, nv) from frames (k, 4) to the world, in place."""
    c, s = np.cos(reference_frame[:, 2]), np.sin(reference_frame[:, 2])
    x, y = qpos[:, 0].copy(), qpos[:, 1].copy()
    qpos[:, 0] = reference_frame[:, 0] + c * x - s * y
    qpos[:, 1] = reference_frame[:, 1] + s * x + c * y
    qpos[:, 2] += reference_frame[:, 3]
    u, v = qvel[:, 0].copy(), qvel[:, 1].copy()
    qvel[:, 0], qvel[:, 1] = c * u - s * v, s * u + c * v
    ch, sh = np.cos(0.5 * reference_frame[:, 2]), np.sin(0.5 * reference_frame[:, 2])
    w, i, j, k = (qpos[:, n].copy() for n in range(3, 7))
    qpos[:, 3], qpos[:, 4] = ch * w - sh * k, ch * i - sh * j
    qpos[:, 5], qpos[:, 6] = ch * j + sh * i, ch * k + sh * w


def into_frame(qpos: Floats, qvel: Floats, frames: Floats) -> None:
    """Express root states (N, nq), (N, nv) in heading frames (N, 4), in place."""
    back = np.zeros_like(frames)
    c, s = np.cos(frames[:, 2]), np.sin(frames[:, 2])
    back[:, 0] = -(c * frames[:, 0] + s * frames[:, 1])
    back[:, 1] = -(c * frames[:, 1] - s * frames[:, 0])
    back[:, 2], back[:, 3] = -frames[:, 2], -frames[:, 3]
    out_of_frame(qpos, qvel, back)


def walk_frames(
    frames: Floats, speed: Floats, turn: Floats, dt: float, side: Floats | None = None
) -> None:
    """Move frames (N, 4) by `dt`, [s], in place.

    Args:
        frames: Heading frames.
        speed: Speed ahead, [m/s]. Shape (N,).
        turn: Turning rate, [rad/s]. Shape (N,).
        dt: Time step, [s].
        side: Speed to the left, [m/s], (N,), if any.
    """
    yaw = frames[:, 2] + 0.5 * dt * turn
    c, s = np.cos(yaw), np.sin(yaw)
    frames[:, 0] += dt * speed * c
    frames[:, 1] += dt * speed * s
    frames[:, 2] += dt * turn
    if side is not None:
        frames[:, 0] -= dt * side * s
        frames[:, 1] += dt * side * c


def hold_near(reference_frame: Floats, root: Floats, leash: Floats | float) -> None:
    """Keep frames (N, 4) within `leash` (N,), [m], of roots (N, 2), in place."""
    away = reference_frame[:, :2] - root
    far = np.maximum(np.linalg.norm(away, axis=1), 1e-9)
    reference_frame[:, :2] = root + away * np.minimum(1.0, leash / far)[:, None]
