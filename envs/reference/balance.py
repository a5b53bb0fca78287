"""A balance controller: time-varying linear feedback that keeps a body on a reference gait.

The reference with its feed-forward torque is a trajectory that falls within a second or
two. Linearised around it by finite differences of the simulation itself, contacts
included, it is a periodic linear system; the linear-quadratic regulator of that system
(B. Anderson and J. Moore, Optimal Control: Linear Quadratic Methods, 1990) moves the
joint targets so that the deviation dies out. Nothing is learned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.linearization import LinearSteps, linear_steps
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.muscle.coupling import joint_coupling

EFFORT = 100.0
"""Cost of a moved target, [1/rad^2], beside 1/rad^2 of a joint's deviation: lower is
stiffer and trusts the linear model further than it holds."""
ROUNDS, LEAST_STEPS = 12, 600
"""Times that the Riccati recursion runs round the cycle (it converges in about five),
and the fewest steps that it takes: a cycle may be a single step long."""


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
    character: Character,
    reference: ReferenceTable,
    dofs: Ints,
    *,
    control_dt: float,
    effort: float = EFFORT,
    along: float = 1.0,
) -> BalanceController:
    """The controller for one cycle of `reference`, one gain matrix a control step.

    Args:
        character: The body.
        reference: What it follows.
        dofs: Degrees of freedom whose targets may move; legs and trunk.
        control_dt: Duration of a control step, [s].
        effort: Cost of a moved target, [1/rad^2].
        along: Cost of being behind or ahead, [1/m^2]; small lets the body find its own
            speed.

    Joints that are tied to others (`muscle.coupling`) have gains of zero.

    Raises:
        MotionError: The simulation explodes beside the reference.
    """
    steps = linear_steps(character, reference, dofs, control_dt=control_dt)
    return regulator(character, steps, dofs, effort=effort, along=along)


def regulator(
    character: Character,
    steps: LinearSteps,
    dofs: Ints,
    *,
    effort: float = EFFORT,
    along: float = 1.0,
) -> BalanceController:
    """The controller for `steps`, by offsets of `dofs`; see `balance_controller`."""
    free = joint_coupling(character.model).independent
    size = len(free)
    a, b, count = steps.a, steps.b, len(steps.a)
    weight = np.ones(2 * size)
    weight[0], weight[2:6] = along, 20.0
    weight[size + 6 :] = 0.01
    state_cost, input_cost = np.diag(weight), effort * np.eye(len(dofs))
    gains = np.zeros((count, len(dofs), 2 * size))
    ahead = state_cost.copy()
    for _ in range(max(ROUNDS, LEAST_STEPS // count)):
        for k in range(count - 1, -1, -1):
            right = b[k].T @ ahead
            gains[k] = np.linalg.solve(input_cost + right @ b[k], right @ a[k])
            ahead = state_cost + a[k].T @ ahead @ (a[k] - b[k] @ gains[k])
            ahead = 0.5 * (ahead + ahead.T)
    nv = int(character.model.nv)
    whole = np.zeros((count, len(dofs), 2 * nv))
    whole[:, :, np.r_[free, nv + free]] = gains
    return BalanceController(whole, dofs)


def resampled(gains: Floats, rows: int) -> Floats:
    """Gains (K, U, X) at `rows` equal phases, linearly between them."""
    position = np.arange(rows) / rows * len(gains)
    row = np.floor(position).astype(np.int64)
    fraction = (position - row)[:, None, None]
    after = gains[(row + 1) % len(gains)]
    return np.asarray((1.0 - fraction) * gains[row] + fraction * after)
