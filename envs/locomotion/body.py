"""State of bodies in their reference frames, which tasks read."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.body_kernels import (
    body_state,
    sole_points,
)
from ambulo.envs.reference.gaits import Blend, Gaits
from ambulo.envs.reference.joint_positions import body_places
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.motion.roles import roles_of

EFFECTORS = ("left_foot", "right_foot", "left_hand", "right_hand", "head")
"""Roles of the end effectors."""
CONTACT_HEIGHT = 0.005
"""Height below which a sole ball is taken to touch the ground, [m]."""


@dataclass(frozen=True)
class BodyState:
    """Arrays over N bodies; "reference frame" is the one that the reference walks in."""

    qpos: Floats
    """Positions, the root's in the reference frame. Shape (N, nq)."""
    qvel: Floats
    """Velocities, the root's linear one along the reference frame's axes. Shape (N, nv)."""
    deviation: Floats
    """Positions minus the reference's, tangent space. Shape (N, nv)."""
    rate: Floats
    """Velocities minus the reference's. Shape (N, nv)."""
    up: Floats
    """The world's vertical in the root's frame. Shape (N, 3)."""
    heading: Floats
    """Root velocity along its own heading, its left and up, [m/s]. Shape (N, 3)."""
    yaw: Floats
    """Heading of the root from that of the reference frame, [rad]. Shape (N,)."""
    height: Floats
    """Root over the ground, [m]. Shape (N,)."""
    effectors: Floats
    """End effectors from the root along the reference frame's axes, [m]. Shape (N, E, 3)."""
    com: Floats
    """Centre of mass in the reference frame, [m]. Shape (N, 3)."""
    soles: Floats
    """Height of each foot's heel, ball and toes over the ground, [m]. Shape (N, 6)."""
    contacts: Bools
    """Whether the left and right foot touch the ground. Shape (N, 2)."""

    def joint_error(self, dofs: Ints) -> Floats:
        """Return the mean deviation of the degrees of freedom `dofs`, shape (N,), [rad]."""
        sizes = np.ascontiguousarray(np.abs(self.deviation[:, dofs]))
        return np.asarray(sizes.mean(axis=1))

    def fallen(self, height: float, rotation: float) -> Bools:
        """Whose root is off by more than `height`, [m], or `rotation`, [rad]. Shape (N,)."""
        return fallen(self.deviation, height, rotation)


def fallen(deviation: Floats, height: float, rotation: float) -> Bools:
    """Which deviations (N, nv) are larger than `height`, [m], or `rotation`, [rad]. (N,)."""
    turned = np.linalg.norm(deviation[:, 3:6], axis=1) > rotation
    return np.asarray((np.abs(deviation[:, 2]) > height) | turned)


class BodyView:
    """Reads the state of all bodies of a simulation."""

    def __init__(self, simulation: CharacterSimulation) -> None:
        """Look up bodies and geoms."""
        self._simulation = simulation
        character = simulation.character
        self._effectors: Ints = np.array(effector_bodies(character), dtype=np.int64)
        soles = character.soles
        self._parts: Ints = np.zeros(len(soles.joints), dtype=np.int64)
        for part, balls in enumerate(sole_groups(character)):
            self._parts[balls] = part
        self._sole_bodies: Ints = np.array(
            [body_of_joint(character, joint) for joint in soles.joints], dtype=np.int64
        )
        self._sole_offsets: Floats = np.array(soles.offsets, dtype=np.float64)
        self._radius = float(soles.radius)
        self._root = body_of_joint(character, 0)
        self._places = simulation.bind("xpos")
        self._turns = simulation.bind("xmat")
        self._com = simulation.bind("subtree_com")

    def sole_points(self) -> Floats:
        """Lowest places of the sole balls in the world, [m]. Shape (N, P, 3)."""
        points: Floats = sole_points(
            self._places, self._turns, self._sole_bodies, self._sole_offsets,
            self._radius,
        )  # fmt: skip
        return points

    def state(
        self,
        reference_frame: Floats,
        reference: tuple[Floats, Floats],
        ground: Floats,
        heights: Floats,
    ) -> BodyState:
        """The state now.

        Args:
            reference_frame: The reference frame, x, y, [m], yaw, [rad], z, [m]. Shape (N, 4).
            reference: Positions and velocities in the reference frame.
            ground: Ground height under the root, [m]. Shape (N,).
            heights: Of `sole_points` over the ground, [m]. Shape (N, P).
        """
        simulation, n = self._simulation, self._simulation.count
        qpos, qvel = simulation.qpos.copy(), simulation.qvel.copy()
        state = BodyState(
            qpos=qpos,
            qvel=qvel,
            deviation=np.empty(qvel.shape),
            rate=np.empty(qvel.shape),
            up=np.empty((n, 3)),
            heading=np.empty((n, 3)),
            yaw=np.empty(n),
            height=np.empty(n),
            effectors=np.empty((n, len(self._effectors), 3)),
            com=np.empty((n, 3)),
            soles=np.empty((n, 6)),
            contacts=np.empty((n, 2), dtype=np.bool_),
        )
        body_state(
            reference_frame, *reference, ground, heights, self._places, self._com, self._root,
            self._effectors, self._parts, simulation.tangent.joints, CONTACT_HEIGHT,
            *vars(state).values(),
        )  # fmt: skip
        return state


@dataclass(frozen=True, eq=False)
class ReferenceBody:
    """End effectors and centre of mass of each gait at each phase."""

    effectors: Floats
    """Shape (G, P, 3 E), [m], as `BodyState.effectors`."""
    com: Floats
    """Shape (G, P, 3), [m], as `BodyState.com`."""

    def at(self, gaits: Gaits, phase: Floats, blend: Blend) -> tuple[Floats, Floats]:
        """End effectors (B, E, 3) and centre of mass (B, 3) at phases (B,)."""
        effectors = gaits.sample(self.effectors, phase, blend)
        com = gaits.sample(self.com, phase, blend)
        return effectors.reshape(len(phase), -1, 3), com


def reference_body(gaits: Gaits, character: Character) -> ReferenceBody:
    """The places that a gait's positions mean for a body."""
    bodies, root = effector_bodies(character), body_of_joint(character, 0)
    count, phases, width = gaits.qpos.shape
    places, com = body_places(gaits.qpos.reshape(-1, width), character.model)
    effectors = places[:, np.array(bodies) - 1] - places[:, root - 1, None]
    return ReferenceBody(
        effectors.reshape(count, phases, 3 * len(bodies)),
        com.reshape(count, phases, 3),
    )


def effector_bodies(character: Character) -> list[int]:
    """Body ids of the end effectors; of a skeleton without their roles, the soles'."""
    roles = roles_of(character.skeleton)
    joints = [roles[role] for role in EFFECTORS if role in roles]
    bodies = [
        body_of_joint(character, joint) for joint in joints or character.soles.joints
    ]
    return list(dict.fromkeys(bodies))


def body_of_joint(character: Character, joint: int) -> int:
    """Id of the body that joint `joint` of the skeleton moves."""
    model = character.model
    name = character.skeleton.joints[joint]
    return int(model.jnt_bodyid[model.joint(name).id])


def sole_groups(character: Character) -> list[list[int]]:
    """Which sole balls are heel, ball and toes: six lists, left heel, ball, toes, right.

    The thirds of a foot's balls from back to front in the model's rest, of those beside each
    other from the inside to the outside; of one or two balls the hindmost, middle and foremost.
    """
    model, soles = character.model, character.soles
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    bodies = [body_of_joint(character, joint) for joint in soles.joints]
    turns = data.xmat[bodies].reshape(-1, 3, 3)
    places = data.xpos[bodies] + np.einsum("pij,pj->pi", turns, soles.offsets)
    ahead = places[:, 0].round(4)
    groups: list[list[int]] = []
    for side in (0, 1):
        own = np.flatnonzero(np.array(soles.sides) == side)
        ranked = own[np.lexsort([(1 - 2 * side) * places[own, 1], ahead[own]])]
        if len(ranked) < 3:
            ranked = ranked[[0, len(ranked) // 2, -1]]
        groups += [part.tolist() for part in np.array_split(ranked, 3)]
    return groups
