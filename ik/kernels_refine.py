"""Compiled: poses led to their targets, one character of a batch after the other.

Not for callers: `ambulo.ik.refine` prepares the arrays.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from ambulo.ik.kernels_limits import REST, is_outside, multiply
from ambulo.ik.kernels_solve import (
    STRETCH,
    Body,
    State,
    Task,
    Work,
    clamp_joint,
    error_of,
    find_step,
    is_reached,
    reachable_goals,
)
from ambulo.ik.kernels_tree import BASE, JOINT, PARENT, SUMS, place_joints, residuals

Array = Any

HIPS = 5
"""Row of the hips in the targets."""

# Indices of the settings, see `ambulo.ik.refine.RefineConfig.settings`.
NEAR, ALIGNED, STOP, CAP, POSTURE, DAMPING, FLOOR, LENGTH, SLACK = range(9)

SHIFT = 0.3
"""A character without hips whose targets lie further off, [m], is moved."""


@njit(cache=True)
def follow_hips(
    body: Body, place: Array, turn: Array, moved: float, turned: float,
    root: Array, local: Array,
) -> None:  # fmt: skip
    """Put the hips on their target, or part of the way where its weight is below 1."""
    if moved > 0.0:
        t = min(moved, 1.0)
        for i in range(3):
            root[i] = place[i] if t == 1.0 else root[i] + t * (place[i] - root[i])
    if turned > 0.0:
        t = min(turned, 1.0)
        k = REST
        w, x, y, z = multiply(
            body.table[0, k], -body.table[0, k + 1],
            -body.table[0, k + 2], -body.table[0, k + 3],
            turn[0], turn[1], turn[2], turn[3],
        )  # fmt: skip
        dot = local[0, 0] * w + local[0, 1] * x + local[0, 2] * y + local[0, 3] * z
        u = (1.0 - t) * (-1.0 if dot < 0.0 else 1.0)
        local[0, 0], local[0, 1] = u * local[0, 0] + t * w, u * local[0, 1] + t * x
        local[0, 2], local[0, 3] = u * local[0, 2] + t * y, u * local[0, 3] + t * z


@njit(cache=True)
def clamp_pose(body: Body, local: Array) -> None:
    """Bring the rotations `local` (J, 4) to unit length and inside the limits."""
    table = body.table
    for j in range(len(body.tree)):
        w, x, y, z = local[j, 0], local[j, 1], local[j, 2], local[j, 3]
        n = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
        local[j, 0], local[j, 1], local[j, 2], local[j, 3] = w * n, x * n, y * n, z * n
        if j > 0 and is_outside(
            table, j, local[j, 0], local[j, 1], local[j, 2], local[j, 3]
        ):
            clamp_joint(table, local, j)


@njit(cache=True)
def place(body: Body, task: Task, slack: Array, at: State) -> float:
    """Fill positions, goals and residuals of `at`; its error."""
    place_joints(body.tree, body.table, at.root, at.local, at.p, at.q)
    reachable_goals(
        body.ends, task.rows, body.reaches, slack, task.wanted, at.p, at.goal
    )
    residuals(body.ends, task.rows, at.goal, task.turn, at.p, at.q, at.r)
    return error_of(task.rows, task.weights, at.r)


@njit(cache=True)
def is_met(rows: Array, settings: Array, part: float, r: Array) -> bool:
    """Whether all residuals are within this part of the tolerances."""
    return is_reached(rows, part * settings[NEAR], part * settings[ALIGNED], r)


@njit(cache=True)
def descend(
    body: Body, task: Task, settings: Array, steps: int, slack: Array,
    one: State, two: State, w: Work,
) -> tuple[State, State, int]:  # fmt: skip
    """Up to `steps` steps from `one`; where it ended, the other buffer, steps taken."""
    at, other = one, two
    error = place(body, task, slack, at)
    boost, posture = 1.0, 0.0
    for step in range(steps):
        if is_met(task.rows, settings, settings[STOP], at.r):
            return at, other, step
        damping = boost * (settings[DAMPING] * error + settings[FLOOR])
        w.kept[:] = w.bits
        found = find_step(body, task, damping, posture, settings[CAP], at, w)
        if found:
            for i in range(3):
                other.root[i] = at.root[i] + w.slide[i]
            for j in range(len(body.tree)):
                for i in range(4):
                    other.local[j, i] = w.trial[j, i]
            after = place(body, task, slack, other)
        if found and after < error:
            at, other, error = other, at, after
            boost = max(1.0, 0.1 * boost)
            posture = settings[POSTURE]
        else:
            w.bits[:] = w.kept
            boost *= 10.0
            posture = 0.0
    return at, other, steps


@njit(cache=True)
def beyond_reach(body: Body, task: Task, near: float, slack: Array, at: State) -> bool:
    """Whether targets lie beyond their limbs; they are put where these reach now.

    Within `near`, [m], of the reach they count as met.
    """
    far, most = np.zeros(6), 0.0
    for e in range(len(body.ends)):
        if task.rows[e, 0] < 0 or slack[e] == 0.0:
            continue
        b = body.ends[e, BASE]
        square = 0.0
        for i in range(3):
            square += (task.wanted[e, i] - at.p[b, i]) ** 2
        far[e] = math.sqrt(square) - body.reaches[e]
        most = max(most, far[e])
    if most <= near:
        return False
    # A free root that one far target pulls takes the other limbs' bases along.
    least = max(near, 0.5 * most if task.free[0] > 0.0 else 0.0)
    for e in range(len(body.ends)):
        if far[e] > least:
            b = body.ends[e, BASE]
            scale = STRETCH * body.reaches[e] / (far[e] + body.reaches[e])
            for i in range(3):
                task.wanted[e, i] = at.p[b, i] + scale * (
                    task.wanted[e, i] - at.p[b, i]
                )
            slack[e] = 0.0
    return True


@njit(cache=True)
def find_rows(
    order: Array, moved: Array, turned: Array, rows: Array
) -> tuple[int, int]:
    """Fill `rows` (6, 2); how many targets are there, and how many rows. Hips have none."""
    targets, n = 0, 0
    for e in order:
        rows[e, 0] = rows[e, 1] = -1
        if moved[e] > 0.0:
            rows[e, 0] = n
            n += 3
        if turned[e] > 0.0:
            rows[e, 1] = n
            n += 3
        targets += rows[e, 0] >= 0 or rows[e, 1] >= 0
    rows[HIPS, 0] = rows[HIPS, 1] = -1
    return targets, n


@njit(cache=True)
def new_state(joints: int, n: int) -> State:
    """A place for a character with n residuals."""
    return State(
        np.empty(3), np.empty((joints, 4)), np.empty((joints, 3)), np.empty((joints, 4)),
        np.empty((6, 3)), np.empty(n),
    )  # fmt: skip


@njit(cache=True)
def new_work(joints: int, n: int) -> Work:
    """Work space for n residuals."""
    return Work(
        np.zeros(joints, np.int64), np.zeros(joints, np.int64), np.zeros((joints, 2, 3)),
        np.zeros((joints, 3)), np.zeros(3), np.zeros((joints, 3)), np.zeros(3),
        np.empty((joints, 4)), np.empty((joints, SUMS)), np.empty((joints, 6)),
        np.empty((n, n)), np.empty(n, np.int64), np.empty(n), np.empty(n),
    )  # fmt: skip


@njit(cache=True)
def refine_batch(
    tree: Array,
    table: Array,
    ends: Array,
    reaches: Array,
    compliance: float,
    in_order: Array,
    settings: Array,
    steps: int,
    extra: int,
    positions: Array,
    rotations: Array,
    moved: Array,
    turned: Array,
    root: Array,
    local: Array,
    missing: Array,
    reached: Array,
    taken: Array,
) -> None:
    """Lead `root` (B, 3) and `local` (B, J, 4) to the targets, in place.

    `in_order` (5,) are the effectors in the order of their rows. Fills `missing`
    (2, B, 6), the distance [m] and the angle [rad] to each target as it was given, 0 where
    absent; `reached` (B, 6); and `taken` (B,), how many steps it took.
    """
    joints = len(tree)
    body = Body(tree, table, ends, reaches, np.full(1, compliance))
    rows, weights, slack = np.empty((6, 2), np.int64), np.empty((6, 2)), np.empty(6)
    free, wanted, origin, still = (
        np.empty(2),
        np.empty((6, 3)),
        np.empty(3),
        np.zeros(3),
    )
    posture = np.empty((joints, 4))
    known, order = -1, in_order[:0].copy()
    one, two, work = new_state(joints, 0), new_state(joints, 0), new_work(joints, 0)
    for b in range(len(root)):
        targets, n = find_rows(in_order, moved[b], turned[b], rows)
        if n != known:
            known = n
            one, two = new_state(joints, n), new_state(joints, n)
            work = new_work(joints, n)
        if len(order) != targets:
            order = np.empty(targets, np.int64)
        k = 0
        for e in in_order:
            if rows[e, 0] >= 0 or rows[e, 1] >= 0:
                order[k] = e
                k += 1
        follow_hips(
            body, positions[b, HIPS], rotations[b, HIPS], moved[b, HIPS], turned[b, HIPS],
            root[b], local[b],
        )  # fmt: skip
        clamp_pose(body, local[b])
        free[0] = 1.0 if moved[b, HIPS] == 0.0 else 0.0
        free[1] = 1.0 if turned[b, HIPS] == 0.0 else 0.0
        origin[:] = root[b]
        one.root[:] = 0.0
        one.local[:] = local[b]
        posture[:] = local[b]
        work.trial[:] = local[b]
        work.bits[:] = 0
        for e in range(6):
            weights[e, 0] = moved[b, e]
            weights[e, 1] = turned[b, e] * settings[LENGTH] ** 2
            for i in range(3):
                wanted[e, i] = positions[b, e, i] - origin[i]
            base = ends[e, BASE]
            fixed = base == 0 or tree[base, PARENT] == 0
            fixed = fixed and free[0] == 0.0 and free[1] == 0.0
            slack[e] = 0.0 if fixed else settings[SLACK]
        task = Task(rows, order, weights, free, wanted, rotations[b], still, posture)
        if free[0] == 1.0:
            come_near(body, task, one)
        at, other, taken[b] = descend(
            body, task, settings, steps, slack, one, two, work
        )
        close = settings[STOP] * settings[NEAR]
        blocked = beyond_reach(body, task, close, slack, at)
        if extra > 0 and (blocked or not is_met(rows, settings, 1.0, at.r)):
            at, other, more = descend(
                body, task, settings, extra, slack, at, other, work
            )
            taken[b] += more
            judge(body, positions[b], origin, moved[b], turned[b], rotations[b], settings,
                  at, missing[:, b], reached[b])  # fmt: skip
            taken[b] += give_up_worst(
                body, task, in_order, settings, extra, slack, moved[b], turned[b], at,
                missing[:, b], reached[b],
            )  # fmt: skip
        for i in range(3):
            root[b, i] = origin[i] + at.root[i]
        local[b] = at.local
        judge(body, positions[b], origin, moved[b], turned[b], rotations[b], settings, at,
              missing[:, b], reached[b])  # fmt: skip


@njit(cache=True)
def give_up_worst(
    body: Body, task: Task, in_order: Array, settings: Array, steps: int, slack: Array,
    moved: Array, turned: Array, at: State, missing: Array, reached: Array,
) -> int:  # fmt: skip
    """Leave out the target that is missed most, if the others can then be met.

    Limits can make a target unreachable that is near enough; least squares would spread
    its error over all others. From where `at` is, the others are met without it; `at`
    moves there if that meets them all. The steps that it took.
    """
    worst, most, missed = -1, 0.0, 0
    for e in in_order:
        if not reached[e]:
            missed += 1
            far = max(missing[0, e] / settings[NEAR], missing[1, e] / settings[ALIGNED])
            if far > most:
                worst, most = e, far
    if missed < 2:
        return 0
    place_left, turn_left = moved.copy(), turned.copy()
    place_left[worst] = turn_left[worst] = 0.0
    rows = np.empty((6, 2), np.int64)
    targets, n = find_rows(in_order, place_left, turn_left, rows)
    order = np.empty(targets, np.int64)
    k = 0
    for e in in_order:
        if rows[e, 0] >= 0 or rows[e, 1] >= 0:
            order[k] = e
            k += 1
    joints = len(body.tree)
    one, two, work = new_state(joints, n), new_state(joints, n), new_work(joints, n)
    one.root[:] = at.root
    one.local[:] = at.local
    work.trial[:] = at.local
    others = Task(
        rows, order, task.weights, task.free, task.wanted, task.turn, at.root.copy(),
        at.local.copy(),
    )  # fmt: skip
    one, two, taken = descend(body, others, settings, steps, slack, one, two, work)
    if is_met(rows, settings, 1.0, one.r):
        at.root[:] = one.root
        at.local[:] = one.local
        at.p[:] = one.p
        at.q[:] = one.q
    return taken


@njit(cache=True)
def come_near(body: Body, task: Task, at: State) -> None:
    """Move a free root by the median way to the targets, if that is far.

    The median, as one target may be out of reach.
    """
    place_joints(body.tree, body.table, at.root, at.local, at.p, at.q)
    ways, n = np.empty((3, 6)), 0
    for e in range(len(body.ends)):
        if task.rows[e, 0] >= 0:
            j = body.ends[e, JOINT]
            for i in range(3):
                ways[i, n] = task.wanted[e, i] - at.p[j, i]
            n += 1
    task.root[:] = 0.0
    if n == 0:
        return
    x, y = np.median(ways[0, :n]), np.median(ways[1, :n])
    z = np.median(ways[2, :n])
    if x * x + y * y + z * z > SHIFT**2:
        at.root[0], at.root[1], at.root[2] = x, y, z
        task.root[0], task.root[1], task.root[2] = x, y, z


@njit(cache=True)
def judge(
    body: Body, positions: Array, origin: Array, moved: Array, turned: Array,
    rotations: Array, settings: Array, at: State, missing: Array, reached: Array,
) -> None:  # fmt: skip
    """Fill `missing` (2, 6) and `reached` (6,) against the targets as they were given."""
    for e in range(6):
        j = body.ends[e, JOINT]
        far, askew = 0.0, 0.0
        if moved[e] > 0.0:
            for i in range(3):
                far += (positions[e, i] - origin[i] - at.p[j, i]) ** 2
            far = math.sqrt(far)
        if turned[e] > 0.0:
            w, x, y, z = multiply(
                rotations[e, 0], rotations[e, 1], rotations[e, 2], rotations[e, 3],
                at.q[j, 0], -at.q[j, 1], -at.q[j, 2], -at.q[j, 3],
            )  # fmt: skip
            askew = 2.0 * math.atan2(math.sqrt(x * x + y * y + z * z), abs(w))
        missing[0, e], missing[1, e] = far, askew
        reached[e] = far <= settings[NEAR] and askew <= settings[ALIGNED]
