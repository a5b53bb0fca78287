"""A balance controller: time-varying linear feedback that keeps a body on a reference.

The reference with its feed-forward torque is a trajectory that falls within a second or
two. Linearised around it (`linearization`), it is a linear system; the linear-quadratic
regulator of that system (B. Anderson and J. Moore, Optimal Control: Linear Quadratic
Methods, 1990) moves the joint targets so that the deviation dies out. Nothing is learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import MotionError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.linearization import Knot, Slopes, Step
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.muscle.coupling import joint_coupling


@dataclass(frozen=True)
class Weights:
    """Costs of deviations from a reference and of moved joint targets."""

    effort: float = 1.0
    """Cost of a moved target, [1/rad^2]. A high cost lets a standing body drift away; a low
    one trusts the linear model further than it holds."""
    place: float = 10.0
    """Cost of the root's position on the ground, [1/m^2]."""
    height_and_turn: float = 20.0
    """Cost of the root's height, [1/m^2], and orientation, [1/rad^2]."""
    joint: float = 1.0
    """Cost of joint angles, [1/rad^2]."""
    root_rate: float = 0.1
    """Cost of the root's velocities, [s^2/m^2], [s^2/rad^2]."""
    joint_rate: float = 0.01
    """Cost of the joints' velocities, [s^2/rad^2]."""

    def of_state(self, size: int) -> Floats:
        """Diagonal of the cost of deviations of `size` coordinates. Shape (2 size,)."""
        weight = np.full(2 * size, self.joint)
        weight[:2], weight[2:6] = self.place, self.height_and_turn
        weight[size:] = self.joint_rate
        weight[size : size + 6] = self.root_rate
        return weight


FITTING = Weights()
"""Costs of a fit: near the clip, in the world."""
WALKING = Weights(effort=100.0, place=1.0, root_rate=1.0)
"""Costs of feedback along gaits and postures."""
STEPPING = Weights(effort=10.0, place=0.1, root_rate=1.0, joint_rate=0.1)
"""Other ones along steps: bodies with small soles hold no place, and catch pushes better by a
cheap effort."""
END = 5.0
"""Factor on the costs of a clip's last state."""
ROUNDS, LEAST_STEPS = 12, 600
"""Times that the recursion runs round a cycle (it converges in about five), and the fewest
steps that it takes: a cycle may be a single step long."""
STEP_SCALE = 0.5
"""Factor on the differences by which control steps along gaits are linearised."""


@dataclass(frozen=True, eq=False)
class BalanceController:
    """Feedback gains at P equal phases of a gait cycle, or at the P control steps of a clip."""

    gains: Floats
    """Target offsets per deviation (position, then velocity). Shape (P, U, 2 nv)."""
    dofs: Ints
    """Degrees of freedom whose targets move. Shape (U,)."""
    periodic: bool = True
    """Whether it is that of a cycle; a clip's last gains stay."""

    def offsets(self, phase: Floats, deviation: Floats, velocity: Floats) -> Floats:
        """Offsets of the joint targets, [rad]. Shape (B, nv).

        Args:
            phase: Place in the cycle, [0, 1), or in the clip, [0, 1]. Shape (B,).
            deviation: Position minus reference in the tangent space. Shape (B, nv).
            velocity: Velocity minus reference. Shape (B, nv).
        """
        row = np.rint(phase * len(self.gains)).astype(np.int64)
        last = len(self.gains) - 1
        row = row % len(self.gains) if self.periodic else np.minimum(row, last)
        state = np.concatenate([deviation, velocity], axis=1)
        out = np.zeros_like(deviation)
        out[:, self.dofs] = -np.einsum("bux,bx->bu", self.gains[row], state)
        return out


def balance_controller(
    character: Character, reference: ReferenceTable, dofs: Ints, *, control_dt: float
) -> BalanceController:
    """The controller for one cycle of `reference`, one gain matrix a control step.

    Args:
        character: The body.
        reference: What it follows.
        dofs: Degrees of freedom whose targets may move; legs and trunk.
        control_dt: Duration of a control step, [s].

    Raises:
        MotionError: The simulation explodes beside the reference.
    """
    steps = cycle_steps(character, reference, dofs, control_dt=control_dt)
    return controller_of(character, steps, dofs, WALKING, periodic=True)


def cycle_steps(
    character: Character, reference: ReferenceTable, dofs: Ints, *, control_dt: float
) -> list[Step]:
    """Slopes of the control steps of one cycle; as `balance_controller`."""
    steps = steps_along(character, reference, dofs, control_dt=control_dt)
    if not all(a.any() for a, _ in steps):
        raise MotionError(
            "the simulation explodes beside the reference; prepare the clip for this "
            "character"
        )
    return steps


def steps_along(
    character: Character, reference: ReferenceTable, dofs: Ints, *, control_dt: float
) -> list[Step]:
    """Slopes of the control steps of a clip or cycle; 0 where the simulation explodes."""
    substeps = round(control_dt / character.model.opt.timestep)
    slopes = Slopes(character, reference, dofs, substeps, STEP_SCALE)
    count = max(1, round(reference.period / control_dt))
    return [
        slopes.at(Knot.on(reference, k / count * reference.period, len(dofs)))
        for k in range(count)
    ]


def controller_of(
    character: Character,
    steps: Sequence[Step],
    dofs: Ints,
    weights: Weights,
    *,
    periodic: bool,
) -> BalanceController:
    """The regulator for `steps` by offsets of `dofs`; tied joints have gains of 0."""
    free, nv = joint_coupling(character.model).independent, int(character.model.nv)
    gains = np.array(regulate(steps, weights, periodic=periodic)[1])
    whole = np.zeros((len(steps), len(dofs), 2 * nv))
    whole[:, :, np.r_[free, nv + free]] = gains
    return BalanceController(whole, dofs, periodic=periodic)


def regulate(
    steps: Sequence[Step], weights: Weights = FITTING, *, periodic: bool = False
) -> tuple[list[Floats], list[Floats]]:
    """Cost to go (K + 1) and gains (K) of the regulator along a reference.

    A deviation d costs 0.5 d' s d; offsets are -gain d. That a control step from the
    reference does not end on it is left out: contacts that settle within a step would count
    as pushes in every step.

    Args:
        steps: Slopes of the K control steps.
        weights: Costs.
        periodic: Whether the first step follows the last.
    """
    cost = weights.of_state(len(steps[0][0]) // 2)
    s: Floats = np.diag(cost if periodic else END * cost)
    values: list[Floats] = []
    gains: list[Floats] = []
    for _ in range(max(ROUNDS, LEAST_STEPS // len(steps)) if periodic else 1):
        values, gains = [s], []
        for a, b in reversed(steps):
            right = b.T @ s
            inner = right @ b + weights.effort * np.eye(b.shape[1])
            gain: Floats = np.asarray(np.linalg.solve(inner, right @ a), np.float64)
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

    That of iterative LQR (W. Li and E. Todorov, Iterative linear quadratic regulator design
    for nonlinear biological movement systems, ICINCO 2004).

    Args:
        steps: Slopes along the present states.
        deviation: Deviations of the present states from the clip. Shape (H + 1, 2n).
        offsets: Present offsets. Shape (H, U).
        end: Cost to go behind the window. Shape (2n, 2n).
        weights: Costs.

    Returns:
        Changes (H, U), and gains (H, U, 2n) of feedback on what differs from the present
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
    """Cost of windows; deviations (H + 1, N, 2n), offsets (H, N, U). Shape (N,)."""
    cost = weights.of_state(deviation.shape[2] // 2)
    last = deviation[-1]
    total = 0.5 * (deviation[:-1] ** 2 @ cost).sum(axis=0)
    total += 0.5 * weights.effort * np.square(offsets).sum(axis=(0, 2))
    total += 0.5 * np.einsum("ni,ij,nj->n", last, end, last)
    return np.asarray(total)


def resampled(gains: Floats, rows: int) -> Floats:
    """Gains (K, U, X) at `rows` equal phases, linearly between them."""
    position = np.arange(rows) / rows * len(gains)
    row = np.floor(position).astype(np.int64)
    fraction = (position - row)[:, None, None]
    after = gains[(row + 1) % len(gains)]
    return np.asarray((1.0 - fraction) * gains[row] + fraction * after)
