"""Compiled: Levenberg-Marquardt steps of one character after the other.

Each step solves, over turns d of the joints and the way of the root,

    min |d - d0|^2_W   so that   J d = r     (damped: + r^T S^2 r / lambda)

with W the stiffness and d0 the way back to the posture: y from
(J W^-1 J^T + lambda S^-2) y = r - J d0, then d = d0 + W^-1 J^T y. The damping follows the
error, lambda = a E + b (T. Sugihara, IEEE Transactions on Robotics 27(5), 2011), and a step
counts only if the error falls. Limits are an active set: a joint that would leave its
limits is put on the rim (its d0), keeps the directions along the rim, and the step is
solved again; it is let go when the step pulls it inside. Not for callers:
`ambulo.ik.refine` prepares the arrays.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from numba import njit

from ambulo.ik.kernels_limits import (
    COMPLIANCE,
    SWING,
    TWIST,
    clamp_one,
    is_outside,
    limit_normals,
    multiply,
    rotate,
)
from ambulo.ik.kernels_matrix import build_matrix, factor_and_solve, lock_direction
from ambulo.ik.kernels_tree import (
    BASE,
    USED,
    subtract_motion,
    tree_sums,
    turns_of_targets,
)

Array = Any

STRETCH = 0.9998
"""Part of a limb's length that targets beyond its reach are projected to: a limb that is
quite straight cannot be turned towards its target."""

ROUNDS = 3
"""How often a step is solved anew for limits."""

INWARDS = 1e-9
"""A joint at a limit is let go if the step pulls it inside by more than this, [rad]."""


class Body(NamedTuple):
    """What stays the same for a rig; layouts in `ambulo.ik.kernels_tree`."""

    tree: Array  # (J, 8)
    table: Array  # (J, 18)
    ends: Array  # (6, 8)
    reaches: Array  # (6,) [m]
    slide: Array  # (1,) 1 / stiffness of the root's place


class Task(NamedTuple):
    """What one character is asked for."""

    rows: Array  # (6, 2) first row of a target's position and rotation, or -1
    order: Array  # (k,) targets in the order of their rows
    weights: Array  # (6, 2) weights, those of rotations times [m/rad]^2
    free: Array  # (2,) 1 where the root may move and turn, else 0
    wanted: Array  # (6, 3) positions about the root's start, [m]
    turn: Array  # (6, 4) orientations
    root: Array  # (3,) where the root is pulled to
    posture: Array  # (J, 4) where the joints are pulled to


class State(NamedTuple):
    """Where a character is."""

    root: Array  # (3,)
    local: Array  # (J, 4)
    p: Array  # (J, 3)
    q: Array  # (J, 4)
    goal: Array  # (6, 3) `wanted` within reach
    r: Array  # (n,) residuals


class Work(NamedTuple):
    """Work space of a step."""

    bits: Array  # (J,) active set: limits at which a joint stands
    kept: Array  # (J,) the same before the step
    normals: Array  # (J, 2, 3) their directions in the joint's frame, orthonormal
    d: Array  # (J, 3) the step, and (3,) of the root
    slide: Array
    d0: Array  # (J, 3) what the step is wanted to be, and (3,) of the root
    way: Array
    trial: Array  # (J, 4)
    sums: Array  # (J, 10)
    wrench: Array  # (J, 6)
    matrix: Array  # (n, n)
    first: Array  # (n,)
    y: Array  # (n,)
    g: Array  # (n,)


@njit(cache=True)
def turn_by(local: Array, d: Array, j: int, scale: float, out: Array) -> None:
    """out[j] = local[j] exp(scale d[j]), the exponential by Cayley's form, unit length."""
    h = 0.5 * scale
    w, x, y, z = multiply(
        local[j, 0], local[j, 1], local[j, 2], local[j, 3],
        1.0, h * d[j, 0], h * d[j, 1], h * d[j, 2],
    )  # fmt: skip
    n = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    out[j, 0], out[j, 1], out[j, 2], out[j, 3] = w * n, x * n, y * n, z * n


@njit(cache=True)
def way_between(a: Array, b: Array, j: int, scale: float, out: Array) -> None:
    """out[j] = scale times the d with a[j] exp(d) = b[j], by Cayley's form."""
    w, x, y, z = multiply(
        a[j, 0], -a[j, 1], -a[j, 2], -a[j, 3], b[j, 0], b[j, 1], b[j, 2], b[j, 3]
    )
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    scale *= 2.0 / max(w, 0.5)  # beyond 2 pi / 3 the way is cut short
    out[j, 0], out[j, 1], out[j, 2] = x * scale, y * scale, z * scale


@njit(cache=True)
def clamp_joint(table: Array, q: Array, j: int) -> int:
    """Put q[j] inside its limits; the bits of those that cut it."""
    w, x, y, z, bits = clamp_one(table, j, q[j, 0], q[j, 1], q[j, 2], q[j, 3])
    q[j, 0], q[j, 1], q[j, 2], q[j, 3] = w, x, y, z
    return bits


@njit(cache=True)
def reachable_goals(
    ends: Array,
    rows: Array,
    reaches: Array,
    slack: Array,
    wanted: Array,
    p: Array,
    goal: Array,
) -> None:
    """Fill `goal` (6, 3): `wanted`, or where the limb can reach in its direction."""
    for e in range(len(ends)):
        if rows[e, 0] < 0:
            continue
        b = ends[e, BASE]
        x, y, z = wanted[e, 0] - p[b, 0], wanted[e, 1] - p[b, 1], wanted[e, 2] - p[b, 2]
        length = math.sqrt(x * x + y * y + z * z)
        most = reaches[e] * STRETCH + slack[e]
        scale = most / length if length > most else 1.0
        goal[e, 0] = p[b, 0] + x * scale
        goal[e, 1] = p[b, 1] + y * scale
        goal[e, 2] = p[b, 2] + z * scale


@njit(cache=True)
def error_of(rows: Array, weights: Array, r: Array) -> float:
    """Half the weighted square of the residuals `r` (n,), [m^2]."""
    total = 0.0
    for e in range(len(rows)):
        for part in range(2):
            k = rows[e, part]
            if k >= 0:
                square = r[k] * r[k] + r[k + 1] * r[k + 1] + r[k + 2] * r[k + 2]
                total += weights[e, part] * square
    return 0.5 * total


@njit(cache=True)
def is_reached(rows: Array, near: float, aligned: float, r: Array) -> bool:
    """Whether all residuals are within `near`, [m], and `aligned`, [rad]."""
    for e in range(len(rows)):
        for part in range(2):
            k = rows[e, part]
            if k >= 0:
                most = aligned if part else near
                square = r[k] * r[k] + r[k + 1] * r[k + 1] + r[k + 2] * r[k + 2]
                if square > most * most:
                    return False
    return True


@njit(cache=True)
def remove_normals(normals: Array, bits: int, j: int, v: Array) -> None:
    """Make v[j] square to the active ones of `normals` (2, 3), orthonormal."""
    for row in range(2):
        if bits & (SWING if row == 0 else TWIST):
            dot = (
                normals[row, 0] * v[j, 0] + normals[row, 1] * v[j, 1]
                + normals[row, 2] * v[j, 2]
            )  # fmt: skip
            for i in range(3):
                v[j, i] -= dot * normals[row, i]


@njit(cache=True)
def normals_of(table: Array, q: Array, j: int, bits: int, out: Array) -> None:
    """`limit_normals` of q[j], the twist's made square to the swing's if both count."""
    limit_normals(table, j, q[j, 0], q[j, 1], q[j, 2], q[j, 3], out)
    if bits == SWING | TWIST:
        dot = out[0, 0] * out[1, 0] + out[0, 1] * out[1, 1] + out[0, 2] * out[1, 2]
        total = 0.0
        for i in range(3):
            out[1, i] -= dot * out[0, i]
            total += out[1, i] * out[1, i]
        scale = 1.0 / math.sqrt(total) if total > 1e-12 else 0.0
        for i in range(3):
            out[1, i] *= scale


@njit(cache=True)
def start_step(body: Body, task: Task, posture: float, at: State, w: Work) -> None:
    """Fill `w.d0`, `w.way` with the way back to the posture, and the active normals."""
    tree, local, goal, d0, bits = body.tree, at.local, task.posture, w.d0, w.bits
    for j in range(len(tree)):
        if tree[j, USED] == 0:
            continue
        if posture > 0.0:
            way_between(local, goal, j, posture, d0)
        else:
            d0[j, 0] = d0[j, 1] = d0[j, 2] = 0.0
        if bits[j]:
            normals_of(body.table, local, j, bits[j], w.normals[j])
            remove_normals(w.normals[j], bits[j], j, d0)
    if task.free[1] == 0.0:
        d0[0, 0] = d0[0, 1] = d0[0, 2] = 0.0
    for i in range(3):
        w.way[i] = task.free[0] * posture * (task.root[i] - at.root[i])


@njit(cache=True)
def solve_system(
    body: Body, task: Task, damping: float, moved: bool, at: State, w: Work
) -> bool:
    """Fill `w.wrench` from the residuals less what `w.d0` does; False if singular."""
    tree, rows, order, p, q = body.tree, task.rows, task.order, at.p, at.q
    slide = task.free[0] * body.slide[0]
    build_matrix(body.ends, rows, order, w.sums, slide, p, w.matrix, w.first)
    bits = w.bits
    for j in range(1, len(tree)):
        if bits[j] == 0 or tree[j, USED] == 0:
            continue
        for row in range(2):
            if bits[j] & (SWING if row == 0 else TWIST):
                n = w.normals[j, row]
                x, y, z = rotate(q[j, 0], q[j, 1], q[j, 2], q[j, 3], n[0], n[1], n[2])
                lock_direction(
                    tree, body.ends, rows, order, j, body.table[j, COMPLIANCE],
                    x, y, z, p, w.g, w.matrix, w.first,
                )  # fmt: skip
    for e in order:
        for part in range(2):
            k = rows[e, part]
            if k >= 0:
                for i in range(3):
                    w.matrix[k + i, k + i] += damping / task.weights[e, part]
    for k in range(len(at.r)):
        w.y[k] = at.r[k]
    if moved:
        subtract_motion(tree, body.ends, rows, w.d0, w.way, p, q, w.wrench, w.y)
    if not factor_and_solve(w.matrix, w.first, w.y):
        return False
    turns_of_targets(tree, body.ends, rows, w.y, p, w.wrench)
    return True


@njit(cache=True)
def read_step(body: Body, task: Task, last: bool, at: State, w: Work) -> bool:
    """Fill `w.d` from `w.wrench`; True if a joint left its limit's active set."""
    # Arrays are taken out of the tuples before loops: numba counts references to each.
    released = False
    tree, table, p, q, f = body.tree, body.table, at.p, at.q, w.wrench
    d, d0, bits, normals = w.d, w.d0, w.bits, w.normals
    for j in range(len(tree)):
        if tree[j, USED] == 0:
            continue
        c = table[j, COMPLIANCE] * (task.free[1] if j == 0 else 1.0)
        x, y, z = rotate(
            q[j, 0], -q[j, 1], -q[j, 2], -q[j, 3],
            c * (f[j, 0] - (p[j, 1] * f[j, 5] - p[j, 2] * f[j, 4])),
            c * (f[j, 1] - (p[j, 2] * f[j, 3] - p[j, 0] * f[j, 5])),
            c * (f[j, 2] - (p[j, 0] * f[j, 4] - p[j, 1] * f[j, 3])),
        )  # fmt: skip
        d[j, 0], d[j, 1], d[j, 2] = x, y, z
        if bits[j]:
            for row in range(2):
                bit = SWING if row == 0 else TWIST
                n = normals[j, row]
                inwards = n[0] * x + n[1] * y + n[2] * z < -INWARDS
                if bits[j] & bit and inwards and not last:
                    bits[j] ^= bit
                    released = True
            remove_normals(normals[j], bits[j], j, d)
        for i in range(3):
            d[j, i] += d0[j, i]
    for i in range(3):
        w.slide[i] = w.way[i] + task.free[0] * body.slide[0] * f[0, 3 + i]
    return released


@njit(cache=True)
def try_step(body: Body, task: Task, cap: float, at: State, w: Work) -> bool:
    """Fill `w.trial` (J, 4), inside the limits; True if a joint met a limit anew."""
    tree, table, local, trial = body.tree, body.table, at.local, w.trial
    d, bits = w.d, w.bits
    largest = 0.0
    for j in range(len(tree)):
        if tree[j, USED]:
            square = d[j, 0] * d[j, 0] + d[j, 1] * d[j, 1] + d[j, 2] * d[j, 2]
            largest = max(largest, square)
    largest = math.sqrt(largest)
    scale = cap / largest if largest > cap else 1.0
    caught = False
    for j in range(len(tree)):
        if tree[j, USED] == 0 or (j == 0 and task.free[1] == 0.0):
            continue
        turn_by(local, d, j, scale, trial)
        if j == 0 or not is_outside(
            table, j, trial[j, 0], trial[j, 1], trial[j, 2], trial[j, 3]
        ):
            continue
        cut = clamp_joint(table, trial, j)
        if cut & ~bits[j]:
            bits[j] |= cut
            caught = True
            # To the rim now; what goes along the rim the next round finds.
            way_between(local, trial, j, 1.0, w.d0)
            normals_of(table, trial, j, bits[j], w.normals[j])
    for i in range(3):
        w.slide[i] *= scale
    return caught


@njit(cache=True)
def find_step(
    body: Body,
    task: Task,
    damping: float,
    posture: float,
    cap: float,
    at: State,
    w: Work,
) -> bool:
    """Find `w.trial` and `w.slide`, the next place inside the limits; False if none."""
    tree_sums(body.tree, body.table, task.free[1] > 0.0, at.p, w.sums)
    start_step(body, task, posture, at, w)
    moved = posture > 0.0
    for turn in range(ROUNDS):
        if not solve_system(body, task, damping, moved, at, w):
            return False
        released = read_step(body, task, turn == ROUNDS - 1, at, w)
        caught = try_step(body, task, cap, at, w)
        if not (caught or released):
            break
        moved = True
    return True
