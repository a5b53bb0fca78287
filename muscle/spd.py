"""Stable PD: the torque of a PD controller evaluated at the next step's state.

Explicit PD diverges when damping * dt exceeds the inertia of a joint. Stable PD uses the
position and velocity after the step (Tan, Liu and Turk, "Stable Proportional-Derivative
Controllers", IEEE Computer Graphics and Applications 31(4), 2011):

    tau = -kp (q + dt qd - q_target) - kd (qd + dt qdd - qd_target)
    (M + dt (kd + D)) qdd = force - kp (q + dt qd - q_target) - kd (qd - qd_target)

with `force` = passive - bias + constraint (of the last step) + external, and D MuJoCo's
joint damping where its integrator takes it implicitly. Everything happens in independent
coordinates (`coupling`). A free joint has no gains, so its torque is zero by construction.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

import mujoco
import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.errors import MuscleError
from ambulo.configs.muscle import SpdGains
from ambulo.muscle.coupling import FREE, JointCoupling, joint_coupling
from ambulo.muscle.dynamics import Dynamics, dynamics_of_data, make_current
from ambulo.muscle.spd_kernels import packed_width, spd_tables, stable_pd


class SpdController:
    """Stable PD for the joints of one model, for any number of simulations."""

    coupling: JointCoupling
    """Independent coordinates."""
    stiffness: Floats
    """Proportional gain of each independent coordinate, (nr,); 0 for a free joint."""
    damping: Floats
    """Derivative gain, (nr,)."""

    def __init__(
        self,
        model: mujoco.MjModel,
        gains: SpdGains,
        coupling: JointCoupling | None = None,
    ) -> None:
        """Resolve `gains` on the joints of `model`.

        Raises:
            MuscleError: A pattern matches no joint, or the model cannot be controlled.
        """
        if model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4:
            raise MuscleError(
                "stable PD works once a step and RK4 evaluates four times: set"
                " model.opt.integrator to Euler or implicitfast"
            )
        self.model = model
        self.coupling = coupling or joint_coupling(model)
        self.stiffness, self.damping = joint_gains(model, gains, self.coupling)
        self._dt = float(model.opt.timestep)
        self._implicit = implicit_damping(model)
        self._gains = np.stack([self.stiffness, self.damping], axis=1)
        self._tables = spd_tables(model, self.coupling)
        self._width = packed_width(int(np.diff(self._tables.start).max(initial=0)))
        self._untied = np.empty((0, model.nv))
        self._views: tuple[mujoco.MjData, Dynamics] | None = None

    def torque(
        self,
        data: mujoco.MjData,
        target: Floats,
        *,
        target_velocity: Floats | None = None,
        external: Floats | None = None,
        limits: tuple[Floats, Floats] | None = None,
    ) -> Floats:
        """The torque for one simulation, on all degrees of freedom, (nv,), [N m].

        Call between `mj_step1` and `mj_step2`; right after a reset `mj_forward` is run.
        The arguments are those of `torques`, without the batch dimension.
        """
        make_current(self.model, data)
        if self._views is None or self._views[0] is not data:
            self._views = (data, dynamics_of_data(data))
        reduced, solved = self.torques(
            self._views[1],
            target[None],
            target_velocity=None if target_velocity is None else target_velocity[None],
            external=None if external is None else external[None],
            limits=limits,
        )
        if not solved[0]:
            raise MuscleError(
                f"stable PD at t = {data.time:.3f} s: the state, the target or the inertia"
                " is not finite and positive; reset the simulation"
            )
        return self.coupling.expanded(reduced)[0]

    def torques(
        self,
        dynamics: Dynamics,
        target: Floats,
        *,
        target_velocity: Floats | None = None,
        external: Floats | None = None,
        limits: tuple[Floats, Floats] | None = None,
    ) -> tuple[Floats, Bools]:
        """The torques on the independent coordinates, (B, nr), [N m], and a validity mask.

        A simulation with a non-finite state gets zeros and False; others are not affected.

        Args:
            dynamics: Dynamics of B simulations.
            target: Target positions as in qpos, (B, nq); coupled and free joints are ignored.
            target_velocity: Target velocities as in qvel, (B, nv); default zero.
            external: Additional forces, such as those of passive muscles, (B, nv).
            limits: Smallest and largest torque, each (nr,) or (B, nr).
        """
        qpos = np.ascontiguousarray(dynamics.qpos)
        qvel = np.ascontiguousarray(dynamics.qvel)
        target = _rows("target", target, qpos.shape, "qpos")
        goal = _rows("target velocity", target_velocity, qvel.shape, "qvel")
        force = _rows("external force", external, qvel.shape, "qvel")
        factor = drift = self._untied
        if len(self.coupling.dof):
            factor, drift = self.coupling.motion(qpos, qvel)
        torque = np.empty((len(qpos), self.coupling.size))
        solved = np.empty(len(qpos), dtype=np.bool_)
        stable_pd(
            qpos, qvel, dynamics.inertia, dynamics.bias, dynamics.passive,
            dynamics.constraint, force, target, goal, factor, drift, self._gains,
            self._implicit, self._dt, self._width, *self._tables, torque, solved,
        )  # fmt: skip
        if limits is not None:
            np.clip(torque, limits[0], limits[1], out=torque)
        return torque, solved


def _rows(
    name: str, values: Floats | None, shape: tuple[int, ...], like: str
) -> Floats:
    """`values` as contiguous floats, zeros if None; `MuscleError` for another shape."""
    if values is None:
        return np.zeros(shape)
    if values.shape != shape:
        raise MuscleError(
            f"{name}: expected shape {shape} as {like}, got {values.shape}"
        )
    return np.ascontiguousarray(values, dtype=np.float64)


def joint_gains(
    model: mujoco.MjModel, gains: SpdGains, coupling: JointCoupling
) -> tuple[Floats, Floats]:
    """Stiffness and damping of each independent coordinate, (nr,); free joints get 0."""
    joints = model.dof_jntid[coupling.independent]
    names = [model.joint(int(j)).name for j in joints]
    stiffness = np.full(len(joints), gains.stiffness)
    damping = np.full(len(joints), gains.damping)
    for rule in gains.joints:
        hits = np.array([fnmatchcase(name, rule.joints) for name in names], dtype=bool)
        if not hits.any():
            raise MuscleError(
                f"gains: no independent joint matches {rule.joints!r}; the model has"
                f" {', '.join(dict.fromkeys(names))}"
            )
        stiffness[hits], damping[hits] = rule.stiffness, rule.damping
    free = model.jnt_type[joints] == FREE
    stiffness[free], damping[free] = 0.0, 0.0
    return stiffness, damping


def implicit_damping(model: mujoco.MjModel) -> Floats:
    """Joint damping that MuJoCo's integrator takes implicitly, (nv,)."""
    flags = mujoco.mjtDisableBit
    euler = model.opt.integrator == mujoco.mjtIntegrator.mjINT_EULER
    off = flags.mjDSBL_EULERDAMP | flags.mjDSBL_DAMPER if euler else flags.mjDSBL_DAMPER
    if model.opt.disableflags & off:
        return np.zeros(model.nv)
    return np.array(model.dof_damping, dtype=np.float64)
