"""State of a walking body at an instant: angles, slip, forces, torques, energy.

Angles are clinical ones, made of the places of hips, knees, ankles and toes, so that
bodies with other joints are measured alike.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.body import (
    CONTACT_HEIGHT,
    BodyView,
    body_of_joint,
    sole_groups,
)
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.motion.roles import SIDES, map_of, roles_of
from ambulo.muscle.actuation import MuscleActuation
from ambulo.muscle.coupling import joint_coupling
from ambulo.muscle.dynamics import transmission_of_batch
from ambulo.muscle.muscles import MuscleLayer
from ambulo.muscle.report import muscle_report
from ambulo.muscle.solver import solve

LEG = ("thigh", "shin", "foot", "toe")
"""Roles of a leg's joints: hip, knee, ankle, and the toes' root."""
_NAMES = ("hip_flexion_{}", "knee_angle_{}", "ankle_angle_{}", "mtp_angle_{}")
"""Names of the same joints in the models of MyoSuite; {} is l or r."""


def leg_joints(character: Character) -> NDArray[np.int64]:
    """Joints that turn thighs, shins and feet, the left leg's first. Shape (n,).

    Raises:
        ConfigError: The body's legs are not known.
    """
    found, names = map_of(character.skeleton), character.skeleton.joints
    joints: list[int] = []
    for side in SIDES:
        myo = [name.format(side[0]) for name in _NAMES]
        if f"{side}_shin" in found.joints:
            for part in LEG[:3]:
                joints += found.chains.get(f"{side}_{part}", ())
        elif all(name in names for name in myo):
            joints += [names.index(name) for name in myo[:3]]
        else:
            raise ConfigError(f"{character.name}: no joints are known as its legs")
    return np.array(joints)


def _leg_points(character: Character) -> tuple[NDArray[np.int64], Floats]:
    """Bodies (2, 4) of hip, knee, ankle and toes of both legs, and places on them (2, 4, 3).

    Where a body has no joint for ankle or toes: where its leg or foot ends.
    """
    skeleton, roles = character.skeleton, roles_of(character.skeleton)
    bodies, offsets = np.zeros((2, 4), dtype=np.int64), np.zeros((2, 4, 3))
    for leg, side in enumerate(SIDES):
        myo = [name.format(side[0]) for name in _NAMES]
        for part, role in enumerate(LEG):
            joint = roles.get(f"{side}_{role}")
            if joint is None and myo[part] in skeleton.joints:
                joint = skeleton.index(myo[part])
            if joint is not None:
                bodies[leg, part] = body_of_joint(character, joint)
                continue
            bodies[leg, part] = bodies[leg, part - 1]
            above = roles.get(f"{side}_{LEG[part - 1]}")
            tips = [
                tip
                for tip, parent in zip(skeleton.tips, skeleton.tip_parents, strict=True)
                if parent == above
            ]
            if tips and role == "toe":
                offsets[leg, part] = max(tips, key=lambda tip: float(tip[0]))
            elif tips:
                offsets[leg, part] = min(tips, key=lambda tip: float(tip[2]))
            else:  # a ball for a foot
                offsets[leg, part] = offsets[leg, part - 1] + [0.1, 0.0, 0.0]
    return bodies, offsets


class AngleProbe:
    """Hip and knee flexion and ankle dorsiflexion of both legs."""

    def __init__(self, batch: LocomotionBatch) -> None:
        """Look up the bodies of the legs, and the feet's pitch at rest."""
        character, simulation = batch.character, batch.simulation
        leg_joints(character)  # refused where they are not known
        self._bodies, self._offsets = _leg_points(character)
        self._root = body_of_joint(character, 0)
        self._places = simulation.bind("xpos")
        self._turns = simulation.bind("xmat")
        data = mujoco.MjData(simulation.model)
        mujoco.mj_kinematics(simulation.model, data)
        self._level = data.xmat[self._root].reshape(3, 3).copy()
        self._rest: Floats = np.zeros(2)
        rest = data.xpos[None], data.xmat.reshape(1, -1, 3, 3)
        self._rest = self._angles(*rest, np.eye(3)[None])[0, :, 2]

    def now(self) -> Floats:
        """Angles of the left and the right leg: hip, knee, ankle, [rad]. (N, 2, 3)."""
        turns = self._turns.reshape(len(self._turns), -1, 3, 3)
        root = turns[:, self._root] @ self._level.T
        return self._angles(self._places, turns, root)

    def _angles(self, places: Floats, turns: Floats, root: Floats) -> Floats:
        """Angles in bodies whose pelvis has turned by `root` (N, 3, 3) from rest."""
        at = places[:, self._bodies] + np.einsum(
            "nskij,skj->nski", turns[:, self._bodies], self._offsets
        )
        bones = np.einsum("nij,nski->nskj", root, np.diff(at, axis=2))
        thigh, shin = (
            np.arctan2(bones[:, :, k, 0], -bones[:, :, k, 2]) for k in (0, 1)
        )
        pitch = np.arctan2(bones[:, :, 2, 2], bones[:, :, 2, 0])
        return np.stack([thigh, thigh - shin, pitch - shin - self._rest], axis=-1)


class SlipProbe:
    """How fast standing soles slide."""

    def __init__(self, batch: LocomotionBatch) -> None:
        """Look up the soles."""
        simulation = batch.simulation
        self._groups = sole_groups(batch.character)
        self._view = BodyView(simulation)
        self._dt = simulation.dt
        self._batch = batch
        self._before = self._now()

    def begin(self) -> None:
        """Start to compare from the state now."""
        self._before = self._now()

    def step(self) -> tuple[Floats, Ints]:
        """Sum of the speeds of standing sole parts, [m/s], and their number, each (N,).

        A part (heel, ball or toes of a foot) that touches the ground before and after
        the step has stood.
        """
        before, after = self._before, self._now()
        speed = np.linalg.norm(after[0] - before[0], axis=-1) / self._dt
        stood = before[1] & after[1]
        self._before = after
        return (speed * stood).sum(axis=1), stood.sum(axis=1)

    def _now(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Horizontal places of the sole parts (N, 6, 2), and which touch (N, 6)."""
        points = self._view.sole_points()[..., :2]
        parts = np.stack(
            [points[:, rows].mean(axis=1) for rows in self._groups], axis=1
        )
        return parts, self._batch.state.soles < CONTACT_HEIGHT


class ForceProbe:
    """Vertical ground forces of the feet of the first bodies, from MuJoCo's contacts.

    The batch does not tell its contacts, so the state is put into data of its own.
    """

    def __init__(self, batch: LocomotionBatch, bodies: int) -> None:
        """Watch the first `bodies` bodies."""
        self._simulation: CharacterSimulation = batch.simulation
        self.model = batch.simulation.model
        self.data = mujoco.MjData(self.model)
        self.bodies = bodies
        self._foot = np.full(self.model.nbody, -1)
        soles = batch.character.soles
        for joint, side in zip(soles.joints, soles.sides, strict=True):
            self._foot[body_of_joint(batch.character, joint)] = side
        names = ("act", "qacc_warmstart")
        self._act, self._guess = (batch.simulation.bind(name) for name in names)

    def now(self) -> Floats:
        """Vertical forces of the left and the right foot, [N]. Shape (bodies, 2)."""
        forces = np.zeros((self.bodies, 2))
        for body in range(self.bodies):
            self._put(body)
            for row in range(self.data.ncon):
                self._add(row, forces[body])
        return forces

    def _put(self, body: int) -> None:
        simulation, data = self._simulation, self.data
        data.qpos[:], data.qvel[:] = simulation.qpos[body], simulation.qvel[body]
        data.ctrl[:], data.act[:] = simulation.ctrl[body], self._act[body]
        data.xfrc_applied[:] = simulation.push[body]
        data.qacc_warmstart[:] = self._guess[body]
        mujoco.mj_forward(self.model, data)

    def _add(self, row: int, forces: Floats) -> None:
        """Add contact `row` to the forces (2,) of the feet."""
        contact = self.data.contact[row]
        bodies = self.model.geom_bodyid[list(contact.geom)]
        sides = self._foot[bodies]
        if sides.max() < 0 or bodies.min() != 0:
            return
        local = np.zeros(6)
        mujoco.mj_contactForce(self.model, self.data, row, local)
        upward = contact.frame.reshape(3, 3)[:, 2] @ local[:3]
        forces[sides.max()] += upward if bodies[0] == 0 else -upward


class TorqueProbe:
    """How far the torque that acts is from that of stable PD.

    Motors cut off what is beyond their limits. What muscles give at the state now is
    compared with the optimum of `muscle.solver` there, which may choose activations
    freely and weighs them against the torque: the rest is due to activation dynamics or
    to a network.
    """

    def __init__(self, batch: LocomotionBatch) -> None:
        """Find out what moves the bodies."""
        self._simulation = batch.simulation
        model = batch.simulation.model
        coupling = joint_coupling(model)
        self._driven = coupling.independent[coupling.actuated]
        self._layer: MuscleLayer | None = None
        if isinstance(batch.simulation.actuation, MuscleActuation):
            self._layer = MuscleLayer(model, coupling)
            self._transmission = transmission_of_batch(batch.simulation)
            self._act = batch.simulation.bind("act")
        else:
            self._acted = batch.simulation.bind("qfrc_actuator")

    @property
    def size(self) -> int:
        """Joint axes that are compared."""
        return len(self._driven)

    def now(self) -> tuple[Floats, Floats, Floats]:
        """Sums of squares over axes, each (N,), [N^2 m^2].

        Of the torque that acts minus the wanted, of the optimum minus the wanted, and of
        the wanted.
        """
        wanted = self._simulation.torque
        if self._layer is None:
            acted = self._acted[:, self._driven]
            best = acted
        else:
            muscles = self._layer.evaluate(self._transmission, self._simulation.qpos)
            acted = muscles.torque(self._act)
            asked = np.ascontiguousarray(wanted - muscles.passive)
            best = wanted + solve(muscles.active, asked).residual
        off, least = acted - wanted, best - wanted
        squares = (np.einsum("ni,ni->n", x, x) for x in (off, least, wanted))
        first, second, third = squares
        return first, second, third


class MetabolicProbe:
    """Metabolic power of all muscles (Bhargava et al. 2004, see `muscle.report`)."""

    def __init__(self, batch: LocomotionBatch) -> None:
        """Look the muscles up, if there are any."""
        simulation = batch.simulation
        self._count = simulation.count
        actuation = simulation.actuation
        self._table = None
        if isinstance(actuation, MuscleActuation):
            self._table = actuation.layer.table
            self._dt = simulation.dt
            names = ("act", "actuator_length", "actuator_velocity")
            self._state = [simulation.bind(name) for name in names]

    def now(self) -> Floats:
        """Power of each body, resting metabolism left out, [W]; NaN without muscles. (N,)."""
        if self._table is None:
            return np.full(self._count, np.nan)
        which = self._table.actuator
        activation = self._state[0]
        length, velocity = (values[:, which] for values in self._state[1:])
        # The report is of series; bodies stand for samples here.
        report = muscle_report(self._table, activation, length, velocity, self._dt)
        return np.asarray(report.metabolic_rate.sum(axis=1))
