"""Elbow directions of led arms, as an IK network trained on captured people predicts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.body import body_of_joint
from ambulo.envs.tasks.walk_commands.arms import PARTS
from ambulo.ik.pose import fk
from ambulo.ik.rig import TARGETS
from ambulo.ik.solver.network import load_ik_network
from ambulo.ik.solver.targets import Targets
from ambulo.motion.roles import SIDES, roles_of
from ambulo.motion.rotations import quat_multiply

if TYPE_CHECKING:
    from ambulo.envs.simulation.simulation import CharacterSimulation

NETWORK = "ik_net"
"""The shipped network."""
_HEAD = TARGETS.index("Head")
_HANDS = [TARGETS.index("LeftHand"), TARGETS.index("RightHand")]


class ElbowPrior:
    """Directions of the elbows of simulated bodies; see `LedArms.advance`."""

    def __init__(self, character: Character, simulation: CharacterSimulation) -> None:
        """Load the network.

        Raises:
            ModelFileError: The shipped network is missing or damaged.
        """
        self._network = load_ik_network(NETWORK)
        rig, roles = self._network.rig, roles_of(character.skeleton)
        theirs = roles_of(rig.skeleton)
        self._rest = rig.target_rest[_HEAD]
        self._arms = np.array(
            [[theirs[f"{side}_{part}"] for part in PARTS] for side in SIDES]
        )
        self._head = body_of_joint(character, roles["head"])
        self._places: Floats = simulation.bind("xpos")
        self._turns: Floats = simulation.bind("xquat")

    def __call__(self, envs: Ints, goals: Floats) -> Floats:
        """World directions of both elbows of `envs` (k,) with hands at `goals` (k, 2, 3).

        From the midpoint of shoulder and hand to the elbow of the pose that the network
        predicts for the head and these hands.
        """
        count = len(envs)
        places = np.zeros((count, len(TARGETS), 3))
        turns = np.zeros((count, len(TARGETS), 4))
        placed, turned = np.zeros((2, count, len(TARGETS)))
        places[:, _HEAD] = self._places[envs, self._head]
        turns[:, _HEAD] = quat_multiply(self._turns[envs, self._head], self._rest)
        places[:, _HANDS] = goals
        placed[:, [_HEAD, *_HANDS]], turned[:, _HEAD] = 1.0, 1.0
        joints = np.empty((count, 2, len(PARTS), 3))
        for i in range(count):  # one by one: same bits for any number of bodies
            rows = (part[i : i + 1] for part in (places, turns, placed, turned))
            pose = self._network.predict(Targets(*rows))
            joints[i] = fk(self._network.rig, pose)[0][0, self._arms]
        return np.asarray(joints[:, :, 1] - 0.5 * (joints[:, :, 0] + joints[:, :, 2]))
