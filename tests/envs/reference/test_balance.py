"""Linear-quadratic problems beside the same by dense least squares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.envs.reference.balance import END, FITTING, improve, regulate, window_cost
from ambulo.envs.reference.linearization import Step

NV, INPUTS, STEPS = 7, 3, 5
SIZE = 2 * NV


def problem() -> tuple[list[Step], NDArray[np.float64]]:
    random = np.random.default_rng(5)
    steps = [
        (0.4 * random.normal(size=(SIZE, SIZE)), random.normal(size=(SIZE, INPUTS)))
        for _ in range(STEPS)
    ]
    return steps, random.normal(size=SIZE)


def rolled(
    steps: list[Step], first: NDArray[np.float64], offsets: NDArray[np.float64]
) -> NDArray[np.float64]:
    rows = [first]
    for (a, b), now in zip(steps, offsets, strict=True):
        rows.append(a @ rows[-1] + b @ now)
    return np.array(rows)


def best_offsets(steps: list[Step], first: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least squares of all offsets at once; rows are affine in them."""
    count = STEPS * INPUTS
    base = rolled(steps, first, np.zeros((STEPS, INPUTS))).ravel()
    columns = [
        rolled(steps, first, unit.reshape(STEPS, INPUTS)).ravel() - base
        for unit in np.eye(count)
    ]
    weight = np.tile(FITTING.of_state(NV), STEPS + 1)
    weight[-SIZE:] *= END
    root = np.sqrt(weight)
    left = np.vstack(
        [root[:, None] * np.array(columns).T, FITTING.effort**0.5 * np.eye(count)]
    )
    right = np.concatenate([-root * base, np.zeros(count)])
    found = np.linalg.lstsq(left, right, rcond=None)[0]
    return found.reshape(STEPS, INPUTS)


def test_the_regulator_is_the_best_of_a_linear_problem() -> None:
    steps, first = problem()
    _, gains = regulate(steps)
    row, taken = first, []
    for (a, b), gain in zip(steps, gains, strict=True):
        taken.append(-gain @ row)
        row = a @ row + b @ taken[-1]
    np.testing.assert_allclose(taken, best_offsets(steps, first), atol=1e-9)


def test_one_improvement_solves_a_linear_window() -> None:
    steps, first = problem()
    offsets = np.random.default_rng(6).normal(size=(STEPS, INPUTS))
    now = rolled(steps, first, offsets)
    end = np.diag(END * FITTING.of_state(NV))
    change, feedback = improve(steps, now, offsets, end)
    row, found = first, []
    for k, (a, b) in enumerate(steps):
        found.append(offsets[k] + change[k] + feedback[k] @ (row - now[k]))
        row = a @ row + b @ found[-1]
    np.testing.assert_allclose(found, best_offsets(steps, first), atol=1e-9)


def test_the_value_function_is_the_cost_to_go() -> None:
    steps, first = problem()
    values = regulate(steps)[0]
    best = best_offsets(steps, first)
    rows = rolled(steps, first, best)
    end = np.diag(END * FITTING.of_state(NV))
    cost = window_cost(rows[:, None], best[:, None], end)[0]
    np.testing.assert_allclose(cost, 0.5 * first @ values[0] @ first, rtol=1e-9)
