"""Arms and head solved for the tracked targets from the present trunk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from ambulo.configs.arrays import Array, Floats, Ints
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.body import body_of_joint
from ambulo.envs.tasks.walk_commands.arms import PARTS, Arms, gait_arm
from ambulo.ik.avatar.limbs import solve_arm
from ambulo.motion.roles import SIDES, roles_of
from ambulo.motion.rotations import quat_from_matrix, quat_multiply

if TYPE_CHECKING:
    from ambulo.envs.simulation.simulation import CharacterSimulation

FARTHEST = 0.3
"""Largest displacement of a hand from its place in the carried pose, [m]."""
UPPER = ("clavicle", *PARTS)
"""Joints of each arm that follow the tracked pose; neck and head do as well."""


class TrackedArms(Arms):
    """Local rotations of both arms and the head of N bodies, solved from their trunks."""

    def __init__(self, character: Character, simulation: CharacterSimulation) -> None:
        """Look up joints and bodies."""
        super().__init__(character, simulation)
        roles, model = roles_of(character.skeleton), character.model
        names = character.skeleton.joints
        self._chest = body_of_joint(character, roles["chest"])
        self._neck, self._head = (
            int(model.joint(names[roles[role]]).qposadr[0]) for role in ("neck", "head")
        )
        count = len(self._places)
        rest = np.array([1.0, 0.0, 0.0, 0.0])
        self.arms: Floats = np.tile(rest, (count, 2, 3, 1))
        """Local rotations of upper arm, forearm and hand. Shape (N, 2, 3, 4)."""
        self.head: Floats = np.tile(rest, (count, 1))
        """Local rotations of the heads. Shape (N, 4)."""

    saved = ("arms", "head")

    def follow(self, envs: Ints, pose: Floats) -> None:
        """Copy arms and heads of `envs` (k,) from poses (k, nq)."""
        for env, own in zip(envs, pose, strict=True):
            for side in range(2):
                gait_arm(own, self._columns[side], self.arms[env, side])
        self.head[envs] = pose[:, self._head : self._head + 4]

    def solve(
        self, pose: Floats, joints: Floats, beside: Floats, hands: Floats, head: Floats
    ) -> None:
        """Solve for the present trunks.

        Args:
            pose: The tracked poses. Shape (N, nq).
            joints: World positions of their bodies, [m]. Shape (N, B, 3).
            beside: The same positions, carried along to the simulated bodies. Shape (N, B, 3).
            hands: World orientations of the hands. Shape (N, 2, 4).
            head: World orientations of the heads. Shape (N, 4).
        """
        part = self._bodies - 1
        wrists = joints[:, part[:, 3]] - beside[:, part[:, 3]]
        far = np.linalg.norm(wrists, axis=2, keepdims=True)
        wrists *= np.minimum(1.0, FARTHEST / np.maximum(far, 1e-9))
        wrists += beside[:, part[:, 3]]
        poles = joints[:, part[:, 2]] - 0.5 * (
            joints[:, part[:, 1]] + joints[:, part[:, 3]]
        )
        _solve(
            self._clavicles, self._bodies, self._offsets, self._places, self._turns,
            wrists, poles, hands, self.arms,
        )  # fmt: skip
        neck = pose[:, self._neck : self._neck + 4]
        carries = quat_multiply(self._turns[:, self._chest], neck)
        inverse = carries * [1.0, -1.0, -1.0, -1.0]
        self.head[:] = quat_multiply(inverse, head)

    def bend(self, qpos: Floats) -> None:
        """Write arms and heads into positions (N, nq), in place."""
        every = np.arange(len(qpos))
        for side in range(2):
            self.put(side, every, self.arms[:, side], qpos)
        qpos[:, self._head : self._head + 4] = self.head


def quaternions_of(axes: Floats) -> Floats:
    """Rotations whose first two axes are (N, k, 2, 3) in the world, wxyz. Shape (N, k, 4)."""
    first, second = axes[..., 0, :], axes[..., 1, :]
    matrix = np.stack([first, second, np.cross(first, second)], axis=-1)
    return np.asarray(quat_from_matrix(matrix))


def upper_body(character: Character) -> tuple[Ints, Ints]:
    """Columns of qpos and of qvel of arms, neck and head."""
    roles, model = roles_of(character.skeleton), character.model
    names = [f"{side}_{part}" for side in SIDES for part in UPPER]
    joints = [
        model.joint(character.skeleton.joints[roles[name]])
        for name in ("neck", "head", *names)
    ]
    balls = [int(joint.type[0]) == 1 for joint in joints]
    columns = [
        int(joint.qposadr[0]) + np.arange(4 if ball else 1)
        for joint, ball in zip(joints, balls, strict=True)
    ]
    dofs = [
        int(joint.dofadr[0]) + np.arange(3 if ball else 1)
        for joint, ball in zip(joints, balls, strict=True)
    ]
    return np.concatenate(columns), np.concatenate(dofs)


@njit(cache=True)
def _solve(
    clavicles: Array, bodies: Array, offsets: Array, places: Array, turns: Array,
    wrists: Array, poles: Array, hands: Array, out: Array,
) -> None:  # fmt: skip
    world, local = np.zeros((len(offsets), 4)), np.zeros((len(offsets), 4))
    for b in range(len(out)):
        for side in range(2):
            clavicle, own = clavicles[side], bodies[side]
            for i in range(4):
                world[clavicle, i] = turns[b, own[0], i]
            solve_arm(
                clavicle, 1.0 if side == 0 else -1.0, places[b, own[1]].copy(),
                wrists[b, side], poles[b, side], hands[b, side], offsets, world, local,
            )  # fmt: skip
            for part in range(3):
                for i in range(4):
                    out[b, side, part, i] = local[clavicle + 1 + part, i]
