"""A standing pose of any two-legged body, and the torques that hold it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.optimize import least_squares, nnls

from ambulo.configs.arrays import Floats, Ints
from ambulo.motion.gaits.soles import DEPTH, Soles
from ambulo.motion.skeleton import Skeleton

MARGIN = 0.05
"""Distance of angles from their limits, [rad]: on a limit a pose has no linear dynamics."""
KNEE = 0.15
"""Bend of knees, [rad]."""
NEAR, KNEES = 0.12, 0.6
"""Weights of angles near rest and of the knees' bend."""
ROUNDS = 60
"""Largest number of steps of the least squares."""


@dataclass(frozen=True, eq=False)
class StandingSoles:
    """Contact spheres in a compiled model."""

    geoms: Ints
    """Shape (P,)."""
    sides: Ints
    """0 left, 1 right. Shape (P,)."""
    feet: tuple[int, int]
    """The bodies of the left and right foot."""


def standing_soles(
    model: mujoco.MjModel, skeleton: Skeleton, soles: Soles
) -> StandingSoles:
    """The spheres of a model that are soles; the uppermost body of a leg's is its foot."""
    owners = [
        int(model.jnt_bodyid[model.joint(skeleton.joints[joint]).id])
        for joint in soles.joints
    ]
    geoms = [
        min(
            np.flatnonzero(model.geom_bodyid == owner),
            key=lambda geom: float(np.linalg.norm(model.geom_pos[geom] - offset)),
        )
        for owner, offset in zip(owners, soles.offsets, strict=True)
    ]
    left, right = (
        min(
            owner for owner, own in zip(owners, soles.sides, strict=True) if own == side
        )
        for side in (0, 1)
    )
    return StandingSoles(np.array(geoms), np.array(soles.sides), (left, right))


class StandingPose:
    """Finds the pose of one body."""

    def __init__(
        self,
        model: mujoco.MjModel,
        soles: StandingSoles,
        joints: Sequence[int],
        knees: Sequence[int],
        leg: float,
        *,
        keeps_length: bool = False,
    ) -> None:
        """Prepare.

        Args:
            model: The body, in our conventions.
            soles: Its soles.
            joints: Joints of the legs.
            knees: Those among them that bend the knees.
            leg: Length of the legs, [m].
            keeps_length: Whether the soles of a side, those of two legs, stay as far
                ahead of each other as at rest.
        """
        self._model, self._soles, self._leg = model, soles, leg
        self._data = mujoco.MjData(model)
        mujoco.mj_forward(model, self._data)
        self._rest = model.qpos0.copy()
        low, high, start, weight, dofs = [], [], [], [], []
        for joint in joints:
            first = int(model.jnt_dofadr[joint])
            ball = int(model.jnt_type[joint]) == int(mujoco.mjtJoint.mjJNT_BALL)
            limited = bool(model.jnt_limited[joint])
            a, b = model.jnt_range[joint] if limited else (-3.0, 3.0)
            if ball:
                a = -0.5 * b
                b = 0.5 * b
            margin = min(MARGIN, 0.2 * (b - a))
            a, b = a + margin, b - margin
            for dof in range(first, first + (3 if ball else 1)):
                value, near = float(np.clip(0.0, a, b)), NEAR
                across = float(self._data.xaxis[joint, 1])
                bends = joint in knees and (limited or not keeps_length)
                if bends and not ball and abs(across) > 0.7 and b - a > 1.0:
                    # Limits say which way a knee bends; without a word of them, as ours do.
                    bend = a + b if abs(a + b) > 0.1 * (b - a) else across
                    value = float(np.clip(KNEE * np.sign(bend), a, b))
                    near = KNEES
                dofs.append(dof)
                low.append(a - 1e-6)
                high.append(b + 1e-6)
                start.append(value)
                weight.append(near)
        self._dofs = np.array(dofs, dtype=np.int64)
        self._low, self._high = np.array(low), np.array(high)
        self._start, self._weight = np.array(start), np.array(weight)
        hips = self._points_of_joints(joints)
        self._reach = np.full(2, np.inf)
        self._width = max(1.1 * hips, 0.18 * leg)
        turns = self._data.xmat[list(soles.feet)].reshape(2, 3, 3)
        self._lengths = self._lengths_of(self._bottoms()) if keeps_length else None
        self._ahead = turns.transpose(0, 2, 1) @ np.array([1.0, 0.0, 0.0])

    def solve(self, reach: Sequence[float] = (np.inf, np.inf)) -> Floats:
        """Return the pose, MuJoCo's positions (nq,): soles level, centre of mass over them.

        The centre of mass is over the middle of where the feet can press: within the soles,
        and as near to the feet's joints as their motors need.

        Args:
            reach: How far from the joint of the left and right foot its motors can carry
                half the weight, fore and aft, [m].
        """
        self._reach = np.asarray(reach, dtype=np.float64)
        lift = -self._bottoms()[:, 2].min()
        start = np.r_[np.clip(self._start, self._low, self._high), lift, 0.0, 0.0]
        low = np.r_[self._low, -5.0 * self._leg, -0.5, -0.5]
        high = np.r_[self._high, 5.0 * self._leg, 0.5, 0.5]
        if np.linalg.norm(start) < 0.1:  # the first step is as long as the start
            start[-3] += 0.1 * self._leg
        start = np.clip(start, low + 1e-9, high - 1e-9)
        found = least_squares(
            self._residuals, start, bounds=(low, high), max_nfev=ROUNDS
        )
        self._put(found.x)
        qpos: Floats = self._data.qpos.copy()
        qpos[2] -= self._bottoms()[:, 2].min() + DEPTH
        middle = self._middle()
        qpos[:2] -= middle[:2]
        return qpos

    def _points_of_joints(self, joints: Sequence[int]) -> float:
        """Distance between the hips sideways, [m]."""
        sides = self._data.xanchor[list(joints), 1]
        tops = self._data.xanchor[list(joints), 2]
        left = max(
            ((z, y) for y, z in zip(sides, tops, strict=True) if y > 0), default=(0, 0)
        )
        right = max(
            ((z, y) for y, z in zip(sides, tops, strict=True) if y < 0), default=(0, 0)
        )
        return float(left[1] - right[1])

    def _put(self, x: Floats) -> None:
        move = np.zeros(self._model.nv)
        move[self._dofs] = x[:-3]
        move[2] = x[-3]
        move[3:5] = x[-2:]
        qpos = self._rest.copy()
        mujoco.mj_integratePos(self._model, qpos, move, 1.0)
        self._data.qpos[:] = qpos
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)

    def _bottoms(self) -> Floats:
        """Lowest points of the contact spheres, (P, 3), [m]."""
        points: Floats = self._data.geom_xpos[self._soles.geoms].copy()
        points[:, 2] -= self._model.geom_size[self._soles.geoms, 0]
        return points

    def _lengths_of(self, points: Floats) -> Floats:
        """From the hindmost to the foremost sole of each side, (2,), [m]."""
        sides = self._soles.sides
        return np.array([np.ptp(points[sides == side, 0]) for side in (0, 1)])

    def _middle(self) -> Floats:
        """Middle of both soles, (3,), [m]."""
        points = self._bottoms()
        ends = [points[self._soles.sides == side] for side in (0, 1)]
        middle: Floats = np.mean([0.5 * (e.min(0) + e.max(0)) for e in ends], axis=0)
        return middle

    def _goal(self) -> Floats:
        """Where the centre of mass should be, (2,), [m]."""
        points = self._bottoms()
        goals = []
        for side, reach in enumerate(self._reach):
            own = points[self._soles.sides == side]
            heel, toe = own[:, 0].min(), own[:, 0].max()
            joint = self._data.xpos[self._soles.feet[side], 0]
            ends = np.clip([heel, toe], joint - reach, joint + reach)
            goals.append([np.clip(ends, heel, toe).mean(), 0.0])
        goal: Floats = np.mean(goals, axis=0)
        goal[1] = self._middle()[1]
        return goal

    def _residuals(self, x: Floats) -> Floats:
        self._put(x)
        leg, points = self._leg, self._bottoms()
        rows: list[float] = []
        for side in (0, 1):
            own = points[self._soles.sides == side]
            if len(own) > 1:  # of two, the slope along their line
                flat = own[:, :2] - own[:, :2].mean(axis=0)
                plane = np.c_[flat, np.ones(len(own))]
                slope = np.linalg.lstsq(plane, own[:, 2], rcond=None)[0]
                rows += [2.0 * slope[0], 2.0 * slope[1]]
            else:
                rows += [0.0, 0.0]
            rows.append(20.0 * float(own[:, 2].mean()) / leg)
            turn = self._data.xmat[self._soles.feet[side]].reshape(3, 3)
            rows.append(1.5 * float((turn @ self._ahead[side])[1]))
        com = self._data.subtree_com[1]
        rows += list(10.0 * (com[:2] - self._goal()) / leg)
        feet = [points[self._soles.sides == side].mean(axis=0) for side in (0, 1)]
        rows.append(4.0 * float(feet[0][1] - feet[1][1] - self._width) / leg)
        rows.append(4.0 * float(feet[0][0] - feet[1][0]))
        if self._lengths is not None:
            rows += list(4.0 * (self._lengths_of(points) - self._lengths) / leg)
        rows += list(self._weight * (x[:-3] - self._start))
        rows += list(2.0 * x[-2:])
        return np.array(rows)


def holding_torques(
    model: mujoco.MjModel, qpos: Floats, soles: StandingSoles
) -> Floats:
    """Return the torques that hold a pose against gravity on its soles, (nv,), [N m].

    Vertical forces under the soles carry the weight, as evenly as it can be.
    """
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_forward(model, data)
    places = data.geom_xpos[soles.geoms]
    lift = np.zeros((len(places), model.nv))
    for row, geom, place in zip(lift, soles.geoms, places, strict=True):
        jacobian = np.zeros((3, model.nv))
        body = int(model.geom_bodyid[geom])
        mujoco.mj_jac(model, data, jacobian, None, place, body)
        row[:] = jacobian[2]
    weight = float(model.body_mass.sum() * np.linalg.norm(model.opt.gravity))
    arms = places[:, :2] - data.subtree_com[1, :2]
    left = np.concatenate(
        [np.ones((1, len(places))), arms.T, 1e-3 * np.eye(len(places))]
    )
    right = np.r_[weight, 0.0, 0.0, np.full(len(places), 1e-3 * weight / len(places))]
    forces = nnls(left, right)[0]
    torques: Floats = data.qfrc_bias - data.qfrc_passive - lift.T @ forces
    torques[:6] = 0.0
    return torques
