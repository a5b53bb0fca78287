"""Linear-quadratic problems along a clip: costs, value function, gains.

Backward recursions of the time-varying regulator (Anderson and Moore, Optimal Control:
Linear Quadratic Methods, 1990); the windowed one is iterative LQR (Li and Todorov 2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.reference.clips.slopes import Step


@dataclass(frozen=True)
class Weights:
    """Costs of deviations from a clip and of moved joint targets."""

    effort: float = 1.0
    """Of a moved target, [1/rad^2]. A dear effort lets a standing body drift away."""
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


def regulate(
    steps: Sequence[Step], weights: Weights = FITTING
) -> tuple[list[Floats], list[Floats]]:
    """Cost to go (K + 1) and gains (K) of the regulator along a clip.

    A deviation d from the clip costs 0.5 d' s d; offsets are -gain d. That a control step
    from the clip does not end on it is left out: contacts that settle within a step would
    count as pushes in every step.
    """
    size = len(steps[0][0])
    cost = weights.of_state(size // 2)
    s: Floats = np.diag(END * cost)
    values, gains = [s], []
    for a, b in reversed(steps):
        right = b.T @ s
        inner = right @ b + weights.effort * np.eye(b.shape[1])
        gain: Floats = np.asarray(np.linalg.solve(inner, right @ a), dtype=np.float64)
        s = np.diag(cost) + a.T @ s @ (a - b @ gain)
        s = 0.5 * (s + s.T)
        values.append(s)
        gains.append(gain)
    return values[::-1], gains[::-1]


def improve(
    steps: Sequence[Step],
    deviation: Floats,
    offsets: Floats,
    end: Floats,
    weights: Weights = FITTING,
) -> tuple[Floats, Floats]:
    """A Gauss-Newton step of offsets in a window of H control steps.

    Args:
        steps: Slopes along the present states.
        deviation: Deviations of the present states from the clip. Shape (H + 1, 2nv).
        offsets: Present offsets. Shape (H, U).
        end: Cost to go behind the window. Shape (2nv, 2nv).
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
    s, g = end, end @ deviation[-1]
    for k in range(horizon - 1, -1, -1):
        a, b = steps[k]
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
    deviation: Floats, offsets: Floats, end: Floats, weights: Weights = FITTING
) -> Floats:
    """Cost of windows; deviations (H + 1, N, 2nv), offsets (H, N, U). Shape (N,)."""
    cost = weights.of_state(deviation.shape[2] // 2)
    last = deviation[-1]
    total = 0.5 * (deviation[:-1] ** 2 @ cost).sum(axis=0)
    total += 0.5 * weights.effort * np.square(offsets).sum(axis=(0, 2))
    total += 0.5 * np.einsum("ni,ij,nj->n", last, end, last)
    return np.asarray(total)
