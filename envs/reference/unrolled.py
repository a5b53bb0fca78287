"""A cycle as a clip: repeated for some seconds, with its feedback."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.reference.balance import BalanceController
from ambulo.envs.reference.reference_file import Gait
from ambulo.envs.reference.reference_table import ReferenceTable

SECONDS = 6.0
"""Duration of the clip, [s]."""


def unrolled(
    gait: Gait, model: mujoco.MjModel, substeps: int, seconds: float = SECONDS
) -> Gait:
    """`gait`, a cycle, as a clip of `seconds` with a state for each physics step of `model`.

    Args:
        gait: A cycle of whatever period.
        model: The body; its time step is that of the physics.
        substeps: Physics steps of a control step, each of which has feedback gains.
        seconds: Duration of the clip, [s].
    """
    cycle, dt = gait.table, float(model.opt.timestep)
    control_dt = dt * substeps
    knots: Floats = np.arange(round(seconds / control_dt)) * np.float64(control_dt)
    times: Floats = np.arange(len(knots) * substeps + 1) * np.float64(dt)
    aim = None if cycle.aim is None else clip_of(cycle.aim, times, model)
    table = replace(clip_of(cycle, times, model), aim=aim)
    controller = gait.controller
    if controller is not None:
        rows = np.rint(cycle.phase(knots) * len(controller.gains)).astype(np.int64)
        gains = controller.gains[rows % len(controller.gains)]
        controller = BalanceController(gains, controller.dofs, periodic=False)
    return replace(gait, table=table, controller=controller)


def clip_of(
    cycle: ReferenceTable, times: Floats, model: mujoco.MjModel
) -> ReferenceTable:
    """The states of a cycle at `times` (T,), [s], as a clip."""
    qpos, qvel, torque = cycle.at(times)
    for row in qpos:  # what lies between two samples is not quite of unit length
        mujoco.mj_normalizeQuat(model, row)
    return ReferenceTable(
        float(times[-1]), np.zeros(3), qpos, qvel, torque, periodic=False
    )
