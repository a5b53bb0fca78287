"""Control steps of a simulation beside a reference: taken, and as linear maps.

By central differences of the simulation over whole control steps, contacts included. The
differences are large on purpose: the slope of a contact within a thousandth of a radian says
nothing about the next hundredth. A state is position (tangent space) and velocity of the n
independent degrees of freedom, minus the reference's; joints that are tied to others
(`muscle.coupling`) follow them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.simulation.simulation import CharacterSimulation, TorqueMotors
from ambulo.muscle.coupling import joint_coupling

HEAVY = 0.12
"""Share of the body's mass from which what a joint carries moves the rest."""
POSITION_STEP, VELOCITY_STEP, TARGET_STEP = 0.02, 0.12, 0.03
"""Differences of positions, [m], [rad], of velocities per second, and of joint targets."""

Step = tuple[Floats, Floats]
"""a and b of one control step, see `Slopes.at`."""


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


@dataclass(frozen=True, eq=False)
class Knot:
    """A state at the beginning of a control step, and what is done in it."""

    time: float
    """Time in the reference, [s]."""
    qpos: Floats
    """Shape (nq,)."""
    qvel: Floats
    """Shape (nv,)."""
    torque: Floats
    """Applied torques, [N m]. Shape (nv,)."""
    offsets: Floats
    """By how much the joint targets are moved, [rad]. Shape (U,)."""

    @staticmethod
    def on(table: ReferenceTable, time: float, inputs: int) -> Knot:
        """The reference's own state at `time`, [s]; `inputs` targets are not moved."""
        qpos, qvel, torque = table.at(np.array([time]))
        return Knot(time, qpos[0], qvel[0], torque[0], np.zeros(inputs))


class Slopes:
    """Linear control steps of one body along one reference."""

    def __init__(
        self,
        character: Character,
        table: ReferenceTable,
        dofs: Ints,
        substeps: int,
        step_scale: float = 1.0,
    ) -> None:
        """Linearise `character` along `table`; offsets move the targets of `dofs` (U,)."""
        self._coupling = joint_coupling(character.model)
        free = self._coupling.independent
        nv, n, inputs = int(character.model.nv), len(free), len(dofs)
        self._table, self._nv, self._free = table, nv, free
        moves = np.zeros((2 * n + inputs, 3 * nv))
        moves[np.arange(n), free] = POSITION_STEP
        moves[n + np.arange(n), nv + free] = VELOCITY_STEP
        moves[2 * n + np.arange(inputs), 2 * nv + dofs] = TARGET_STEP
        self._moves, self._dofs = step_scale * moves, dofs
        heavy = carries(character)
        self._all: Ints = np.arange(len(moves))
        self._heavy: Ints = np.flatnonzero(np.r_[heavy[free], heavy[free], heavy[dofs]])
        self._simulations = {
            len(some): CharacterSimulation(
                character, 2 * len(some), substeps=substeps, threads=0
            )
            for some in (self._all, self._heavy)
        }

    def at(self, knot: Knot) -> Step:
        """Changes after a control step, a d + b du: a (2n, 2n) and b (2n, U).

        `d` and `du` are changes of the knot's state and offsets.
        """
        return self._columns(self._measured(knot, self._all).T.copy())

    def near(self, step: Step, knot: Knot) -> Step:
        """As `at`, where `step` is that of a state nearby: light limbs keep its slopes."""
        columns = np.concatenate(step, axis=1)
        columns[:, self._heavy] = self._measured(knot, self._heavy).T
        return self._columns(columns)

    def _columns(self, columns: Floats) -> Step:
        """Columns (2n, 2n + U) of a and b."""
        size = 2 * len(self._free)
        return columns[:, :size].copy(), columns[:, size:].copy()

    def _measured(self, knot: Knot, some: Ints) -> Floats:
        """Changes after a control step over those of `some` of state and offsets."""
        simulation, nv = self._simulations[len(some)], self._nv
        size, half = simulation.count, len(some)
        moves = np.concatenate([self._moves[some], -self._moves[some]])
        steps = self._moves[some].max(axis=1)
        qpos = np.broadcast_to(knot.qpos, (size, len(knot.qpos)))
        qpos = self._coupling.closed(simulation.tangent.moved(qpos, moves[:, :nv]))
        qvel = self._coupling.closed_velocity(qpos, knot.qvel + moves[:, nv : 2 * nv])
        time = np.full(size, knot.time)
        ctrl = np.empty((1, int(simulation.model.nu)))
        simulation.actuation.apply(knot.torque[None, simulation.driven], ctrl)
        simulation.reset(np.arange(size), time, qpos, qvel, ctrl)
        offsets = moves[:, 2 * nv :].copy()
        offsets[:, self._dofs] += knot.offsets
        follow(simulation, self._table, offsets)
        after = np.concatenate(
            [part[:, self._free] for part in deviations(simulation, self._table)],
            axis=1,
        )
        slope = (after[:half] - after[half:]) / (2.0 * steps[:, None])
        bad = ~np.isfinite(slope).all(axis=1) | (simulation.fault[:half] > 0)
        slope[bad | (simulation.fault[half:] > 0)] = 0.0
        return np.asarray(slope)


def carries(character: Character) -> Bools:
    """Degrees of freedom that move the rest of the body: those of root, legs and trunk. (nv,).

    Those of the root, those above a sole, and those that carry at least `HEAVY` of the mass.
    """
    model = character.model
    heavy = model.body_subtreemass / model.body_mass.sum() >= HEAVY
    return np.asarray(heavy[model.dof_bodyid] | stands(character))


def stands(character: Character) -> Bools:
    """Degrees of freedom above a sole: those of root and legs. (nv,)."""
    model, skeleton = character.model, character.skeleton
    above = np.zeros(model.nbody, dtype=bool)
    for joint in set(character.soles.joints):
        body = int(model.jnt_bodyid[model.joint(skeleton.joints[joint]).id])
        while body > 0:
            above[body] = True
            body = int(model.body_parentid[body])
    return np.asarray(above[model.dof_bodyid])
