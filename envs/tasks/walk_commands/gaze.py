"""The gaze: turning to a point, divided between neck and head."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.body import body_of_joint
from ambulo.envs.state_arrays import NamedState
from ambulo.motion.roles import roles_of
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply

if TYPE_CHECKING:
    from ambulo.envs.simulation.simulation import CharacterSimulation

WIDEST = np.radians([70.0, 40.0])
"""Largest turn to the side, and down or up, [rad]."""
RATE = 2.0
"""Largest turning rate, [rad/s]."""


class Gaze(NamedState):
    """Gaze targets of N bodies."""

    def __init__(self, character: Character, simulation: CharacterSimulation) -> None:
        """Start with all looking ahead."""
        roles, model = roles_of(character.skeleton), character.model
        joints = [character.skeleton.joints[roles[name]] for name in ("neck", "head")]
        first = [int(model.joint(name).qposadr[0]) for name in joints]
        self.columns: list[Ints] = [np.arange(at, at + 4) for at in first]
        """Columns of qpos of neck and head."""
        self.dofs: Ints = np.array(
            [np.arange(3) + int(model.joint(name).dofadr[0]) for name in joints]
        )
        """Their degrees of freedom. Shape (2, 3)."""
        self._head = body_of_joint(character, roles["head"])
        self._chest = body_of_joint(character, roles["chest"])
        self._places: Floats = simulation.bind("xpos")
        self._turns: Floats = simulation.bind("xmat").reshape(
            len(self._places), -1, 3, 3
        )
        count = len(self._places)
        self.point: Floats = np.zeros((count, 3))
        """Gaze targets in the world, [m]. Shape (N, 3)."""
        self.on: Bools = np.zeros(count, np.bool_)
        """Mask of the bodies with a gaze target. Shape (N,)."""
        self.angles: Floats = np.zeros((count, 2))
        """Turn of the head to the left and down now, [rad]. Shape (N, 2)."""

    saved = ("point", "on", "angles")

    def clear(self, envs: Ints) -> None:
        """Let `envs` (k,) look ahead at once."""
        self.point[envs], self.on[envs], self.angles[envs] = 0.0, False, 0.0

    def advance(self, dt: float) -> None:
        """Advance the heads by one control step of `dt`, [s]."""
        if not (self.on.any() or self.angles.any()):
            return
        away = self.point - self._places[:, self._head]
        seen = np.einsum("nji,nj->ni", self._turns[:, self._chest], away)
        level = np.maximum(np.hypot(seen[:, 0], seen[:, 1]), 1e-6)
        aside, up = np.arctan2(seen[:, 1], seen[:, 0]), np.arctan2(seen[:, 2], level)
        wanted = np.stack([aside, -up], axis=1)
        wanted = np.where(self.on[:, None], np.clip(wanted, -WIDEST, WIDEST), 0.0)
        self.angles += np.clip(wanted - self.angles, -RATE * dt, RATE * dt)

    def bend(self, qpos: Floats) -> None:
        """Turn neck and head of positions (N, nq), half of the rotation each, in place."""
        envs = np.flatnonzero(self.angles.any(axis=1))
        if not len(envs):
            return
        turn = np.zeros((len(envs), 3))
        turn[:, 2] = 0.5 * self.angles[envs, 0]
        tilt = np.zeros((len(envs), 3))
        tilt[:, 1] = 0.5 * self.angles[envs, 1]
        half = quat_multiply(quat_from_rotvec(turn), quat_from_rotvec(tilt))
        for columns in self.columns:
            joint = envs[:, None], columns
            qpos[joint] = quat_multiply(half, qpos[joint])
