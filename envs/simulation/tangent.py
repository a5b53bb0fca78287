"""Differences of MuJoCo positions in the tangent space, batch first.

As `mj_differentiatePos` and `mj_integratePos`, for many states at once.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numba import njit

from ambulo.configs.arrays import Floats, Ints


class Tangent:
    """The joints of a model, as the compiled loops want them."""

    def __init__(self, model: mujoco.MjModel) -> None:
        """Look the joints of `model` up."""
        self.nv = int(model.nv)
        self._table = np.stack(
            [model.jnt_type, model.jnt_qposadr, model.jnt_dofadr], axis=1
        ).astype(np.int64)

    def difference(self, qpos: Floats, reference: Floats) -> Floats:
        """The velocity that leads from `reference` to `qpos` (B, nq) in 1 s. (B, nv)."""
        out = np.empty((len(qpos), self.nv))
        _difference(self._table, qpos, reference, out)
        return out

    def moved(self, qpos: Floats, step: Floats) -> Floats:
        """`qpos` (B, nq) moved by `step` (B, nv)."""
        out = np.array(qpos, dtype=np.float64)
        _move(self._table, out, np.ascontiguousarray(step))
        return out


@njit(cache=True)
def _difference(table: Ints, qpos: Floats, reference: Floats, out: Floats) -> None:
    for b in range(len(qpos)):
        for kind, p, v in table:
            if kind == 0:
                for i in range(3):
                    out[b, v + i] = qpos[b, p + i] - reference[b, p + i]
                _log_between(
                    reference[b, p + 3 : p + 7],
                    qpos[b, p + 3 : p + 7],
                    out[b, v + 3 : v + 6],
                )
            elif kind == 1:
                _log_between(
                    reference[b, p : p + 4], qpos[b, p : p + 4], out[b, v : v + 3]
                )
            else:
                out[b, v] = qpos[b, p] - reference[b, p]


@njit(cache=True)
def _move(table: Ints, qpos: Floats, step: Floats) -> None:
    for b in range(len(qpos)):
        for kind, p, v in table:
            if kind == 0:
                for i in range(3):
                    qpos[b, p + i] += step[b, v + i]
                _turn(qpos[b, p + 3 : p + 7], step[b, v + 3 : v + 6])
            elif kind == 1:
                _turn(qpos[b, p : p + 4], step[b, v : v + 3])
            else:
                qpos[b, p] += step[b, v]


@njit(cache=True)
def _log_between(a: Floats, b: Floats, out: Floats) -> None:
    """The rotation vector of conj(a) * b."""
    w = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    x = a[0] * b[1] - a[1] * b[0] - a[2] * b[3] + a[3] * b[2]
    y = a[0] * b[2] + a[1] * b[3] - a[2] * b[0] - a[3] * b[1]
    z = a[0] * b[3] - a[1] * b[2] + a[2] * b[1] - a[3] * b[0]
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    length = np.sqrt(x * x + y * y + z * z)
    scale = 2.0 if length < 1e-9 else 2.0 * np.arctan2(length, w) / length
    out[0], out[1], out[2] = scale * x, scale * y, scale * z


@njit(cache=True)
def _turn(q: Floats, v: Floats) -> None:
    """Turn the quaternion `q` to q * exp(v)."""
    angle = np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    c = np.cos(0.5 * angle)
    s = 0.5 if angle < 1e-9 else np.sin(0.5 * angle) / angle
    x, y, z = s * v[0], s * v[1], s * v[2]
    a, b, d, e = q[0], q[1], q[2], q[3]
    q[0] = a * c - b * x - d * y - e * z
    q[1] = a * x + b * c + d * z - e * y
    q[2] = a * y - b * z + d * c + e * x
    q[3] = a * z + b * y - d * x + e * c
