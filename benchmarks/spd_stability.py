r"""Where stable PD, explicit PD and MuJoCo's position actuators are stable (myolegs).

The legs follow a walk-like target of 1 Hz in the air: no gravity, no contacts, a free
root, the muscles off. Each cell is a pair of gains and a time step; its number is the RMS
distance of the 14 independent leg joints from the target, [rad], or "diverged" where a
value is not finite or the mean distance exceeds half a turn. The same gains for all joints
on purpose: small distal joints make it hard.

    python benchmarks/spd_stability.py --png docs/images/spd_stability.png
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from _harness import run

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.muscle import SpdGains
from ambulo.muscle.coupling import JointCoupling, joint_coupling
from ambulo.muscle.spd import SpdController

STEPS = (0.002, 0.005, 0.01)
GAINS = (
    (30.0, 3.0), (100.0, 10.0), (300.0, 24.5), (1000.0, 50.0), (3000.0, 100.0),
    (10000.0, 250.0), (20000.0, 500.0),
)  # fmt: skip
METHODS = (
    "stable PD", "explicit PD", "position actuators, Euler",
    "position actuators, implicitfast",
)  # fmt: skip
SETTLED = 0.5
"""Time after which errors count, [s]."""
_SWING = (0.35, 0.1, 0.1, 0.5, 0.2, 0.1, 0.1)
"""Swing of hip (3), knee, ankle, subtalar and toe joints, [rad]."""
_CENTRE = (0.2, 0.0, 0.0, 0.7, 0.0, 0.0, 0.0)


def airborne() -> mujoco.MjSpec:
    """The legs without gravity, contacts and muscle forces."""
    import myo_sim

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec = myo_sim.load_spec("myolegs")
    for actuator in list(spec.actuators):
        spec.delete(actuator)
    spec.option.gravity = np.zeros(3)
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    # Keyframes hold muscle activations, which are gone.
    for key in list(spec.keys):
        spec.delete(key)
    return spec


def with_actuators(
    spec: mujoco.MjSpec, names: Sequence[str], kp: float, kd: float
) -> None:
    """Add a position actuator to each joint."""
    for name in names:
        actuator = spec.add_actuator(name=f"{name}_position", target=name)
        actuator.trntype = mujoco.mjtTrn.mjTRN_JOINT
        actuator.set_to_position(kp=kp, kv=kd)


def target_at(t: float) -> Floats:
    """Wanted angles of the 14 independent joints, right leg first, (14,)."""
    swing, centre = np.array(_SWING), np.array(_CENTRE)
    right = centre + swing * math.sin(2.0 * math.pi * t)
    left = centre + swing * math.sin(2.0 * math.pi * t + math.pi)
    return np.concatenate([right, left])


@functools.cache
def model_of(kp: float | None = None, kd: float = 0.0) -> mujoco.MjModel:
    """The legs in the air; with `kp`, [N m/rad], and `kd`, with position actuators."""
    spec = airborne()
    if kp is not None:
        model, dofs = model_of(), driven_dofs(coupling_of_legs())
        names = [model.joint(int(j)).name for j in model.dof_jntid[dofs]]
        with_actuators(spec, names, kp, kd)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return spec.compile()


@functools.cache
def coupling_of_legs() -> JointCoupling:
    """Coupling of the joints of the legs."""
    return joint_coupling(model_of())


def driven_dofs(coupling: JointCoupling) -> Ints:
    """Indices of the 14 independent joints that are driven, shape (14,)."""
    return np.asarray(coupling.independent[coupling.actuated])


def error_of(method: str, dt: float, kp: float, kd: float, seconds: float) -> float:
    """RMS tracking error of one cell, [rad]; NaN when it diverges."""
    model = model_of(kp, kd) if method.startswith("position") else model_of()
    model.opt.timestep = dt
    model.opt.integrator = (
        mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        if method.endswith("implicitfast")
        else mujoco.mjtIntegrator.mjINT_EULER
    )
    coupling = coupling_of_legs()
    return tracked(model, coupling, driver(method, model, coupling, kp, kd), seconds)


def driver(
    method: str, model: mujoco.MjModel, coupling: JointCoupling, kp: float, kd: float
) -> Callable[[mujoco.MjData, Floats], None]:
    """Step between `mj_step1` and `mj_step2`: torques towards the target angles (14,)."""
    dofs = driven_dofs(coupling)
    at = model.jnt_qposadr[model.dof_jntid[dofs]]
    if method == "stable PD":
        spd = SpdController(model, SpdGains(stiffness=kp, damping=kd), coupling)
        pose = np.array(model.qpos0)

        def stable(data: mujoco.MjData, wanted: Floats) -> None:
            pose[at] = wanted
            data.qfrc_applied[:] = spd.torque(data, pose)

        return stable

    def explicit(data: mujoco.MjData, wanted: Floats) -> None:
        error = wanted - data.qpos[at]
        data.qfrc_applied[dofs] = kp * error - kd * data.qvel[dofs]

    def position(data: mujoco.MjData, wanted: Floats) -> None:
        data.ctrl[:] = wanted

    return explicit if method == "explicit PD" else position


def tracked(
    model: mujoco.MjModel,
    coupling: JointCoupling,
    drive: Callable[[mujoco.MjData, Floats], None],
    seconds: float,
) -> float:
    """RMS tracking error after the first half second, [rad]; NaN when it diverges."""
    dofs = driven_dofs(coupling)
    at = model.jnt_qposadr[model.dof_jntid[dofs]]
    data = mujoco.MjData(model)
    data.qpos[at] = target_at(0.0)
    data.qpos[:] = coupling.closed(data.qpos)
    mujoco.mj_forward(model, data)
    errors = []
    warned = mujoco.mjtWarning.mjWARN_BADQACC
    for k in range(round(seconds / model.opt.timestep)):
        wanted = target_at(k * model.opt.timestep)
        mujoco.mj_step1(model, data)
        try:
            drive(data, wanted)
        except Exception:  # stable PD refuses a state that is not finite
            return math.nan
        mujoco.mj_step2(model, data)
        error = data.qpos[at] - wanted
        bad = data.warning[int(warned)].number > 0 or not np.isfinite(error).all()
        if bad or np.abs(error).mean() > math.pi:
            return math.nan
        if k * model.opt.timestep >= SETTLED:
            errors.append(np.square(error).mean())
    return math.sqrt(float(np.mean(errors)))


def draw(cells: dict[str, list[list[float | None]]], path: Path) -> None:
    """One heat map a method; crossed cells diverged."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(METHODS), figsize=(13, 3.9), sharey=True)
    shown: Any = None
    for axis, method in zip(axes, METHODS, strict=True):
        grid = np.array(cells[method], dtype=float)
        shown = axis.imshow(grid, vmin=0.0, vmax=0.2, cmap="viridis_r", aspect="auto")
        for i in range(grid.shape[0]):
            for j in range(grid.shape[1]):
                fine = np.isfinite(grid[i, j])
                text = f"{grid[i, j]:.3f}" if fine else "diverged"
                dark = fine and grid[i, j] > 0.1
                axis.text(
                    j, i, text, ha="center", va="center", fontsize=8,
                    color="white" if dark else ("black" if fine else "firebrick"),
                )  # fmt: skip
        axis.set_title(method, fontsize=10)
        axis.set_xticks(range(len(STEPS)), [f"{dt * 1000:g}" for dt in STEPS])
        axis.set_xlabel("time step [ms]")
    axes[0].set_yticks(range(len(GAINS)), [f"{kp:g} / {kd:g}" for kp, kd in GAINS])
    axes[0].set_ylabel("kp [N m/rad] / kd [N m s/rad]")
    figure.suptitle(
        "RMS tracking error [rad] of 14 leg joints, one gain for all", fontsize=11
    )
    figure.tight_layout(rect=(0, 0, 0.93, 1))
    bar = figure.add_axes((0.94, 0.16, 0.012, 0.68))
    figure.colorbar(shown, cax=bar)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def measure(seconds: float = 2.0, png: Path | None = None) -> dict[str, Any]:
    """Errors of all cells, each simulated for `seconds`."""
    cells: dict[str, list[list[float | None]]] = {}
    for method in METHODS:
        rows = [
            [error_of(method, dt, *gain, seconds) for dt in STEPS] for gain in GAINS
        ]
        cells[method] = [
            [None if math.isnan(x) else round(x, 5) for x in row] for row in rows
        ]
    if png is not None:
        draw(cells, png)
    stable = {m: sum(x is not None for row in cells[m] for x in row) for m in METHODS}
    return {
        "model": "myolegs", "time_steps_s": STEPS, "gains": GAINS,
        "rms_error_rad": cells, "stable_cells": stable,
    }  # fmt: skip


if __name__ == "__main__":
    run(measure, {"seconds": SETTLED + 0.02}, [("stable_cells.stable PD", ">=", 21)])
