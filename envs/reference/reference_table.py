"""A prepared movement as tables that a simulation looks up by time, batch first."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numba import njit

from ambulo.configs.arrays import Floats, short_repr


@dataclass(frozen=True, eq=False)
class ReferenceTable:
    """Joint state and torque of one gait cycle or clip at N equal steps.

    A cycle repeats, each time one `stride` further on. A clip begins at the first sample,
    ends at the last, and stays there.
    """

    __repr__ = short_repr

    period: float
    """Duration of the cycle or clip, [s]."""
    stride: Floats
    """How far the root moves in one cycle, [m]; 0 for a clip. Shape (3,)."""
    qpos: Floats
    """MuJoCo's positions. Shape (N, nq)."""
    qvel: Floats
    """MuJoCo's velocities. Shape (N, nv)."""
    torque: Floats
    """Feed-forward generalised forces, 0 for the root. Shape (N, nv)."""
    periodic: bool = True
    """Whether it is a cycle."""
    aim: ReferenceTable | None = None
    """Targets of stable PD that make a body do this; None if they are its own states."""

    @property
    def targets(self) -> ReferenceTable:
        """Targets of stable PD: positions, velocities and feed-forward torques."""
        return self.aim or self

    @property
    def speed(self) -> float:
        """Forward speed, [m/s]."""
        return float(self.stride[0]) / self.period

    def phase(self, time: Floats) -> Floats:
        """Place in the cycle, in [0, 1), or in the clip, in [0, 1], at `time`, [s]. (B,)."""
        turns = time / self.period
        phase: Floats = turns % 1.0 if self.periodic else np.clip(turns, 0.0, 1.0)
        return phase

    def at(self, time: Floats) -> tuple[Floats, Floats, Floats]:
        """Values of qpos (B, nq), qvel (B, nv) and torque (B, nv) at `time` (B,), [s].

        Linear between samples; quaternions (all but the first three numbers that are
        four of unit length) stay close enough to unit length for MuJoCo, which
        normalises them.
        """
        batch = len(time)
        qpos = np.empty((batch, self.qpos.shape[1]))
        qvel = np.empty((batch, self.qvel.shape[1]))
        torque = np.empty_like(qvel)
        _look_up(
            time, self.period, self.periodic, self.stride, self.qpos, self.qvel,
            self.torque, qpos, qvel, torque,
        )  # fmt: skip
        return qpos, qvel, torque

    def as_clip(self, times: Floats, model: mujoco.MjModel) -> ReferenceTable:
        """The states at equally spaced `times` (T,), [s], as a clip for the body `model`."""
        qpos, qvel, torque = self.at(times)
        for row in qpos:  # what lies between two samples is not quite of unit length
            mujoco.mj_normalizeQuat(model, row)
        return ReferenceTable(
            float(times[-1]), np.zeros(3), qpos, qvel, torque, periodic=False
        )


@njit(cache=True)
def _look_up(
    time: Floats,
    period: float,
    periodic: bool,
    stride: Floats,
    qpos: Floats,
    qvel: Floats,
    torque: Floats,
    out_qpos: Floats,
    out_qvel: Floats,
    out_torque: Floats,
) -> None:
    count = len(qpos)
    for b in range(len(time)):
        turns = np.floor(time[b] / period) if periodic else 0.0
        if periodic:
            place = (time[b] / period - turns) * count
            i = int(place) % count
            j = (i + 1) % count
        else:
            place = min(max(time[b] / period, 0.0), 1.0) * (count - 1)
            i = min(int(place), count - 1)
            j = min(i + 1, count - 1)
        a = place - np.floor(place)
        for k in range(qpos.shape[1]):
            out_qpos[b, k] = (1.0 - a) * qpos[i, k] + a * qpos[j, k]
        for k in range(3):
            if periodic and j == 0:
                out_qpos[b, k] += a * stride[k]
            out_qpos[b, k] += turns * stride[k]
        for k in range(qvel.shape[1]):
            out_qvel[b, k] = (1.0 - a) * qvel[i, k] + a * qvel[j, k]
            out_torque[b, k] = (1.0 - a) * torque[i, k] + a * torque[j, k]
