"""How a body's state after a control step depends on the state and targets before it.

By central differences of the simulation over whole control steps, contacts included. The
differences are large on purpose: the slope of a contact within a hundredth of a radian says
nothing about the next tenth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.linearization import deviations, follow
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.simulation.simulation import CharacterSimulation

POSITION_STEP, VELOCITY_STEP, TARGET_STEP = 0.02, 0.12, 0.03
"""Differences of positions, [m], [rad], of velocities per second, and of joint targets."""


@dataclass(frozen=True, eq=False)
class Knot:
    """A state at the beginning of a control step, and what is done in it."""

    time: float
    """Of the clip, [s]."""
    qpos: Floats
    """Shape (nq,)."""
    qvel: Floats
    """Shape (nv,)."""
    torque: Floats
    """What acts, [N m]. Shape (nv,)."""
    offsets: Floats
    """By how much the joint targets are moved, [rad]. Shape (U,)."""


class Slopes:
    """Linear control steps of one body along one clip."""

    def __init__(
        self,
        character: Character,
        table: ReferenceTable,
        dofs: Ints,
        substeps: int,
        step_scale: float = 1.0,
    ) -> None:
        """Of `character` beside `table`; offsets move the targets of `dofs` (U,)."""
        nv, inputs = int(character.model.nv), len(dofs)
        self._table, self._nv = table, nv
        half = 2 * nv + inputs
        moves = np.zeros((half, 3 * nv))
        moves[np.arange(nv), np.arange(nv)] = POSITION_STEP
        moves[nv + np.arange(nv), nv + np.arange(nv)] = VELOCITY_STEP
        moves[2 * nv + np.arange(inputs), 2 * nv + dofs] = TARGET_STEP
        moves *= step_scale
        self._steps = moves.max(axis=1)
        self._moves = np.concatenate([moves, -moves])
        self._dofs = dofs
        self._simulation = CharacterSimulation(
            character, 2 * half, substeps=substeps, threads=0
        )

    def at(self, knot: Knot) -> tuple[Floats, Floats]:
        """Changes after a control step, a d + b du: a (2nv, 2nv) and b (2nv, U).

        `d` and `du` are changes of the knot's state and offsets.
        """
        simulation, nv = self._simulation, self._nv
        size = simulation.count
        half = size // 2
        qpos = np.broadcast_to(knot.qpos, (size, len(knot.qpos)))
        qpos = simulation.tangent.moved(qpos, self._moves[:, :nv])
        qvel = knot.qvel + self._moves[:, nv : 2 * nv]
        time = np.full(size, knot.time)
        ctrl = np.empty((1, int(simulation.model.nu)))
        simulation.actuation.apply(knot.torque[None, simulation.driven], ctrl)
        simulation.reset(np.arange(size), time, qpos, qvel, ctrl)
        offsets = self._moves[:, 2 * nv :].copy()
        offsets[:, self._dofs] += knot.offsets
        follow(simulation, self._table, offsets)
        after = np.concatenate(deviations(simulation, self._table), axis=1)
        slope = (after[:half] - after[half:]) / (2.0 * self._steps[:, None])
        bad = ~np.isfinite(slope).all(axis=1) | (simulation.fault[:half] > 0)
        slope[bad | (simulation.fault[half:] > 0)] = 0.0
        return slope[: 2 * nv].T.copy(), slope[2 * nv :].T.copy()
