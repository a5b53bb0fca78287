"""Stable PD: the torque of a PD controller that knows where the next step will be.

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
from numba import njit

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.muscle import SpdGains
from ambulo.motion.quaternion_kernels import inverse_multiply, turn
from ambulo.muscle.coupling import BALL, FREE, JointCoupling, joint_coupling
from ambulo.muscle.dynamics import Dynamics, dynamics_of_data, make_current
from ambulo.muscle.errors import MuscleError

_TINY = 1e-12


class SpdController:
    """Stable PD for the joints of one model, for any number of simulations."""

    coupling: JointCoupling
    """Which coordinates are independent."""
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
            MuscleError: a pattern matches no joint, or the model cannot be controlled.
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
        self._pattern = _elimination_pattern(model, self.coupling)
        self._joints = _joint_table(model, self.coupling)
        self._rows = tuple(
            np.asarray(rows)
            for rows in (model.M_rownnz, model.M_rowadr, model.M_colind)
        )
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
        """The torques on the independent coordinates, (B, nr), [N m], and where they hold.

        A simulation whose state is not finite gets zeros and False; others do not notice.

        Args:
            dynamics: of B simulations.
            target: wanted positions as in qpos, (B, nq); tied and free joints are ignored.
            target_velocity: wanted velocities as in qvel, (B, nv); default zero.
            external: forces that act besides, as those of passive muscles, (B, nv).
            limits: least and largest torque, each (nr,) or (B, nr).
        """
        expected = (len(dynamics.qpos), self.model.nq)
        if target.shape != expected:
            raise MuscleError(
                f"target: expected shape {expected} as qpos, got {target.shape}"
            )
        qpos = np.ascontiguousarray(dynamics.qpos)
        qvel = np.ascontiguousarray(dynamics.qvel)
        force = dynamics.passive - dynamics.bias + dynamics.constraint
        if external is not None:
            force = force + external
        factor, drift = self.coupling.motion(qpos, qvel)
        reduced_velocity = qvel[:, self.coupling.independent]
        goal = np.zeros_like(reduced_velocity)
        if target_velocity is not None:
            goal = target_velocity[:, self.coupling.independent]
        error = np.zeros_like(reduced_velocity)
        _pose_error(
            qpos, np.ascontiguousarray(target, dtype=np.float64), reduced_velocity,
            self._dt, self._joints, error,
        )  # fmt: skip
        torque = np.empty_like(reduced_velocity)
        solved = np.empty(len(qpos), dtype=np.bool_)
        _stable_pd(
            dynamics.inertia, *self._rows, force, factor, drift, self.coupling.column,
            error, goal - reduced_velocity, self.stiffness, self.damping, self._implicit,
            self._dt, *self._pattern, torque, solved,
        )  # fmt: skip
        if limits is not None:
            np.clip(torque, limits[0], limits[1], out=torque)
        return torque, solved


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


def _joint_table(model: mujoco.MjModel, coupling: JointCoupling) -> Ints:
    """(first reduced coordinate, address in qpos, is a ball) of each independent joint."""
    rows: list[tuple[int, int, int]] = []
    for joint in dict.fromkeys(model.dof_jntid[coupling.independent].tolist()):
        kind = model.jnt_type[joint]
        if kind != FREE:
            first = coupling.column[model.jnt_dofadr[joint]]
            rows.append((first, model.jnt_qposadr[joint], int(kind == BALL)))
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def _elimination_pattern(
    model: mujoco.MjModel, coupling: JointCoupling
) -> tuple[Ints, Ints]:
    """Columns left of the diagonal of each row of L in A = L^T D L: (start, columns).

    Rows are eliminated from the leaves to the root, which fills nothing in for a tree
    (Featherstone 2008, section 6.5); ties can fill a little in, found here once.
    """
    size = coupling.size
    filled: list[set[int]] = [set() for _ in range(size)]
    for dof in range(model.nv):
        start = model.M_rowadr[dof]
        for other in model.M_colind[start : start + model.M_rownnz[dof]]:
            a, b = coupling.column[dof], coupling.column[other]
            if a >= 0 and b >= 0 and a != b:
                filled[max(a, b)].add(int(min(a, b)))
    for row in range(size - 1, -1, -1):
        columns = sorted(filled[row])
        for k, column in enumerate(columns):
            filled[column].update(columns[:k])
    start = np.cumsum([0, *(len(columns) for columns in filled)])
    flat = [column for columns in filled for column in sorted(columns)]
    return start.astype(np.int64), np.array(flat, dtype=np.int64)


@njit(cache=True)
def _pose_error(
    qpos: Floats,
    target: Floats,
    velocity: Floats,
    dt: float,
    joints: Ints,
    error: Floats,
) -> None:
    """Fill target - (q + dt qd) of each coordinate, a rotation vector for balls.

    qpos, target (B, nq); velocity, error (B, nr); joints as of `_joint_table`.
    """
    after, rest = np.empty(4), np.empty(4)
    for b in range(qpos.shape[0]):
        for k in range(joints.shape[0]):
            c, at = joints[k, 0], joints[k, 1]
            if joints[k, 2] == 0:
                error[b, c] = target[b, at] - qpos[b, at] - dt * velocity[b, c]
                continue
            after[:] = qpos[b, at : at + 4]
            x, y, z = velocity[b, c], velocity[b, c + 1], velocity[b, c + 2]
            turn(after, dt * x, dt * y, dt * z)
            inverse_multiply(after, target[b, at : at + 4], rest)
            sine = np.sqrt(rest[1] ** 2 + rest[2] ** 2 + rest[3] ** 2)
            angle = 2.0 * np.arctan2(sine, rest[0])
            if angle > np.pi:
                angle -= 2.0 * np.pi
            scale = angle / sine if sine > _TINY else 2.0
            for i in range(3):
                error[b, c + i] = scale * rest[1 + i]


@njit(cache=True)
def _stable_pd(
    inertia: Floats,
    row_count: Ints,
    row_start: Ints,
    row_column: Ints,
    force: Floats,
    factor: Floats,
    drift: Floats,
    column: Ints,
    error: Floats,
    speed_error: Floats,
    stiffness: Floats,
    damping: Floats,
    implicit: Floats,
    dt: float,
    start: Ints,
    columns: Ints,
    torque: Floats,
    solved: Bools,
) -> None:
    """Fill `torque` (B, nr) and `solved` (B,); the formula is in the module docstring."""
    size = stiffness.shape[0]
    matrix = np.empty((size, size))
    rhs = np.empty(size)
    for b in range(inertia.shape[0]):
        matrix[:, :] = 0.0
        rhs[:] = 0.0
        _project(
            inertia[b], row_count, row_start, row_column, force[b], factor[b], drift[b],
            column, dt * implicit, matrix, rhs,
        )  # fmt: skip
        for i in range(size):
            torque[b, i] = stiffness[i] * error[b, i] + damping[i] * speed_error[b, i]
            rhs[i] += torque[b, i]
            matrix[i, i] += dt * damping[i]
        fine = _solve(matrix, rhs, start, columns)
        total = 0.0
        for i in range(size):
            torque[b, i] -= dt * damping[i] * rhs[i]
            total += torque[b, i]
        solved[b] = fine and np.isfinite(total)
        if not solved[b]:
            torque[b, :] = 0.0


@njit(cache=True)
def _project(
    inertia: Floats,
    row_count: Ints,
    row_start: Ints,
    row_column: Ints,
    force: Floats,
    factor: Floats,
    drift: Floats,
    column: Ints,
    extra: Floats,
    matrix: Floats,
    rhs: Floats,
) -> None:
    """Add G^T (M + extra) G to the lower half of `matrix`, G^T (force - M drift) to `rhs`."""
    for i in range(force.shape[0]):
        ci = column[i]
        if ci >= 0:
            rhs[ci] += factor[i] * force[i]
            matrix[ci, ci] += factor[i] * factor[i] * extra[i]
        for k in range(row_start[i], row_start[i] + row_count[i]):
            j = row_column[k]
            cj = column[j]
            m = inertia[k]
            if ci >= 0:
                rhs[ci] -= factor[i] * m * drift[j]
            if cj >= 0 and i != j:
                rhs[cj] -= factor[j] * m * drift[i]
            if ci < 0 or cj < 0:
                continue
            value = m * factor[i] * factor[j]
            if ci == cj and i != j:
                value *= 2.0
            if ci >= cj:
                matrix[ci, cj] += value
            else:
                matrix[cj, ci] += value


@njit(cache=True)
def _solve(matrix: Floats, x: Floats, start: Ints, columns: Ints) -> bool:
    """Replace `x` by matrix^-1 x with a sparse L^T D L; False if a pivot is not positive.

    `matrix` (n, n) symmetric, of which the lower half is read and overwritten.
    """
    size = x.shape[0]
    for k in range(size - 1, -1, -1):
        pivot = matrix[k, k]
        if not pivot > _TINY:
            return False
        for p in range(start[k], start[k + 1]):
            i = columns[p]
            ratio = matrix[k, i] / pivot
            for q in range(start[k], p + 1):
                j = columns[q]
                matrix[i, j] -= ratio * matrix[k, j]
        for p in range(start[k], start[k + 1]):
            matrix[k, columns[p]] /= pivot
            x[columns[p]] -= matrix[k, columns[p]] * x[k]
    for k in range(size):
        x[k] /= matrix[k, k]
        for p in range(start[k], start[k + 1]):
            x[k] -= matrix[k, columns[p]] * x[columns[p]]
    return True
