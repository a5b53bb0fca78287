"""Cycles as clips: repeated before a body follows them, closed after it has."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.simulation.tangent import Tangent
from ambulo.muscle.coupling import JointCoupling

CYCLES = 3
"""Times that a cycle is repeated."""


def repeated(
    cycle: ReferenceTable, model: mujoco.MjModel, period: float
) -> ReferenceTable:
    """A cycle that takes `period`, [s], `CYCLES` times, as a clip with all physics steps."""
    dt = float(model.opt.timestep)
    cycle = replace(cycle, period=period, qvel=cycle.period / period * cycle.qvel)
    steps = CYCLES * round(period / dt)
    return cycle.as_clip(dt * np.arange(steps + 1.0), model)


def closed(
    repeats: ReferenceTable,
    count: int,
    stride: Floats,
    tangent: Tangent,
    coupling: JointCoupling,
) -> tuple[ReferenceTable, float]:
    """Close the middle one of the cycles that a body makes, its gap evenly along it.

    Args:
        repeats: What the body does from the middle cycle on; its period is that of a cycle.
        count: Physics steps of a cycle.
        stride: By how much each cycle is ahead of the last, [m]. Shape (3,).
        tangent: Differences of the body's positions.
        coupling: Its tied joints.

    Returns:
        The cycle, and its gap, the root mean square of [m] and [rad].
    """
    qpos, qvel = repeats.qpos[: count + 1], repeats.qvel[: count + 1]
    torque = repeats.torque[:count]
    qpos[:, :3] -= CYCLES // 2 * stride
    qpos[-1, :3] -= stride
    gap = tangent.difference(qpos[-1:].copy(), qpos[:1].copy())
    share = (np.arange(count) / count - 0.5)[:, None]
    positions = coupling.closed(tangent.moved(qpos[:-1], -share * gap))
    rate = qvel[:-1] - share * (qvel[-1] - qvel[0])
    velocities = coupling.closed_velocity(positions, rate)
    table = ReferenceTable(repeats.period, stride, positions, velocities, torque)
    return table, float(np.sqrt(np.square(gap).mean()))
