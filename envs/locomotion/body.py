"""What a body looks like from its moving reference frame: the state that tasks read."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numba import njit

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.gaits import Blend, Gaits
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.motion.roles import roles_of

EFFECTORS = ("left_foot", "right_foot", "left_hand", "right_hand", "head")
"""Roles of the end effectors."""
CONTACT_HEIGHT = 0.005
"""Height below which a sole ball is taken to touch the ground, [m]."""


@dataclass(frozen=True)
class BodyState:
    """Arrays over N bodies; "moving frame" is the one that the reference walks in."""

    qpos: Floats
    """Positions, the root's in the moving frame. Shape (N, nq)."""
    qvel: Floats
    """Velocities, the root's linear one along the moving frame's axes. Shape (N, nv)."""
    deviation: Floats
    """Positions minus the reference's, tangent space. Shape (N, nv)."""
    rate: Floats
    """Velocities minus the reference's. Shape (N, nv)."""
    up: Floats
    """The world's vertical in the root's frame. Shape (N, 3)."""
    heading: Floats
    """Root velocity along its own heading, its left and up, [m/s]. Shape (N, 3)."""
    yaw: Floats
    """Heading of the root from that of the moving frame, [rad]. Shape (N,)."""
    height: Floats
    """Root over the ground, [m]. Shape (N,)."""
    effectors: Floats
    """End effectors from the root along the moving frame's axes, [m]. Shape (N, E, 3)."""
    com: Floats
    """Centre of mass in the moving frame, [m]. Shape (N, 3)."""
    soles: Floats
    """Height of each foot's heel, ball and toes over the ground, [m]. Shape (N, 6)."""
    contacts: Bools
    """Whether the left and right foot touch the ground. Shape (N, 2)."""

    def joint_error(self, dofs: Ints) -> Floats:
        """Return the mean deviation of the degrees of freedom `dofs`, shape (N,), [rad].

        The rows are made contiguous, so that rounding does not depend on N.
        """
        rows = np.ascontiguousarray(self.deviation[:, dofs])
        error: Floats = np.abs(rows).mean(axis=1)
        return error


class BodyView:
    """Reads the state of all bodies of a simulation."""

    def __init__(self, simulation: CharacterSimulation) -> None:
        """Look up bodies and geoms."""
        self._simulation = simulation
        character = simulation.character
        self._effectors = effector_bodies(character)
        soles = character.soles
        self._sole_rows = sole_groups(character)
        self._sole_bodies = [body_of_joint(character, joint) for joint in soles.joints]
        self._sole_offsets, self._radius = soles.offsets, soles.radius
        self._root = body_of_joint(character, 0)
        self._places = simulation.bind("xpos")
        self._turns = simulation.bind("xmat")
        self._com = simulation.bind("subtree_com")

    def sole_points(self) -> Floats:
        """Lowest places of the sole balls in the world, [m]. Shape (N, P, 3)."""
        places = self._places[:, self._sole_bodies]
        turns = self._turns[:, self._sole_bodies].reshape(*places.shape, 3)
        offsets = np.einsum("npij,pj->npi", turns, self._sole_offsets)
        return np.asarray(places + offsets - [0.0, 0.0, self._radius])

    def state(
        self,
        anchor: Floats,
        reference: tuple[Floats, Floats],
        ground: Floats,
        sole_ground: Floats,
    ) -> BodyState:
        """The state now.

        Args:
            anchor: The moving frame, x, y, [m], yaw, [rad], z, [m]. Shape (N, 4).
            reference: Positions and velocities in the moving frame.
            ground: Ground height under the root, [m]. Shape (N,).
            sole_ground: Ground height under each sole ball, [m]. Shape (N, P).
        """
        simulation = self._simulation
        qpos, qvel = simulation.qpos.copy(), simulation.qvel.copy()
        up, heading = np.empty((len(qpos), 3)), np.empty((len(qpos), 3))
        yaw = np.empty(len(qpos))
        _into_frame(qpos, qvel, anchor, up, heading, yaw)
        root = self._places[:, self._root]
        effectors = self._places[:, self._effectors] - root[:, None]
        com = self._com[:, self._root] - anchor[:, [0, 1, 3]]
        _turn_back(effectors, anchor[:, 2])
        _turn_back(com[:, None], anchor[:, 2])
        heights = self.sole_points()[..., 2] - sole_ground
        soles = np.empty((len(qpos), 6))
        for k, rows in enumerate(self._sole_rows):
            soles[:, k] = heights[:, rows].min(axis=1)
        touching = soles.reshape(-1, 2, 3).min(axis=2) < CONTACT_HEIGHT
        return BodyState(
            qpos=qpos,
            qvel=qvel,
            deviation=simulation.tangent.difference(qpos, reference[0]),
            rate=qvel - reference[1],
            up=up,
            heading=heading,
            yaw=yaw,
            height=simulation.qpos[:, 2] - ground,
            effectors=effectors,
            com=com,
            soles=soles,
            contacts=touching,
        )


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
    model, data = character.model, mujoco.MjData(character.model)
    bodies, root = effector_bodies(character), body_of_joint(character, 0)
    count, phases, _ = gaits.qpos.shape
    effectors = np.empty((count, phases, 3 * len(bodies)))
    com = np.empty((count, phases, 3))
    for g in range(count):
        for p in range(phases):
            data.qpos[:] = gaits.qpos[g, p]
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            effectors[g, p] = (data.xpos[bodies] - data.xpos[root]).ravel()
            com[g, p] = data.subtree_com[root]
    return ReferenceBody(effectors, com)


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

    The thirds of a foot's balls from back to front in the model's rest.
    """
    model, soles = character.model, character.soles
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    bodies = [body_of_joint(character, joint) for joint in soles.joints]
    turns = data.xmat[bodies].reshape(-1, 3, 3)
    ahead = data.xpos[bodies, 0] + np.einsum("pj,pj->p", turns[:, 0], soles.offsets)
    groups: list[list[int]] = []
    for side in (0, 1):
        own = np.flatnonzero(np.array(soles.sides) == side)
        ranked = own[np.argsort(ahead[own], kind="stable")]
        groups += [part.tolist() for part in np.array_split(ranked, 3)]
    return groups


def out_of_frame(qpos: Floats, qvel: Floats, anchor: Floats) -> None:
    """Take root states (k, nq), (k, nv) from moving frames (k, 4) to the world, in place."""
    c, s = np.cos(anchor[:, 2]), np.sin(anchor[:, 2])
    x, y = qpos[:, 0].copy(), qpos[:, 1].copy()
    qpos[:, 0] = anchor[:, 0] + c * x - s * y
    qpos[:, 1] = anchor[:, 1] + s * x + c * y
    qpos[:, 2] += anchor[:, 3]
    u, v = qvel[:, 0].copy(), qvel[:, 1].copy()
    qvel[:, 0], qvel[:, 1] = c * u - s * v, s * u + c * v
    ch, sh = np.cos(0.5 * anchor[:, 2]), np.sin(0.5 * anchor[:, 2])
    w, i, j, k = (qpos[:, n].copy() for n in range(3, 7))
    qpos[:, 3], qpos[:, 4] = ch * w - sh * k, ch * i - sh * j
    qpos[:, 5], qpos[:, 6] = ch * j + sh * i, ch * k + sh * w


def walk_frames(anchor: Floats, speed: Floats, turn: Floats, dt: float) -> None:
    """Move frames (N, 4) by `dt`, [s], at `speed`, [m/s], and `turn`, [rad/s], in place."""
    yaw = anchor[:, 2] + 0.5 * dt * turn
    anchor[:, 0] += dt * speed * np.cos(yaw)
    anchor[:, 1] += dt * speed * np.sin(yaw)
    anchor[:, 2] += dt * turn


@njit(cache=True)
def _into_frame(
    qpos: Floats, qvel: Floats, anchor: Floats, up: Floats, heading: Floats, yaw: Floats
) -> None:
    """Express root states in the moving frames, in place; fill the rest."""
    for b in range(len(qpos)):
        c, s = np.cos(anchor[b, 2]), np.sin(anchor[b, 2])
        x, y = qpos[b, 0] - anchor[b, 0], qpos[b, 1] - anchor[b, 1]
        qpos[b, 0], qpos[b, 1] = c * x + s * y, -s * x + c * y
        qpos[b, 2] -= anchor[b, 3]
        u, v = qvel[b, 0], qvel[b, 1]
        qvel[b, 0], qvel[b, 1] = c * u + s * v, -s * u + c * v
        ch, sh = np.cos(0.5 * anchor[b, 2]), np.sin(0.5 * anchor[b, 2])
        q0, q1, q2, q3 = qpos[b, 3], qpos[b, 4], qpos[b, 5], qpos[b, 6]
        qpos[b, 3] = ch * q0 + sh * q3
        qpos[b, 4] = ch * q1 + sh * q2
        qpos[b, 5] = ch * q2 - sh * q1
        qpos[b, 6] = ch * q3 - sh * q0
        w, i, j, k = qpos[b, 3], qpos[b, 4], qpos[b, 5], qpos[b, 6]
        up[b, 0] = 2.0 * (i * k - w * j)
        up[b, 1] = 2.0 * (j * k + w * i)
        up[b, 2] = 1.0 - 2.0 * (i * i + j * j)
        yaw[b] = np.arctan2(2.0 * (i * j + w * k), 1.0 - 2.0 * (j * j + k * k))
        c, s = np.cos(yaw[b]), np.sin(yaw[b])
        heading[b, 0] = c * qvel[b, 0] + s * qvel[b, 1]
        heading[b, 1] = -s * qvel[b, 0] + c * qvel[b, 1]
        heading[b, 2] = qvel[b, 2]


@njit(cache=True)
def _turn_back(vectors: Floats, yaw: Floats) -> None:
    """Turn vectors (B, n, 3) by -yaw about the vertical, in place."""
    for b in range(len(vectors)):
        c, s = np.cos(yaw[b]), np.sin(yaw[b])
        for k in range(vectors.shape[1]):
            x, y = vectors[b, k, 0], vectors[b, k, 1]
            vectors[b, k, 0], vectors[b, k, 1] = c * x + s * y, -s * x + c * y
