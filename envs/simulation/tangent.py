"""Differences of MuJoCo positions in the tangent space, batch first.

As `mj_differentiatePos` and `mj_integratePos`, for many states at once.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numba import njit

from ambulo.configs.arrays import Floats, Ints
from ambulo.motion.quaternion_kernels import log_between, turn


class Tangent:
    """The joints of a model in the form that the compiled loops need."""

    def __init__(self, model: mujoco.MjModel) -> None:
        """Look up the joints of `model`."""
        self.nv = int(model.nv)
        self.joints: Ints = np.stack(
            [model.jnt_type, model.jnt_qposadr, model.jnt_dofadr], axis=1
        ).astype(np.int64)
        """Kind, address in qpos, first degree of freedom of each joint. Shape (nj, 3)."""

    def difference(self, qpos: Floats, reference: Floats) -> Floats:
        """The velocity that leads from `reference` to `qpos` (B, nq) in 1 s. (B, nv)."""
        out = np.empty((len(qpos), self.nv))
        now, then = np.ascontiguousarray(qpos), np.ascontiguousarray(reference)
        differences(self.joints, now, then, out)
        return out

    def moved(self, qpos: Floats, step: Floats) -> Floats:
        """`qpos` (B, nq) moved by `step` (B, nv)."""
        out = np.array(qpos, dtype=np.float64)
        _move(self.joints, out, np.ascontiguousarray(step))
        return out


@njit(cache=True)
def differences(joints: Ints, qpos: Floats, reference: Floats, out: Floats) -> None:
    """Fill `out` (B, nv) as `Tangent.difference`, with `Tangent.joints`."""
    for b in range(len(qpos)):
        for kind, p, v in joints:
            if kind == 0:
                for i in range(3):
                    out[b, v + i] = qpos[b, p + i] - reference[b, p + i]
                log_between(
                    reference[b, p + 3 : p + 7],
                    qpos[b, p + 3 : p + 7],
                    out[b, v + 3 : v + 6],
                )
            elif kind == 1:
                log_between(
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
                x, y, z = step[b, v + 3], step[b, v + 4], step[b, v + 5]
                turn(qpos[b, p + 3 : p + 7], x, y, z)
            elif kind == 1:
                turn(qpos[b, p : p + 4], step[b, v], step[b, v + 1], step[b, v + 2])
            else:
                qpos[b, p] += step[b, v]
