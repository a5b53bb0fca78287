"""Coupled joints: MuJoCo's joint equalities as a projection.

Biological models couple joints by polynomials (a knee cap to the knee). MuJoCo enforces such a
coupling with a soft constraint; a controller has to work in the independent joints. Every
coupled joint follows one other joint, so each degree of freedom moves with at most one
independent one: the projection `G = d(all)/d(independent)` has one entry per row and is stored
as a column and a factor. Not for `connect`, `weld` and tendon equalities: these remain forces
of the constraint solver.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numba import njit

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import MuscleError

FREE = int(mujoco.mjtJoint.mjJNT_FREE)
BALL = int(mujoco.mjtJoint.mjJNT_BALL)
_DEGREE = 4


@dataclass(frozen=True)
class JointCoupling:
    """Independent degrees of freedom, and the dependence of the others.

    nv degrees of freedom, nr independent ones, ne couplings in an order in which each source is
    known before it is used.
    """

    independent: Ints
    """Degree of freedom of each reduced coordinate, (nr,)."""
    column: Ints
    """Reduced coordinate of each degree of freedom, (nv,); -1 when locked."""
    actuated: Ints
    """Reduced coordinates that do not belong to a free joint, (na,)."""
    dof: Ints
    """Coupled degree of freedom, (ne,)."""
    source: Ints
    """Degree of freedom that it follows, (ne,); -1 when locked."""
    position: Ints
    """Address of the coupled joint in qpos, (ne,)."""
    source_position: Ints
    """Address of the source in qpos, (ne,); 0 when locked."""
    reference: Floats
    """qpos of the coupled joint and of its source in the model's rest pose, (ne, 2)."""
    coefficients: Floats
    """q = ref + sum_k c_k (q_source - ref_source)^k, (ne, 5)."""

    @property
    def size(self) -> int:
        """Independent coordinates, nr."""
        return len(self.independent)

    def factors(self, qpos: Floats) -> Floats:
        """The entry of each row of G at `qpos` (B, nq), shape (B, nv)."""
        return self.motion(qpos, np.zeros((len(qpos), len(self.column))))[0]

    def motion(self, qpos: Floats, qvel: Floats) -> tuple[Floats, Floats]:
        """Factors of G, and the acceleration of coupled joints at constant velocity.

        qdd = G qdd_independent + drift; shapes (B, nq), (B, nv) -> (B, nv), (B, nv).
        """
        factor = np.empty(qvel.shape)
        drift = np.empty(qvel.shape)
        _motion(
            qpos, qvel, self.column, self.independent, self.dof, self.source,
            self.source_position, self.reference, self.coefficients, factor, drift,
        )  # fmt: skip
        return factor, drift

    def closed(self, qpos: Floats) -> Floats:
        """A copy of `qpos` (..., nq) with all couplings satisfied."""
        out = np.array(qpos, dtype=np.float64)
        for i in range(len(self.dof)):
            c = self.coefficients[i]
            x = out[..., self.source_position[i]] - self.reference[i, 1]
            x = x * (self.source[i] >= 0)
            value = np.zeros_like(x)
            for k in range(_DEGREE, -1, -1):
                value = value * x + c[k]
            out[..., self.position[i]] = self.reference[i, 0] + value
        return out

    def closed_velocity(self, qpos: Floats, qvel: Floats) -> Floats:
        """`qvel` (B, nv) with all couplings satisfied, at `qpos`."""
        reduced = qvel[:, self.independent]
        return self.factors(qpos) * self.spread(reduced)

    def matrix(self, qpos: Floats) -> Floats:
        """G at `qpos` (B, nq) as a dense matrix, (B, nv, nr); for tests and pictures."""
        factor = self.factors(qpos)
        out = np.zeros((*factor.shape, self.size))
        rows = np.flatnonzero(self.column >= 0)
        out[:, rows, self.column[rows]] = factor[:, rows]
        return out

    def reduced(self, force: Floats, factor: Floats) -> Floats:
        """G^T force: generalised force on the independent coordinates, (B, nr)."""
        out = np.zeros((len(force), self.size))
        weighted = force * factor
        for dof in np.flatnonzero(self.column >= 0):
            out[:, self.column[dof]] += weighted[:, dof]
        return out

    def spread(self, reduced: Floats) -> Floats:
        """Reduced values (B, nr) at each degree of freedom that moves with them."""
        return np.where(self.column >= 0, reduced[:, self.column], 0.0)

    def expanded(self, reduced: Floats) -> Floats:
        """A force on the independent coordinates as (B, nv), zero for coupled joints."""
        out = np.zeros((len(reduced), len(self.column)))
        out[:, self.independent] = reduced
        return out


def joint_coupling(model: mujoco.MjModel) -> JointCoupling:
    """The active joint equalities of `model`.

    Raises:
        MuscleError: Joints follow each other in a cycle, or one joint follows two.
    """
    ties = _ties(model)
    order = _ordered(model, ties)
    dof = model.jnt_dofadr[[tie[0] for tie in order]].astype(np.int64)
    joints = np.array([tie[1] for tie in order], dtype=np.int64)
    source = np.where(joints >= 0, model.jnt_dofadr[joints], -1).astype(np.int64)
    position = model.jnt_qposadr[[tie[0] for tie in order]].astype(np.int64)
    there = np.where(joints >= 0, model.jnt_qposadr[joints], 0).astype(np.int64)
    independent = np.setdiff1d(np.arange(model.nv), dof).astype(np.int64)
    column = np.full(model.nv, -1, dtype=np.int64)
    column[independent] = np.arange(len(independent))
    for tied, leader in zip(dof, source, strict=True):
        column[tied] = column[leader] if leader >= 0 else -1
    kinds = model.jnt_type[model.dof_jntid[independent]]
    coefficients = np.array([model.eq_data[tie[2], :5] for tie in order])
    return JointCoupling(
        independent=independent,
        column=column,
        actuated=np.flatnonzero(kinds != FREE).astype(np.int64),
        dof=dof,
        source=source,
        position=position,
        source_position=there,
        reference=np.column_stack([model.qpos0[position], model.qpos0[there]]),
        coefficients=coefficients.reshape(-1, _DEGREE + 1),
    )


def _ties(model: mujoco.MjModel) -> dict[int, tuple[int, int, int]]:
    """(joint, joint that it follows or -1, equality) of each tied joint."""
    ties: dict[int, tuple[int, int, int]] = {}
    disabled = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_EQUALITY
    for k in range(0 if disabled else model.neq):
        if model.eq_type[k] != mujoco.mjtEq.mjEQ_JOINT or not model.eq_active0[k]:
            continue
        joint, leader = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
        if joint in ties:
            name = model.joint(joint).name
            raise MuscleError(
                f"joint {name!r} follows two joints by equalities; keep one of them"
            )
        ties[joint] = (joint, leader, k)
    return ties


def _ordered(
    model: mujoco.MjModel, ties: dict[int, tuple[int, int, int]]
) -> list[tuple[int, int, int]]:
    """The couplings, each after that of the joint that it follows."""
    order: list[tuple[int, int, int]] = []
    done: set[int] = set()
    waiting = dict(ties)
    while waiting:
        ready = [
            tie for tie in waiting.values() if tie[1] in done or tie[1] not in ties
        ]
        if not ready:
            names = ", ".join(sorted(model.joint(j).name for j in waiting))
            raise MuscleError(f"joints follow each other in a circle: {names}")
        for tie in ready:
            order.append(tie)
            done.add(tie[0])
            del waiting[tie[0]]
    return order


@njit(cache=True)
def _motion(
    qpos: Floats,
    qvel: Floats,
    column: Ints,
    independent: Ints,
    dof: Ints,
    source: Ints,
    source_position: Ints,
    reference: Floats,
    coefficients: Floats,
    factor: Floats,
    drift: Floats,
) -> None:
    """Fill `factor` and `drift` (B, nv); see `JointCoupling.motion`."""
    for b in range(qpos.shape[0]):
        factor[b, :] = 1.0
        drift[b, :] = 0.0
        for i in range(dof.shape[0]):
            here, leader = dof[i], source[i]
            if leader < 0:
                factor[b, here] = 0.0
                continue
            x = qpos[b, source_position[i]] - reference[i, 1]
            c = coefficients[i]
            slope = c[1] + x * (2.0 * c[2] + x * (3.0 * c[3] + x * 4.0 * c[4]))
            bend = 2.0 * c[2] + x * (6.0 * c[3] + x * 12.0 * c[4])
            factor[b, here] = slope * factor[b, leader]
            if column[leader] >= 0:
                speed = factor[b, leader] * qvel[b, independent[column[leader]]]
                drift[b, here] = slope * drift[b, leader] + bend * speed * speed
