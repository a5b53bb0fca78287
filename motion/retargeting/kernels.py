"""Compiled damped Gauss-Newton over the joints of a tree, frame after frame (numba).

The squared errors of points and orientations on a tree have normal equations of the form of its
mass matrix: J^T W J is the joint-space inertia of point masses W at the points, so that it is
assembled by composite bodies and factored without fill-in along the branches (R. Featherstone,
Rigid Body Dynamics Algorithms, Springer 2008, sections 6.2 and 6.5). A step costs O(n d) for n
degrees of freedom and depth d instead of O(n^3).

Internal: `ambulo.motion.retargeting.refine` prepares the arrays.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.configs.arrays import Array
from ambulo.motion.fk_kernel import place_pose
from ambulo.motion.quaternion_kernels import log_between, normalize, turn

FIXED, HINGE, BALL = 0, 1, 3
"""Kinds of joints: how many degrees of freedom each has."""

MAX_STEP = 0.5
"""Largest rotation of one joint in one step, [rad]: beyond it the linear model is poor."""


@njit(cache=True, inline="always")
def _matrix(q: Array, out: Array) -> None:
    """The rotation matrix (3, 3) of `q` (4,)."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    out[0, 0], out[0, 1], out[0, 2] = (
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
    )  # fmt: skip
    out[1, 0], out[1, 1], out[1, 2] = (
        2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
    )  # fmt: skip
    out[2, 0], out[2, 1], out[2, 2] = (
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y),
    )  # fmt: skip


@njit(cache=True)
def _turn(q: Array, x: float, y: float, z: float) -> None:
    """Rotate `q` (4,) in place as `turn`, and normalise it."""
    turn(q, x, y, z)
    normalize(q)


@njit(cache=True)
def _place(
    parents: Array, rest: Array, offsets: Array, local: Array,
    turned: Array, frames: Array, points: Array,
) -> None:  # fmt: skip
    """World orientations (J, 4), their matrices (J, 3, 3) and positions from the root's."""
    place_pose(parents, rest, offsets, np.zeros(3), local, points, turned)
    for joint in range(len(parents)):
        _matrix(turned[joint], frames[joint])


@njit(cache=True)
def _gather(
    parents: Array, points: Array, turned: Array, root: Array,
    goals: Array, weights: Array, aims: Array, aim_weights: Array,
    masses: Array, firsts: Array, inertias: Array, forces: Array, moments: Array,
) -> None:  # fmt: skip
    """Mass, first moment, inertia, force and moment about the root of each joint's subtree."""
    count = len(parents)
    miss, inverse = np.empty(3), np.empty((2, 4))
    for joint in range(count):
        weight = weights[joint]
        x, y, z = points[joint, 0], points[joint, 1], points[joint, 2]
        masses[joint] = weight
        firsts[joint, 0], firsts[joint, 1], firsts[joint, 2] = (
            weight * x, weight * y, weight * z,
        )  # fmt: skip
        turn = aim_weights[joint]
        inertias[joint, 0] = weight * (y * y + z * z) + turn
        inertias[joint, 1] = weight * (z * z + x * x) + turn
        inertias[joint, 2] = weight * (x * x + y * y) + turn
        inertias[joint, 3] = -weight * y * z
        inertias[joint, 4] = -weight * z * x
        inertias[joint, 5] = -weight * x * y
        for i in range(3):
            miss[i] = weight * (goals[joint, i] - root[i] - points[joint, i])
            forces[joint, i] = miss[i]
        moments[joint, 0] = y * miss[2] - z * miss[1]
        moments[joint, 1] = z * miss[0] - x * miss[2]
        moments[joint, 2] = x * miss[1] - y * miss[0]
        if turn > 0.0:
            # In world axes the remaining rotation is aim turned^-1.
            inverse[0, 0], inverse[1, 0] = aims[joint, 0], turned[joint, 0]
            for i in range(1, 4):
                inverse[0, i], inverse[1, i] = -aims[joint, i], -turned[joint, i]
            log_between(inverse[0], inverse[1], miss)
            for i in range(3):
                moments[joint, i] += turn * miss[i]
    for joint in range(count - 1, 0, -1):
        parent = parents[joint]
        masses[parent] += masses[joint]
        for i in range(3):
            firsts[parent, i] += firsts[joint, i]
            forces[parent, i] += forces[joint, i]
            moments[parent, i] += moments[joint, i]
        for i in range(6):
            inertias[parent, i] += inertias[joint, i]


@njit(cache=True)
def _assemble(
    dof_joints: Array, dof_parents: Array, spins: Array, speeds: Array,
    masses: Array, firsts: Array, inertias: Array, forces: Array, moments: Array,
    normal: Array, rhs: Array,
) -> None:  # fmt: skip
    """The normal equations' matrix (lower branches only) and right-hand side."""
    for dof in range(len(dof_joints)):
        joint = dof_joints[dof]
        wx, wy, wz = spins[dof, 0], spins[dof, 1], spins[dof, 2]
        vx, vy, vz = speeds[dof, 0], speeds[dof, 1], speeds[dof, 2]
        sx, sy, sz = firsts[joint, 0], firsts[joint, 1], firsts[joint, 2]
        mass, inertia = masses[joint], inertias[joint]
        px = mass * vx + wy * sz - wz * sy
        py = mass * vy + wz * sx - wx * sz
        pz = mass * vz + wx * sy - wy * sx
        lx = sy * vz - sz * vy + inertia[0] * wx + inertia[5] * wy + inertia[4] * wz
        ly = sz * vx - sx * vz + inertia[5] * wx + inertia[1] * wy + inertia[3] * wz
        lz = sx * vy - sy * vx + inertia[4] * wx + inertia[3] * wy + inertia[2] * wz
        above = dof
        while above >= 0:
            w, v = spins[above], speeds[above]
            normal[dof, above] = (
                w[0] * lx + w[1] * ly + w[2] * lz + v[0] * px + v[1] * py + v[2] * pz
            )
            above = dof_parents[above]
        f, n = forces[joint], moments[joint]
        rhs[dof] = vx * f[0] + vy * f[1] + vz * f[2] + wx * n[0] + wy * n[1] + wz * n[2]


@njit(cache=True)
def _solve(dof_parents: Array, normal: Array, x: Array) -> None:
    """`normal` x = x in place; L^T L along the branches (Featherstone, tables 6.3, 6.5)."""
    count = len(dof_parents)
    for k in range(count - 1, -1, -1):
        normal[k, k] = math.sqrt(normal[k, k])
        i = dof_parents[k]
        while i >= 0:
            normal[k, i] /= normal[k, k]
            i = dof_parents[i]
        i = dof_parents[k]
        while i >= 0:
            j = i
            while j >= 0:
                normal[i, j] -= normal[k, i] * normal[k, j]
                j = dof_parents[j]
            i = dof_parents[i]
    for i in range(count - 1, -1, -1):
        x[i] /= normal[i, i]
        j = dof_parents[i]
        while j >= 0:
            x[j] -= normal[i, j] * x[i]
            j = dof_parents[j]
    for i in range(count):
        j = dof_parents[i]
        while j >= 0:
            x[i] -= normal[i, j] * x[j]
            j = dof_parents[j]
        x[i] /= normal[i, i]


@njit(cache=True)
def _axes(
    kinds: Array,
    hinges: Array,
    frames: Array,
    points: Array,
    spins: Array,
    speeds: Array,
) -> None:
    """Each degree of freedom's angular velocity and its velocity at the origin."""
    spins[:3] = 0.0
    speeds[:3] = 0.0
    for i in range(3):
        speeds[i, i] = 1.0
    dof = 3
    for joint in range(len(kinds)):
        for k in range(kinds[joint]):
            for i in range(3):
                if kinds[joint] == BALL:
                    spins[dof, i] = frames[joint, i, k]
                else:
                    spins[dof, i] = (
                        frames[joint, i, 0] * hinges[joint, 0]
                        + frames[joint, i, 1] * hinges[joint, 1]
                        + frames[joint, i, 2] * hinges[joint, 2]
                    )
            w, p = spins[dof], points[joint]
            speeds[dof, 0] = p[1] * w[2] - p[2] * w[1]
            speeds[dof, 1] = p[2] * w[0] - p[0] * w[2]
            speeds[dof, 2] = p[0] * w[1] - p[1] * w[0]
            dof += 1


@njit(cache=True)
def refine(
    parents: Array, rest: Array, offsets: Array, kinds: Array, hinges: Array,
    limits: Array, dof_joints: Array, dof_parents: Array,
    root: Array, local: Array, pull_local: Array, corrections: Array,
    goals: Array, weights: Array, aims: Array, aim_weights: Array,
    pulls: Array, smooths: Array, limit_weight: float, sweeps: int,
) -> None:  # fmt: skip
    """Optimise the poses of T frames by least squares, in place.

    Args:
        parents: Index of each joint's parent. Shape (J,).
        rest: Rest orientations, wxyz. Shape (J, 4).
        offsets: Joint from parent, [m]. Shape (J, 3).
        kinds: Degrees of freedom of each joint: 0, 1 or 3. Shape (J,).
        hinges: Axes of the hinges in their own frames. Shape (J, 3).
        limits: Lowest and highest angle of each hinge, [rad]. Shape (J, 2).
        dof_joints: Joint of each degree of freedom, three shifts of the root first. (D,).
        dof_parents: The degree of freedom above each; -1 for the first. (D,).
        root: Positions of the root, [m]; changed. (T, 3).
        local: Local rotations, wxyz; changed. (T, J, 4).
        pull_local: Local rotations that attract the pose. (T, J, 4).
        corrections: Present corrections from there, [m] and [rad]; changed. (T, D).
        goals: Target positions of the joints, [m]. (T, J, 3).
        weights: Weights of the joints' distances. (T, J).
        aims: Target world orientations of the joints, wxyz. (T, J, 4).
        aim_weights: Weights of the joints' angles to them, [m^2/rad^2]. (T, J).
        pulls: Weight of each correction. (D,).
        smooths: Weight of its difference to the neighbours in time. (D,).
        limit_weight: Weight of a hinge's angle beyond its limits, [m^2/rad^2].
        sweeps: Passes over the frames, forwards and backwards in turn.
    """
    frames_count, count = len(root), len(parents)
    dofs = len(dof_joints)
    turned, frames = np.empty((count, 4)), np.empty((count, 3, 3))
    points = np.empty((count, 3))
    masses, firsts = np.empty(count), np.empty((count, 3))
    inertias = np.empty((count, 6))
    forces, moments = np.empty((count, 3)), np.empty((count, 3))
    spins, speeds = np.empty((dofs, 3)), np.empty((dofs, 3))
    normal, step = np.zeros((dofs, dofs)), np.empty(dofs)
    for sweep in range(sweeps):
        for index in range(frames_count):
            t = index if sweep % 2 == 0 else frames_count - 1 - index
            _place(parents, rest, offsets, local[t], turned, frames, points)
            _gather(
                parents, points, turned, root[t], goals[t], weights[t], aims[t],
                aim_weights[t], masses, firsts, inertias, forces, moments,
            )  # fmt: skip
            _axes(kinds, hinges, frames, points, spins, speeds)
            _assemble(
                dof_joints, dof_parents, spins, speeds, masses, firsts, inertias,
                forces, moments, normal, step,
            )  # fmt: skip
            _draw(corrections, t, pulls, smooths, normal, step)
            _limit(kinds, hinges, limits, local[t], limit_weight, normal, step)
            _solve(dof_parents, normal, step)
            _apply(kinds, hinges, step, local[t], pull_local[t], corrections[t])
            for i in range(3):
                root[t, i] += step[i]
                corrections[t, i] += step[i]


@njit(cache=True)
def _draw(
    corrections: Array, t: int, pulls: Array, smooths: Array, normal: Array, step: Array
) -> None:  # fmt: skip
    """Add the costs of the corrections, and of their differences to neighbouring frames."""
    for dof in range(len(step)):
        here = corrections[t, dof]
        normal[dof, dof] += pulls[dof]
        step[dof] -= pulls[dof] * here
        if t > 0:
            normal[dof, dof] += smooths[dof]
            step[dof] += smooths[dof] * (corrections[t - 1, dof] - here)
        if t + 1 < len(corrections):
            normal[dof, dof] += smooths[dof]
            step[dof] += smooths[dof] * (corrections[t + 1, dof] - here)


@njit(cache=True)
def _limit(
    kinds: Array, hinges: Array, limits: Array, local: Array, weight: float,
    normal: Array, step: Array,
) -> None:  # fmt: skip
    """Add the cost of every hinge angle beyond its limits."""
    dof = 3
    for joint in range(len(kinds)):
        if kinds[joint] == HINGE:
            angle = hinge_angle(local[joint], hinges[joint])
            inside = min(max(angle, limits[joint, 0]), limits[joint, 1])
            if angle != inside:
                normal[dof, dof] += weight
                step[dof] += weight * (inside - angle)
        dof += kinds[joint]


@njit(cache=True)
def _apply(
    kinds: Array, hinges: Array, step: Array, local: Array, pull_local: Array, here: Array
) -> None:  # fmt: skip
    """Rotate the joints of one frame, in place, and update the corrections."""
    vector = np.empty(3)
    largest = MAX_STEP
    for dof in range(3, len(step)):
        largest = max(largest, abs(step[dof]))
    step *= MAX_STEP / largest
    dof = 3
    for joint in range(len(kinds)):
        if kinds[joint] == BALL:
            _turn(local[joint], step[dof], step[dof + 1], step[dof + 2])
            log_between(pull_local[joint], local[joint], vector)
            for i in range(3):
                here[dof + i] = vector[i]
        elif kinds[joint] == HINGE:
            h, angle = hinges[joint], step[dof]
            _turn(local[joint], angle * h[0], angle * h[1], angle * h[2])
            here[dof] += angle
        dof += kinds[joint]


@njit(cache=True, inline="always")
def hinge_angle(q: Array, axis: Array) -> float:
    """The angle in (-pi, pi], [rad], of a rotation `q` (4,) about `axis` (3,)."""
    along = q[1] * axis[0] + q[2] * axis[1] + q[3] * axis[2]
    if q[0] < 0.0:
        return 2.0 * math.atan2(-along, -q[0])
    return 2.0 * math.atan2(along, q[0])
