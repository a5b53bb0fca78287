"""The exact least-effort activations for a requested torque.

    minimise  |A a + passive - wanted|^2 + effort |a|^2   over 0 <= a <= 1

Two methods, both compiled, batched and warm-started. `solve` works in the dual: the optimum is
a = clip(A^T y, 0, 1), where y (one value a joint) solves effort y + A clip(A^T y, 0, 1) =
wanted - passive, the stationary point of a convex function with piecewise linear gradient.
Newton's method with a line search converges in a few steps (Li and Swetits, "A new algorithm
for solving strictly convex quadratic programs", SIAM J. Optim. 7(3), 1997, for programs of this
form). `descend` changes one activation at a time; it is simple, and it checks the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.errors import MuscleError
from ambulo.configs.muscle import ActivationCost

_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Activations:
    """Activations for B requested torques, with their errors."""

    activation: Floats
    """Activation in [0, 1], (B, m)."""
    residual: Floats
    """Resulting torque minus requested torque, (B, na), [N m]."""
    dual: Floats
    """Dual variable, one per joint, (B, na); the warm start of the next `solve`."""
    converged: Bools
    """Whether the optimum was reached, (B,)."""


def solve(
    active: Floats,
    wanted: Floats,
    cost: ActivationCost | None = None,
    *,
    start: Floats | None = None,
) -> Activations:
    """The optimal activations, by Newton's method on the dual.

    A simulation with non-finite values gets zeros and does not converge.

    Args:
        active: Torque of a full activation, JtA, (B, na, m), [N m].
        wanted: Requested torque minus passive torque, (B, na), [N m].
        cost: Effort, and largest number of steps.
        start: `dual` of an earlier solution, (B, na).
    """
    cost = cost or ActivationCost()
    by_muscle = _by_muscle(active, wanted)
    dual = np.zeros_like(wanted) if start is None else np.array(start)
    activation = np.empty(by_muscle.shape[:2])
    residual = np.empty_like(wanted)
    converged = np.empty(len(wanted), dtype=np.bool_)
    _newton(
        by_muscle, np.ascontiguousarray(wanted), cost.effort, cost.iterations,
        dual, activation, residual, converged,
    )  # fmt: skip
    return Activations(activation, residual, dual, converged)


def descend(
    active: Floats,
    wanted: Floats,
    cost: ActivationCost | None = None,
    *,
    start: Floats | None = None,
    sweeps: int = 6,
) -> Floats:
    """Activations (B, m) after `sweeps` rounds of coordinate descent from `start` (B, m).

    The other arguments are those of `solve`.
    """
    cost = cost or ActivationCost()
    by_muscle = _by_muscle(active, wanted)
    activation = np.zeros(by_muscle.shape[:2])
    if start is not None:
        activation[:] = np.clip(start, 0.0, 1.0)
    _descent(by_muscle, np.ascontiguousarray(wanted), cost.effort, sweeps, activation)
    return activation


def _by_muscle(active: Floats, wanted: Floats) -> Floats:
    """JtA as (B, m, na), after a check of the shapes."""
    if wanted.shape != active.shape[:2]:
        raise MuscleError(
            f"wanted torque: expected shape {active.shape[:2]}, got {wanted.shape}"
        )
    return np.ascontiguousarray(active.swapaxes(1, 2))


@njit(cache=True)
def compress(by_muscle: Floats, start: Ints, rows: Ints, values: Floats) -> None:
    """Non-zero entries of by_muscle (m, na): muscle i has start[i]:start[i+1]."""
    used = 0
    for i in range(by_muscle.shape[0]):
        start[i] = used
        for j in range(by_muscle.shape[1]):
            if by_muscle[i, j] != 0.0:
                rows[used] = j
                values[used] = by_muscle[i, j]
                used += 1
    start[by_muscle.shape[0]] = used


@njit(cache=True)
def _newton(
    by_muscle: Floats,
    wanted: Floats,
    effort: float,
    iterations: int,
    dual: Floats,
    activation: Floats,
    residual: Floats,
    converged: Bools,
) -> None:
    """Fill dual, activation, residual and converged; `dual` holds the start."""
    count, size = by_muscle.shape[1], by_muscle.shape[2]
    start = np.empty(count + 1, np.int64)
    rows, values = np.empty(count * size, np.int64), np.empty(count * size)
    matrix = np.empty((size, size))
    goal, gradient, step = np.empty(size), np.empty(size), np.empty(size)
    pull, slope = np.empty(count), np.empty(count)
    for b in range(by_muscle.shape[0]):
        compress(by_muscle[b], start, rows, values)
        for c in range(size):
            goal[c] = wanted[b, c]
        y = dual[b]
        if not np.isfinite(values[: start[count]].sum() + goal.sum() + y.sum()):
            y[:], activation[b], residual[b], converged[b] = 0.0, 0.0, 0.0, False
            continue
        # A cold start decreases the effort from a value at which all is nearly quadratic.
        level = effort
        if not y.any():
            level = max(effort, 0.01 * np.square(values[: start[count]]).sum() / size)
        while True:
            converged[b] = _minimise(
                y, goal, level, iterations, start, rows, values,
                pull, slope, gradient, step, matrix,
            )  # fmt: skip
            if level == effort:
                break
            lower = max(effort, level / 10.0)
            y *= level / lower
            level = lower
        for i in range(count):
            activation[b, i] = min(1.0, max(0.0, pull[i]))
        for j in range(size):
            residual[b, j] = gradient[j] - effort * y[j]


@njit(cache=True)
def _minimise(
    y: Floats,
    goal: Floats,
    effort: float,
    iterations: int,
    start: Ints,
    rows: Ints,
    values: Floats,
    pull: Floats,
    slope: Floats,
    gradient: Floats,
    step: Floats,
    matrix: Floats,
) -> bool:
    """Move `y` to the optimum; fills `pull` and `gradient`; returns whether it converged."""
    enough = _TOLERANCE * (1.0 + np.abs(goal).max())
    for _ in range(iterations):
        _gradient(y, goal, effort, start, rows, values, pull, gradient)
        if np.abs(gradient).max() <= enough:
            return True
        _curvature(pull, effort, start, rows, values, matrix)
        cholesky_solve(matrix, gradient, step)
        for i in range(pull.shape[0]):
            slope[i] = 0.0
            for k in range(start[i], start[i + 1]):
                slope[i] -= values[k] * step[rows[k]]
        linear = np.dot(step, goal) - effort * np.dot(step, y)
        y -= _step_length(pull, slope, linear, effort * np.dot(step, step)) * step
    _gradient(y, goal, effort, start, rows, values, pull, gradient)
    return np.abs(gradient).max() <= enough


@njit(cache=True)
def _step_length(pull: Floats, slope: Floats, linear: float, square: float) -> float:
    """Minimiser of the convex function along a Newton step, in (0, 1].

    Its derivative after t steps is linear + square t + sum slope clip(pull + slope t, 0, 1).
    """
    low, high, t = 0.0, 1.0, 1.0
    for _ in range(60):
        derivative, bend = linear + square * t, square
        for i in range(pull.shape[0]):
            z = pull[i] + slope[i] * t
            if z >= 1.0:
                derivative += slope[i]
            elif z > 0.0:
                derivative += slope[i] * z
                bend += slope[i] * slope[i]
        if derivative > 0.0:
            high = t
        elif t == 1.0:
            return 1.0
        else:
            low = t
        t -= derivative / bend
        if not low < t < high:
            t = 0.5 * (low + high)
        if high - low < 1e-12 * high or abs(derivative) <= 1e-14 * abs(linear):
            break
    return t


@njit(cache=True)
def _gradient(
    y: Floats,
    goal: Floats,
    effort: float,
    start: Ints,
    rows: Ints,
    values: Floats,
    pull: Floats,
    gradient: Floats,
) -> None:
    """Fill pull = A^T y and gradient = effort y + A clip(pull, 0, 1) - goal."""
    for j in range(y.shape[0]):
        gradient[j] = effort * y[j] - goal[j]
    for i in range(pull.shape[0]):
        z = 0.0
        for k in range(start[i], start[i + 1]):
            z += values[k] * y[rows[k]]
        pull[i] = z
        if z > 0.0:
            a = min(z, 1.0)
            for k in range(start[i], start[i + 1]):
                gradient[rows[k]] += values[k] * a


@njit(cache=True)
def _curvature(
    pull: Floats, effort: float, start: Ints, rows: Ints, values: Floats, matrix: Floats
) -> None:
    """The generalised Hessian: effort I + the muscles strictly between their bounds."""
    matrix[:, :] = 0.0
    for j in range(matrix.shape[0]):
        matrix[j, j] = effort
    for i in range(pull.shape[0]):
        if 0.0 < pull[i] < 1.0:
            for k in range(start[i], start[i + 1]):
                for p in range(start[i], k + 1):
                    matrix[rows[k], rows[p]] += values[k] * values[p]


@njit(cache=True)
def cholesky_solve(matrix: Floats, rhs: Floats, x: Floats) -> None:
    """Fill x = matrix^-1 rhs; overwrites the lower half of a positive matrix."""
    size = x.shape[0]
    for i in range(size):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = np.sqrt(total) if i == j else total / matrix[j, j]
    for i in range(size):
        total = rhs[i]
        for k in range(i):
            total -= matrix[i, k] * x[k]
        x[i] = total / matrix[i, i]
    for i in range(size - 1, -1, -1):
        total = x[i]
        for k in range(i + 1, size):
            total -= matrix[k, i] * x[k]
        x[i] = total / matrix[i, i]


@njit(cache=True)
def _descent(
    by_muscle: Floats,
    wanted: Floats,
    effort: float,
    sweeps: int,
    activation: Floats,
) -> None:
    """Improve `activation` (B, m) in place."""
    count, size = by_muscle.shape[1], by_muscle.shape[2]
    start = np.empty(count + 1, np.int64)
    rows, values = np.empty(count * size, np.int64), np.empty(count * size)
    error, norm = np.empty(size), np.empty(count)
    for b in range(by_muscle.shape[0]):
        compress(by_muscle[b], start, rows, values)
        for c in range(size):
            error[c] = -wanted[b, c]
        for i in range(count):
            norm[i] = effort
            for k in range(start[i], start[i + 1]):
                norm[i] += values[k] * values[k]
                error[rows[k]] += values[k] * activation[b, i]
        for _ in range(sweeps):
            for i in range(count):
                slope = effort * activation[b, i]
                for k in range(start[i], start[i + 1]):
                    slope += values[k] * error[rows[k]]
                old = activation[b, i]
                new = min(1.0, max(0.0, old - slope / norm[i]))
                activation[b, i] = new
                for k in range(start[i], start[i + 1]):
                    error[rows[k]] += values[k] * (new - old)
