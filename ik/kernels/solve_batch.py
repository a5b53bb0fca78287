"""Compiled: moves poses to their targets, one character after the other.

Internal: `ambulo.ik.solver.refine` prepares the arrays.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.configs.arrays import Array
from ambulo.ik.kernels.descend import (
    ALIGNED,
    LENGTH,
    NEAR,
    SLACK,
    STOP,
    copy,
    descend,
)
from ambulo.ik.kernels.limits import is_outside
from ambulo.ik.kernels.solve import (
    STRETCH,
    Body,
    State,
    Task,
    Work,
    clamp_joint,
    is_reached,
)
from ambulo.ik.kernels.tree import BASE, JOINT, PARENT, SUMS
from ambulo.motion.fk_kernel import place_pose
from ambulo.motion.quaternion_kernels import inverse_multiply, nlerp, product

HIPS = 5
"""Row of the hips in the targets."""

SHIFT = 0.3
"""A character without hips whose targets lie farther away, [m], is moved as a whole first."""


@njit(cache=True, error_model="numpy")
def follow_hips(
    rest: Array, b: int, positions: Array, rotations: Array, moved: Array,
    turned: Array, root: Array, local: Array,
) -> None:  # fmt: skip
    """Put the hips on their target, or interpolate if its weight is below 1."""
    if moved[b, HIPS] > 0.0:
        t = min(moved[b, HIPS], 1.0)
        for i in range(3):
            way = positions[b, HIPS, i] - root[b, i]
            root[b, i] = positions[b, HIPS, i] if t == 1.0 else root[b, i] + t * way
    if turned[b, HIPS] > 0.0:
        wanted = np.empty(4)
        inverse_multiply(rest[0], rotations[b, HIPS], wanted)
        nlerp(local[b, 0], wanted, min(turned[b, HIPS], 1.0), local[b, 0])


@njit(cache=True, error_model="numpy")
def clamp_pose(table: Array, b: int, poses: Array, local: Array) -> None:
    """Fill `local` (J, 4) with `poses[b]`, normalised and clamped to the limits."""
    for j in range(len(table)):
        w, x, y, z = poses[b, j, 0], poses[b, j, 1], poses[b, j, 2], poses[b, j, 3]
        n = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
        w, x, y, z = w * n, x * n, y * n, z * n
        local[j, 0], local[j, 1], local[j, 2], local[j, 3] = w, x, y, z
        if j > 0 and is_outside(table, j, w, x, y, z):
            clamp_joint(table, local, j)


@njit(cache=True, error_model="numpy")
def write_pose(local: Array, b: int, poses: Array) -> None:
    """Fill `poses[b]` from `local` (J, 4)."""
    for j in range(len(local)):
        for i in range(4):
            poses[b, j, i] = local[j, i]


@njit(cache=True, error_model="numpy")
def load_targets(
    tree: Array, ends: Array, b: int, positions: Array, rotations: Array, moved: Array,
    turned: Array, root: Array, settings: Array, free: Array, weights: Array,
    wanted: Array, turn: Array, slack: Array,
) -> None:  # fmt: skip
    """Fill the targets of character b, with positions relative to its root."""
    free[0] = 1.0 if moved[b, HIPS] == 0.0 else 0.0
    free[1] = 1.0 if turned[b, HIPS] == 0.0 else 0.0
    for e in range(6):
        weights[e, 0] = moved[b, e]
        weights[e, 1] = turned[b, e] * settings[LENGTH] ** 2
        for i in range(3):
            wanted[e, i] = positions[b, e, i] - root[b, i]
        for i in range(4):
            turn[e, i] = rotations[b, e, i]
        base = ends[e, BASE]
        fixed = base == 0 or tree[base, PARENT] == 0
        fixed = fixed and free[0] == 0.0 and free[1] == 0.0
        slack[e] = 0.0 if fixed else settings[SLACK]


@njit(cache=True, error_model="numpy")
def is_met(rows: Array, settings: Array, part: float, r: Array) -> bool:
    """Whether all residuals are within `part` times the tolerances."""
    return is_reached(rows, part * settings[NEAR], part * settings[ALIGNED], r)


@njit(cache=True, error_model="numpy")
def beyond_reach(body: Body, task: Task, near: float, slack: Array, at: State) -> bool:
    """Whether targets lie beyond their limbs; those are projected to the present reach.

    Within `near`, [m], of the reach they count as met.
    """
    ends, reaches, rows, wanted, p = (
        body.ends,
        body.reaches,
        task.rows,
        task.wanted,
        at.p,
    )
    most = 0.0
    for e in range(len(ends)):
        if rows[e, 0] >= 0 and slack[e] > 0.0:
            most = max(most, distance(wanted, e, p, ends[e, BASE]) - reaches[e])
    if most <= near:
        return False
    # A free root pulled by one far target moves the other limbs' bases as well.
    least = max(near, 0.5 * most if task.free[0] > 0.0 else 0.0)
    for e in range(len(ends)):
        if rows[e, 0] < 0 or slack[e] == 0.0:
            continue
        b = ends[e, BASE]
        length = distance(wanted, e, p, b)
        if length - reaches[e] > least:
            scale = STRETCH * reaches[e] / length
            for i in range(3):
                wanted[e, i] = p[b, i] + scale * (wanted[e, i] - p[b, i])
            slack[e] = 0.0
    return True


@njit(cache=True, error_model="numpy")
def distance(a: Array, i: int, b: Array, j: int) -> float:
    """Distance from a[i] to b[j], both (n, 3)."""
    x, y, z = a[i, 0] - b[j, 0], a[i, 1] - b[j, 1], a[i, 2] - b[j, 2]
    return math.sqrt(x * x + y * y + z * z)


@njit(cache=True, error_model="numpy")
def find_rows(
    in_order: Array, b: int, moved: Array, turned: Array, rows: Array
) -> tuple[Array, int]:
    """Fill `rows` (6, 2) for character b; returns its targets in order, and the number of rows.

    The hips have none.
    """
    order, targets, n = np.empty(5, np.int64), 0, 0
    for e in in_order:
        rows[e, 0] = rows[e, 1] = -1
        if moved[b, e] > 0.0:
            rows[e, 0] = n
            n += 3
        if turned[b, e] > 0.0:
            rows[e, 1] = n
            n += 3
        if rows[e, 0] >= 0 or rows[e, 1] >= 0:
            order[targets] = e
            targets += 1
    rows[HIPS, 0] = rows[HIPS, 1] = -1
    return order[:targets], n


@njit(cache=True, error_model="numpy")
def same_rows(b: int, moved: Array, turned: Array) -> bool:
    """Whether character b has the same targets as the previous one."""
    for e in range(HIPS):
        if (moved[b, e] > 0.0) != (moved[b - 1, e] > 0.0):
            return False
        if (turned[b, e] > 0.0) != (turned[b - 1, e] > 0.0):
            return False
    return True


@njit(cache=True, error_model="numpy")
def new_state(joints: int, n: int) -> State:
    """Allocate the state of a character with n residuals."""
    return State(
        np.empty(3), np.empty((joints, 4)), np.empty((joints, 3)), np.empty((joints, 4)),
        np.empty((6, 3)), np.empty(n),
    )  # fmt: skip


@njit(cache=True, error_model="numpy")
def new_work(joints: int, n: int) -> Work:
    """Scratch memory for n residuals."""
    return Work(
        np.zeros(joints, np.int64), np.zeros(joints, np.int64), np.zeros((joints, 2, 3)),
        np.zeros((joints, 3)), np.zeros((joints, 3)), np.zeros(3),
        np.empty(joints, np.int64), np.empty((joints, SUMS)),
        np.empty((joints, 6)),
        np.empty((n, n)), np.empty(n, np.int64), np.empty(n), np.empty(n),
    )  # fmt: skip


@njit(cache=True, error_model="numpy")
def solve_batch(
    body: Body,
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
    """Move `root` (B, 3) and `local` (B, J, 4) to the targets, in place.

    `in_order` (5,) are the effectors in the order of their rows. Fills `missing` (2, B, 6), the
    distance [m] and the angle [rad] to each original target, 0 where absent; `reached` (B, 6);
    and `taken` (B,), the number of steps.
    """
    if len(root) == 0:
        return
    tree, table, ends = body.tree, body.table, body.ends
    joints = len(tree)
    rows, weights, slack = np.empty((6, 2), np.int64), np.empty((6, 2)), np.empty(6)
    free, wanted, turn = np.empty(2), np.empty((6, 3)), np.empty((6, 4))
    pull, posture = np.zeros(3), np.empty((joints, 4))
    order, n = find_rows(in_order, 0, moved, turned, rows)
    one, two, work = new_state(joints, n), new_state(joints, n), new_work(joints, n)
    task = Task(rows, order, weights, free, wanted, turn, pull, posture)
    for b in range(len(root)):
        if b > 0 and not same_rows(b, moved, turned):
            known = n
            order, n = find_rows(in_order, b, moved, turned, rows)
            task = Task(rows, order, weights, free, wanted, turn, pull, posture)
            if n != known:
                one, two = new_state(joints, n), new_state(joints, n)
                work = new_work(joints, n)
        follow_hips(body.rest, b, positions, rotations, moved, turned, root, local)
        clamp_pose(table, b, local, one.local)
        load_targets(
            tree, ends, b, positions, rotations, moved, turned, root, settings, free,
            weights, wanted, turn, slack,
        )  # fmt: skip
        copy(posture, one.local)
        work.bits[:] = 0
        one.root[:] = 0.0
        pull[:] = 0.0
        if free[0] == 1.0:
            come_near(body, task, one)
        taken[b] = descend(body, task, settings, steps, slack, one, two, work)
        close = settings[STOP] * settings[NEAR]
        blocked = beyond_reach(body, task, close, slack, one)
        if extra > 0 and (blocked or not is_met(rows, settings, 1.0, one.r)):
            taken[b] += descend(body, task, settings, extra, slack, one, two, work)
            measure_residuals(
                ends, b, positions, rotations, moved, turned, root, settings, one.p,
                one.q, missing, reached,
            )  # fmt: skip
            taken[b] += give_up_worst(
                body, task, in_order, settings, extra, slack, b, moved, turned, one,
                missing, reached,
            )  # fmt: skip
        measure_residuals(
            ends, b, positions, rotations, moved, turned, root, settings, one.p, one.q,
            missing, reached,
        )  # fmt: skip
        for i in range(3):
            root[b, i] += one.root[i]
        write_pose(one.local, b, local)


@njit(cache=True, error_model="numpy")
def give_up_worst(
    body: Body, task: Task, in_order: Array, settings: Array, steps: int, slack: Array,
    b: int, moved: Array, turned: Array, at: State, missing: Array, reached: Array,
) -> int:  # fmt: skip
    """Drop the target that is missed most, if the others can then be met.

    Limits can make a target unreachable that is near enough; least squares would spread its
    error over all others. `at` moves to the solution without it if that meets all others.
    Returns the number of steps.
    """
    worst, most, missed = -1, 0.0, 0
    for e in in_order:
        if not reached[b, e]:
            missed += 1
            far = max(
                missing[0, b, e] / settings[NEAR], missing[1, b, e] / settings[ALIGNED]
            )
            if far > most:
                worst, most = e, far
    if missed < 2:
        return 0
    place_left, turn_left = moved[b : b + 1].copy(), turned[b : b + 1].copy()
    place_left[0, worst] = turn_left[0, worst] = 0.0
    rows = np.empty((6, 2), np.int64)
    order, n = find_rows(in_order, 0, place_left, turn_left, rows)
    joints = len(body.tree)
    one, two, work = new_state(joints, n), new_state(joints, n), new_work(joints, n)
    _copy_state(at, one)
    others = Task(
        rows, order, task.weights, task.free, task.wanted, task.turn, at.root.copy(),
        at.local.copy(),
    )  # fmt: skip
    taken = descend(body, others, settings, steps, slack, one, two, work)
    if is_met(rows, settings, 1.0, one.r):
        _copy_state(one, at)
    return taken


@njit(cache=True, error_model="numpy")
def _copy_state(source: State, target: State) -> None:
    """Copy a character's state; slice assignments would take seconds more to compile."""
    for i in range(3):
        target.root[i] = source.root[i]
    for j in range(len(source.local)):
        for i in range(4):
            target.local[j, i] = source.local[j, i]
            target.q[j, i] = source.q[j, i]
        for i in range(3):
            target.p[j, i] = source.p[j, i]


@njit(cache=True, error_model="numpy")
def come_near(body: Body, task: Task, at: State) -> None:
    """Move a free root by the median displacement to the targets, if that is large.

    The median, as one target may be out of reach.
    """
    place_pose(body.parents, body.rest, body.offsets, at.root, at.local, at.p, at.q)
    ways, n = np.empty((3, 6)), 0
    for e in range(len(body.ends)):
        if task.rows[e, 0] >= 0:
            j = body.ends[e, JOINT]
            for i in range(3):
                ways[i, n] = task.wanted[e, i] - at.p[j, i]
            n += 1
    if n == 0:
        return
    x, y = np.median(ways[0, :n]), np.median(ways[1, :n])
    z = np.median(ways[2, :n])
    if x * x + y * y + z * z > SHIFT**2:
        at.root[0], at.root[1], at.root[2] = x, y, z
        task.root[0], task.root[1], task.root[2] = x, y, z


@njit(cache=True, error_model="numpy")
def measure_residuals(
    ends: Array, b: int, positions: Array, rotations: Array, moved: Array, turned: Array,
    origin: Array, settings: Array, p: Array, q: Array, missing: Array, reached: Array,
) -> None:  # fmt: skip
    """Fill `missing[:, b]` and `reached[b]` against the original targets.

    `p` (J, 3) are positions relative to `origin[b]`.
    """
    for e in range(6):
        j = ends[e, JOINT]
        far, askew = 0.0, 0.0
        if moved[b, e] > 0.0:
            for i in range(3):
                far += (positions[b, e, i] - origin[b, i] - p[j, i]) ** 2
            far = math.sqrt(far)
        if turned[b, e] > 0.0:
            w, x, y, z = product(
                rotations[b, e, 0], rotations[b, e, 1],
                rotations[b, e, 2], rotations[b, e, 3],
                q[j, 0], -q[j, 1], -q[j, 2], -q[j, 3],
            )  # fmt: skip
            askew = 2.0 * math.atan2(math.sqrt(x * x + y * y + z * z), abs(w))
        missing[0, b, e], missing[1, b, e] = far, askew
        reached[b, e] = far <= settings[NEAR] and askew <= settings[ALIGNED]
