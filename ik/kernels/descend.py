"""Compiled: the steps of one character, each accepted only if the error falls.

Internal: `ambulo.ik.solver.refine` prepares the arrays.
"""

from __future__ import annotations

import math

from numba import njit

from ambulo.configs.arrays import Array
from ambulo.ik.kernels.matrix import factor_and_solve
from ambulo.ik.kernels.solve import (
    Body,
    State,
    Task,
    Work,
    catch,
    error_of,
    fill_system,
    is_reached,
    largest_turn,
    reachable_goals,
    release,
    start_step,
    turn_joints,
    turns_of_wrenches,
)
from ambulo.ik.kernels.tree import (
    residuals,
    subtract_motion,
    tree_sums,
    turns_of_targets,
)
from ambulo.motion.fk_kernel import place_pose

# Indices of the settings, see `ambulo.ik.solver.refine.RefineConfig.settings`.
NEAR, ALIGNED, STOP, CAP, POSTURE, DAMPING, FLOOR, LENGTH, SLACK = range(9)

ROUNDS = 3
"""Largest number of repeated solves of a step for limits."""


@njit(cache=True, error_model="numpy")
def place(
    parents: Array, rest: Array, offsets: Array, ends: Array, rows: Array, weights: Array,
    reaches: Array, slack: Array, wanted: Array, turn: Array, root: Array, local: Array,
    p: Array, q: Array, goal: Array, r: Array,
) -> float:  # fmt: skip
    """Fill positions, orientations, goals and residuals of a pose; returns its error."""
    place_pose(parents, rest, offsets, root, local, p, q)
    reachable_goals(ends, rows, reaches, slack, wanted, p, goal)
    residuals(ends, rows, goal, turn, p, q, r)
    return error_of(rows, weights, r)


@njit(cache=True, error_model="numpy")
def copy(a: Array, b: Array) -> None:
    """Copy b into a, both contiguous and of one shape."""
    to, of = a.ravel(), b.ravel()
    for i in range(len(to)):
        to[i] = of[i]


@njit(cache=True, error_model="numpy")
def descend(  # noqa: PLR0915 - one step, written out
    body: Body, task: Task, settings: Array, steps: int, slack: Array, at: State,
    to: State, w: Work,
) -> int:  # fmt: skip
    """Advance `at` by up to `steps` steps; returns their number. `to` is scratch memory."""
    # Unpacked once: numba counts references to each array, atomically. For the same reason an
    # accepted step is copied; nothing is swapped.
    parents, rest, offsets, tree = body.parents, body.rest, body.offsets, body.tree
    table, ends, reaches = body.table, body.ends, body.reaches
    rows, order, weights, wanted = task.rows, task.order, task.weights, task.wanted
    turn, posture, pull = task.turn, task.posture, task.root
    root, local, p, q, goal, r = at.root, at.local, at.p, at.q, at.goal, at.r
    next_root, trial, next_p = to.root, to.local, to.p
    next_q, next_goal, next_r = to.q, to.goal, to.r
    bits, kept, normals, outside = w.bits, w.kept, w.normals, w.outside
    d, d0, way, sums, wrench = w.d, w.d0, w.way, w.sums, w.wrench
    matrix, first, y, g = w.matrix, w.first, w.y, w.g
    slides, turns = task.free[0], task.free[1]
    slide = slides * body.slide[0]
    near, aligned = settings[STOP] * settings[NEAR], settings[STOP] * settings[ALIGNED]
    error = place(
        parents, rest, offsets, ends, rows, weights, reaches, slack, wanted, turn, root, local,
        p, q, goal, r,
    )  # fmt: skip
    copy(trial, local)
    boost, part = 1.0, 0.0
    for step in range(steps):
        if is_reached(rows, near, aligned, r):
            return step
        damping = boost * (settings[DAMPING] * error + settings[FLOOR])
        copy(kept, bits)
        tree_sums(tree, table, turns > 0.0, p, sums)
        start_step(table, local, posture, part, bits, normals, d0)
        for i in range(3):
            d0[0, i] *= turns
            way[i] = slides * part * (pull[i] - root[i])
        moved, found, scale = part > 0.0, True, 1.0
        for again in range(ROUNDS):
            fill_system(
                tree, table, ends, rows, order, weights, slide, damping, p, q, bits,
                normals, sums, matrix, first, g,
            )  # fmt: skip
            copy(y, r)
            if moved:
                subtract_motion(tree, ends, rows, d0, way, p, q, wrench, y)
            if not factor_and_solve(matrix, first, y):
                found = False
                break
            turns_of_targets(tree, ends, rows, y, p, wrench)
            turns_of_wrenches(tree, table, turns, p, q, wrench, d)
            released = release(bits, normals, again == ROUNDS - 1, d0, d)
            largest = largest_turn(d)
            scale = settings[CAP] / largest if largest > settings[CAP] else 1.0
            count = turn_joints(
                tree, table, local, d, scale, 0 if turns > 0.0 else 1, trial, outside
            )
            caught = catch(table, local, outside, count, bits, normals, d0, trial)
            if not (caught or released):
                break
            moved = True
        after = math.inf
        if found:
            for i in range(3):
                next_root[i] = root[i] + scale * (way[i] + slide * wrench[0, 3 + i])
            after = place(
                parents, rest, offsets, ends, rows, weights, reaches, slack, wanted, turn,
                next_root, trial, next_p, next_q, next_goal, next_r,
            )  # fmt: skip
        if after < error:
            copy(root, next_root)
            copy(local, trial)
            copy(p, next_p)
            copy(q, next_q)
            copy(goal, next_goal)
            copy(r, next_r)
            error = after
            boost = max(1.0, 0.1 * boost)
            part = settings[POSTURE]
        else:
            copy(bits, kept)
            boost *= 10.0
            part = 0.0
    return steps
