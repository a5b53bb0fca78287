"""Linear-quadratic problems along a clip: costs, value function, gains.

Backward recursions of the time-varying regulator (Anderson and Moore, Optimal Control:
Linear Quadratic Methods, 1990); the windowed one is iterative LQR (Li and Todorov 2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats


@dataclass(frozen=True)
class Weights:
    """Costs of deviations from a clip and of moved joint targets."""

    effort: float = 30.0
    """Of a moved target, [1/rad^2]."""
    place: float = 10.0
    """Of the root's place on the ground, [1/m^2]."""
    height_and_turn: float = 20.0
    """Of the root's height, [1/m^2], and orientation, [1/rad^2]."""
    joint: float = 1.0
    """Of joints, [1/rad^2]."""
    root_rate: float = 0.1
    """Of the root's velocities, [s^2/m^2], [s^2/rad^2]."""
    joint_rate: float = 0.01
    """Of the joints' velocities, [s^2/rad^2]."""

    def of_state(self, nv: int) -> Floats:
        """Diagonal of the cost of deviations. Shape (2nv,)."""
        weight = np.full(2 * nv, self.joint)
        weight[:2], weight[2:6] = self.place, self.height_and_turn
        weight[nv:] = self.joint_rate
        weight[nv : nv + 6] = self.root_rate
        return weight


FITTING = Weights()
"""Costs of the fit: near the clip, in the world."""
END = 5.0
"""Factor on the costs of the last state."""

Step = tuple[Floats, Floats, Floats]
"""a, b and c of one control step, see `slopes.Slopes.at`."""


@dataclass(frozen=True, eq=False)
class Value:
    """Cost to go 0.5 d' s d + g' d of a deviation d from the clip."""

    s: Floats
    """Shape (2nv, 2nv)."""
    g: Floats
    """Shape (2nv,)."""


def regulate(
    steps: Sequence[Step], weights: Weights = FITTING
) -> tuple[list[Value], list[Floats], list[Floats]]:
    """Value functions (K + 1), gains and constant parts (K) of the regulator along a clip.

    Offsets are -gain d - constant for a deviation d from the clip.
    """
    size = len(steps[0][2])
    cost = weights.of_state(size // 2)
    value = Value(np.diag(END * cost), np.zeros(size))
    values = [value]
    gains: list[Floats] = []
    constants: list[Floats] = []
    for a, b, c in reversed(steps):
        right = b.T @ value.s
        inner = right @ b + weights.effort * np.eye(b.shape[1])
        ahead = value.g + value.s @ c
        solved = np.linalg.solve(inner, np.column_stack([right @ a, b.T @ ahead]))
        gain: Floats = np.asarray(solved[:, :-1], dtype=np.float64)
        constant: Floats = np.asarray(solved[:, -1], dtype=np.float64)
        closed = a - b @ gain
        s = np.diag(cost) + a.T @ value.s @ closed
        value = Value(0.5 * (s + s.T), closed.T @ ahead)
        values.append(value)
        gains.append(gain)
        constants.append(constant)
    return values[::-1], gains[::-1], constants[::-1]


def improve(
    steps: Sequence[Step],
    deviation: Floats,
    offsets: Floats,
    end: Value,
    weights: Weights = FITTING,
) -> tuple[Floats, Floats]:
    """A Gauss-Newton step of offsets in a window of H control steps.

    Args:
        steps: Slopes along the present states.
        deviation: Deviations of the present states from the clip. Shape (H + 1, 2nv).
        offsets: Present offsets. Shape (H, U).
        end: Cost to go behind the window.
        weights: Costs.

    Returns:
        Changes (H, U), and gains (H, U, 2nv) of feedback on what differs from the present
        states.
    """
    horizon, inputs = offsets.shape
    size = deviation.shape[1]
    cost = weights.of_state(size // 2)
    change = np.zeros((horizon, inputs))
    feedback = np.zeros((horizon, inputs, size))
    s, g = end.s, end.s @ deviation[-1] + end.g
    for k in range(horizon - 1, -1, -1):
        a, b, _ = steps[k]
        right = b.T @ s
        inner = right @ b + weights.effort * np.eye(inputs)
        slope = weights.effort * offsets[k] + b.T @ g
        cross = right @ a
        solved = np.linalg.solve(inner, np.column_stack([cross, slope]))
        feedback[k], change[k] = -solved[:, :-1], -solved[:, -1]
        g = cost * deviation[k] + a.T @ g + cross.T @ change[k]
        s = np.diag(cost) + a.T @ s @ a + cross.T @ feedback[k]
        s = 0.5 * (s + s.T)
    return change, feedback


def window_cost(
    deviation: Floats, offsets: Floats, end: Value, weights: Weights = FITTING
) -> Floats:
    """Cost of windows; deviations (H + 1, N, 2nv), offsets (H, N, U). Shape (N,)."""
    cost = weights.of_state(deviation.shape[2] // 2)
    last = deviation[-1]
    total = 0.5 * (deviation[:-1] ** 2 @ cost).sum(axis=0)
    total += 0.5 * weights.effort * np.square(offsets).sum(axis=(0, 2))
    total += 0.5 * np.einsum("ni,ij,nj->n", last, end.s, last) + last @ end.g
    return np.asarray(total)
