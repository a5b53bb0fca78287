"""The compiled part of stable PD: from the dynamics of B simulations to torques.

The formula is in the docstring of `spd`. The matrix of a body is solved by a sparse L^T D L in
which each coordinate is linked with its ancestors alone (Featherstone, "Rigid Body Dynamics
Algorithms", 2008, section 6.5). Row k of the packed matrix holds the entries of coordinate k's
ancestors in ascending order, then the diagonal. An ancestor's own ancestors are the first of
these, so that rows can be subtracted without column look-ups; rows are padded with zeros to the
processor's vector length.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from numba import njit

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.motion.quaternion_kernels import log_between, turn
from ambulo.muscle.coupling import BALL, FREE, JointCoupling

_TINY = 1e-12
_VECTOR = 8
"""Rows of the packed matrix are multiples of this."""


class SpdTables(NamedTuple):
    """The sparsity of one model for `stable_pd`; nr independent coordinates."""

    dofs: Ints
    """Reduced coordinate (-1: locked), first entry of the mass matrix's row and the one
    after its last, of each degree of freedom. Shape (nv, 3)."""
    entries: Ints
    """Column and position in the packed matrix (-1: locked) of each entry of the mass matrix.
    Shape (nM, 2)."""
    joints: Ints
    """First reduced coordinate, address in qpos, whether a ball, of each independent joint
    except free ones. Shape (nj, 3)."""
    independent: Ints
    """Degree of freedom of each reduced coordinate. Shape (nr,)."""
    start: Ints
    """Start of the ancestors of each reduced coordinate. Shape (nr + 1,)."""
    ancestors: Ints
    """Ancestors of all reduced coordinates, ascending for each."""


def spd_tables(model: mujoco.MjModel, coupling: JointCoupling) -> SpdTables:
    """The tables of `model`."""
    ancestors = _ancestors(model, coupling)
    counts = [len(own) for own in ancestors]
    width = packed_width(max(counts, default=0))
    places = []
    for dof in range(model.nv):
        first = model.M_rowadr[dof]
        for other in model.M_colind[first : first + model.M_rownnz[dof]]:
            low, high = sorted((coupling.column[dof], coupling.column[other]))
            row = [*ancestors[high], high]
            places.append((other, high * width + row.index(low) if low >= 0 else -1))
    end = model.M_rowadr + model.M_rownnz
    return SpdTables(
        np.stack([coupling.column, model.M_rowadr, end], axis=1).astype(np.int64),
        np.array(places, dtype=np.int64).reshape(-1, 2),
        _joint_table(model, coupling),
        np.ascontiguousarray(coupling.independent),
        np.cumsum([0, *counts]).astype(np.int64),
        np.array([i for own in ancestors for i in own], dtype=np.int64),
    )


def packed_width(count: int) -> int:
    """Numbers in a row of a packed matrix whose coordinates have up to `count` ancestors."""
    return (count + _VECTOR) // _VECTOR * _VECTOR


def _ancestors(model: mujoco.MjModel, coupling: JointCoupling) -> list[list[int]]:
    """Ancestors of each reduced coordinate in the elimination tree, ascending.

    Without couplings these are the columns of the mass matrix; couplings can fill in.
    """
    linked: list[set[int]] = [set() for _ in range(coupling.size)]
    for dof in range(model.nv):
        first = model.M_rowadr[dof]
        for other in model.M_colind[first : first + model.M_rownnz[dof]]:
            low, high = sorted((coupling.column[dof], coupling.column[other]))
            if 0 <= low < high:
                linked[high].add(int(low))
    for row in range(coupling.size - 1, -1, -1):
        if linked[row]:
            parent = max(linked[row])
            linked[parent] |= linked[row] - {parent}
    found: list[list[int]] = []
    for own in linked:
        found.append([*found[max(own)], max(own)] if own else [])
    return found


def _joint_table(model: mujoco.MjModel, coupling: JointCoupling) -> Ints:
    """`SpdTables.joints`."""
    rows: list[tuple[int, int, int]] = []
    for joint in dict.fromkeys(model.dof_jntid[coupling.independent].tolist()):
        kind = model.jnt_type[joint]
        if kind != FREE:
            first = coupling.column[model.jnt_dofadr[joint]]
            rows.append((first, model.jnt_qposadr[joint], int(kind == BALL)))
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


@njit(cache=True)
def stable_pd(
    qpos: Floats,
    qvel: Floats,
    inertia: Floats,
    bias: Floats,
    passive: Floats,
    constraint: Floats,
    external: Floats,
    target: Floats,
    goal: Floats,
    factor: Floats,
    drift: Floats,
    gains: Floats,
    implicit: Floats,
    dt: float,
    width: int,
    dofs: Ints,
    entries: Ints,
    joints: Ints,
    independent: Ints,
    start: Ints,
    ancestors: Ints,
    torque: Floats,
    solved: Bools,
) -> None:
    """Fill `torque` (B, nr) and `solved` (B,).

    Args:
        qpos: Positions, (B, nq).
        qvel: Velocities, (B, nv).
        inertia: Mass matrices, (B, nM).
        bias: As in `Dynamics`, (B, nv).
        passive: As in `Dynamics`, (B, nv).
        constraint: As in `Dynamics`, (B, nv).
        external: Further forces, (B, nv).
        target: Target positions, (B, nq).
        goal: Target velocities, (B, nv).
        factor: As of `JointCoupling.motion`, (B, nv); (0, nv) without coupled joints.
        drift: As `factor`.
        gains: Stiffness and damping of the reduced coordinates, (nr, 2).
        implicit: Joint damping that the integrator takes implicitly, (nv,).
        dt: Time step, [s].
        width: `packed_width`.
        dofs: As in `SpdTables`, like the following ones.
        entries: See `dofs`.
        joints: See `dofs`.
        independent: See `dofs`.
        start: See `dofs`.
        ancestors: See `dofs`.
        torque: Output, [N m].
        solved: Validity mask; torques are 0 elsewhere.
    """
    size, nv = gains.shape[0], implicit.shape[0]
    packed = np.empty(size * width)
    matrix = packed.reshape(size, width)
    force, rhs, row = np.empty(nv), np.empty(size), np.empty(width)
    for b in range(qpos.shape[0]):
        for i in range(nv):
            force[i] = passive[b, i] - bias[b, i] + constraint[b, i] + external[b, i]
        packed[:] = 0.0
        rhs[:] = 0.0
        if factor.shape[0]:
            _project(
                inertia[b], dofs, entries, force, factor[b], drift[b], implicit, dt,
                packed, rhs,
            )  # fmt: skip
        else:
            for i in range(nv):
                rhs[i] += force[i]
                packed[entries[dofs[i, 2] - 1, 1]] += dt * implicit[i]
            for k in range(entries.shape[0]):
                packed[entries[k, 1]] += inertia[b, k]
        own = torque[b]
        own[:] = 0.0
        _pose_error(qpos[b], target[b], qvel[b], dt, joints, independent, own)
        for i in range(size):
            dof = independent[i]
            rate = goal[b, dof] - qvel[b, dof]
            own[i] = gains[i, 0] * own[i] + gains[i, 1] * rate
            rhs[i] += own[i]
            matrix[i, start[i + 1] - start[i]] += dt * gains[i, 1]
        fine = solve_packed(matrix, rhs, start, ancestors, row)
        total = 0.0
        for i in range(size):
            own[i] -= dt * gains[i, 1] * rhs[i]
            total += own[i]
        solved[b] = fine and np.isfinite(total)
        if not solved[b]:
            own[:] = 0.0


@njit(cache=True)
def _pose_error(
    qpos: Floats,
    target: Floats,
    qvel: Floats,
    dt: float,
    joints: Ints,
    independent: Ints,
    error: Floats,
) -> None:
    """Fill target - (q + dt qd) of each coordinate (nr,), a rotation vector for balls."""
    after, rest = np.empty(4), np.empty(3)
    for k in range(joints.shape[0]):
        c, at = joints[k, 0], joints[k, 1]
        dof = independent[c]
        if joints[k, 2] == 0:
            error[c] = target[at] - qpos[at] - dt * qvel[dof]
            continue
        for i in range(4):
            after[i] = qpos[at + i]
        turn(after, dt * qvel[dof], dt * qvel[dof + 1], dt * qvel[dof + 2])
        log_between(after, target[at : at + 4], rest)
        for i in range(3):
            error[c + i] = rest[i]


@njit(cache=True)
def _project(
    inertia: Floats,
    dofs: Ints,
    entries: Ints,
    force: Floats,
    factor: Floats,
    drift: Floats,
    implicit: Floats,
    dt: float,
    packed: Floats,
    rhs: Floats,
) -> None:
    """Add G^T (M + dt D) G to the packed matrix and G^T (force - M drift) to `rhs`."""
    for i in range(force.shape[0]):
        ci, first, end = dofs[i]
        if ci >= 0:
            rhs[ci] += factor[i] * force[i]
            packed[entries[end - 1, 1]] += factor[i] * factor[i] * (dt * implicit[i])
        for k in range(first, end):
            j, place = entries[k]
            cj, m = dofs[j, 0], inertia[k]
            if ci >= 0:
                rhs[ci] -= factor[i] * m * drift[j]
            if cj >= 0 and i != j:
                rhs[cj] -= factor[j] * m * drift[i]
            if place < 0:
                continue
            value = m * factor[i] * factor[j]
            if ci == cj and i != j:
                value *= 2.0
            packed[place] += value


@njit(cache=True)
def solve_packed(
    matrix: Floats, x: Floats, start: Ints, ancestors: Ints, row: Floats
) -> bool:
    """Replace `x` by matrix^-1 x; False if a pivot is not positive.

    `matrix` (nr, width), packed, is overwritten; `row` (width,) is scratch memory. Entries
    after a row's diagonal are meaningless padding.
    """
    size = x.shape[0]
    for k in range(size - 1, -1, -1):
        own, columns = matrix[k], ancestors[start[k] : start[k + 1]]
        count = columns.shape[0]
        pivot, value = own[count], x[k]
        if not pivot > _TINY:
            return False
        for p in range((count + 7) // 8 * 8):
            row[p] = own[p]
            own[p] /= pivot
        for p in range(count):
            i, ratio = columns[p], own[p]
            other = matrix[i]
            for q in range((p + 8) // 8 * 8):
                other[q] -= ratio * row[q]
            x[i] -= ratio * value
        x[k] = value / pivot
    for k in range(size):
        own, value = matrix[k], x[k]
        for p in range(start[k + 1] - start[k]):
            value -= own[p] * x[ancestors[start[k] + p]]
        x[k] = value
    return True
