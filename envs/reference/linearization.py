"""One control step of a simulation beside its reference, as a linear map.

By central differences of the simulation itself, contacts included, at equal phases of the
cycle. The state is position (tangent space) and velocity of the n independent degrees of
freedom, minus the reference's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import MotionError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.simulation.simulation import CharacterSimulation, TorqueMotors
from ambulo.muscle.coupling import joint_coupling

POSITION_STEP = 0.01
"""Finite difference of a position, [m] or [rad]."""
VELOCITY_STEP = 0.05
"""Finite difference of a velocity, [m/s] or [rad/s]."""
TARGET_STEP = 0.02
"""Finite difference of a joint target, [rad]."""


@dataclass(frozen=True, eq=False)
class LinearSteps:
    """deviation(k + 1) = a[k] deviation(k) + b[k] offsets(k) + defect[k]; P phases."""

    a: Floats
    """By the deviation before. Shape (P, 2 n, 2 n)."""
    b: Floats
    """By the offsets of U joint targets. Shape (P, 2 n, U)."""
    defect: Floats
    """Deviation after a control step that begins on the reference. Shape (P, 2 n)."""

    def only(self, columns: Ints) -> LinearSteps:
        """The same steps with the offsets in `columns` alone."""
        return LinearSteps(self.a, self.b[:, :, columns], self.defect)


def linear_steps(
    character: Character,
    reference: ReferenceTable,
    dofs: Ints,
    *,
    control_dt: float,
) -> LinearSteps:
    """The control steps of one cycle of `reference`, offsets of the targets of `dofs`.

    Raises:
        MotionError: The simulation explodes beside the reference.
    """
    coupling = joint_coupling(character.model)
    free = coupling.independent
    n, nv, inputs = len(free), int(character.model.nv), len(dofs)
    count = max(1, round(reference.period / control_dt))
    half = 2 * n + inputs
    substeps = round(control_dt / character.model.opt.timestep)
    size = 2 * half + 1
    simulation = CharacterSimulation(character, size, substeps=substeps, threads=0)
    moves = np.zeros((half, 3 * nv))
    moves[np.arange(n), free] = POSITION_STEP
    moves[n + np.arange(n), nv + free] = VELOCITY_STEP
    moves[2 * n + np.arange(inputs), 2 * nv + dofs] = TARGET_STEP
    steps = moves.max(axis=1)
    moves = np.concatenate([moves, -moves, np.zeros((1, 3 * nv))])
    a, b = np.zeros((count, 2 * n, 2 * n)), np.zeros((count, 2 * n, inputs))
    defect = np.zeros((count, 2 * n))
    for k in range(count):
        time = np.full(size, k / count * reference.period)
        qpos, qvel, torque = reference.at(time)
        qpos = coupling.closed(simulation.tangent.moved(qpos, moves[:, :nv]))
        qvel = coupling.closed_velocity(qpos, qvel + moves[:, nv : 2 * nv])
        start(simulation, time, qpos, qvel, torque)
        follow(simulation, reference, moves[:, 2 * nv :])
        if simulation.fault.any():
            raise MotionError(
                f"phase {k / count:.2f} of the reference: the simulation explodes beside "
                "it; prepare the clip for this character"
            )
        deviation, velocity = deviations(simulation, reference)
        after = np.concatenate([deviation[:, free], velocity[:, free]], axis=1)
        slope = (after[:half] - after[half:-1]) / (2.0 * steps[:, None])
        a[k], b[k], defect[k] = slope[: 2 * n].T, slope[2 * n :].T, after[-1]
    return LinearSteps(a, b, defect)


def start(
    simulation: CharacterSimulation,
    time: Floats,
    qpos: Floats,
    qvel: Floats,
    torque: Floats,
) -> None:
    """Put all N simulations into a state in which `torque` (N, nv) already acts.

    Stable PD reads the contact forces of the step before: without the torque they would
    be those of a body that lets itself fall.
    """
    simulation.reset(np.arange(simulation.count), time, qpos, qvel)
    if not isinstance(simulation.actuation, TorqueMotors):
        return  # muscles have a state of their own that one call would move
    simulation.actuation.apply(torque[:, simulation.driven], simulation.ctrl)
    simulation.forward(np.arange(simulation.count))
    simulation.constraint[:] = simulation.bind("qfrc_constraint")


def follow(
    simulation: CharacterSimulation, reference: ReferenceTable, offsets: Floats
) -> None:
    """One control step along the reference, joint targets moved by `offsets` (N, nv)."""
    h = simulation.dt / simulation.substeps
    for _ in range(simulation.substeps):
        qpos, qvel, torque = reference.targets.at(simulation.time + h)
        target = simulation.tangent.moved(qpos, offsets)
        simulation.step(target, qvel, torque)


def deviations(
    simulation: CharacterSimulation, reference: ReferenceTable
) -> tuple[Floats, Floats]:
    """Positions (tangent) and velocities minus the reference's, each (N, nv)."""
    qpos, qvel, _ = reference.at(simulation.time)
    return simulation.tangent.difference(simulation.qpos, qpos), simulation.qvel - qvel
