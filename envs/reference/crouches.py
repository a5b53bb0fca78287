"""Crouches: postures between standing and a deep crouch, each with its balance controller.

The pelvis sinks and tilts, the trunk bends, and the legs are solved for the standing feet
(`step_gaits.standing_steps`), the centre of mass over them. What a posture needs of the
joints is its static inverse dynamics.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.locomotion_env import LocomotionEnvironmentConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.cached import cached_reference
from ambulo.envs.reference.cycles.building import gait_of
from ambulo.envs.reference.cycles.prepare import made_cycle
from ambulo.envs.reference.gaits import STAND, Blend, Gaits
from ambulo.envs.reference.joint_positions import motion_of_positions
from ambulo.envs.reference.legs import ankle_places, legs_of
from ambulo.envs.reference.reference import Reference, ReferenceMotion
from ambulo.envs.reference.step_gaits import standing_steps
from ambulo.envs.simulation.tangent import Tangent
from ambulo.motion.roles import roles_of
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply

DEEPEST = 0.45
"""How far the pelvis sinks at a depth of 1, [m]."""
BEND = {"hips": 35.0, "spine": 15.0, "chest": 15.0, "neck": -20.0, "head": -20.0}
"""How far joints tilt forwards at a depth of 1, [deg]; neck and head look ahead."""
LEVELS = 5
"""Postures, standing included."""
_BODY = (
    "actuator_forcerange", "body_inertia", "body_mass", "body_pos", "body_quat",
    "dof_armature", "geom_friction", "geom_pos", "geom_size", "jnt_range", "qpos0",
)  # fmt: skip
"""Arrays of a model that tell bodies of one name apart."""
RATE = 0.5
"""Fastest change of the depth, [1/s]."""
_EPSILON = 1e-3
HIGH, LOW = 1.0, 0.35
"""Points at or above the first height are reached upright, at the second from the deepest
crouch, [m]."""


def crouch_reference(
    stand: ReferenceMotion,
    character: Character,
    environment: LocomotionEnvironmentConfig,
) -> Reference:
    """The `LEVELS` - 1 postures below standing, made once for all processes.

    Args:
        stand: Standing; without a controller, no posture has one.
        character: The body.
        environment: The joints that balance controllers may move, and the control rate.
    """
    model = character.model
    body = hashlib.sha256(character.gains.model_dump_json().encode())
    for array in (stand.table.qpos[0], *(getattr(model, name) for name in _BODY)):
        body.update(np.ascontiguousarray(array).tobytes())
    key = {
        "crouches of": character.name,
        "body": body.hexdigest(),
        "timestep": float(model.opt.timestep),
        "joints": environment.joints,
        "control_rate": environment.control_rate,
        "controller": stand.controller is not None,
    }
    return cached_reference(key, None, lambda: _made(stand, character, environment))


def _made(
    stand: ReferenceMotion,
    character: Character,
    environment: LocomotionEnvironmentConfig,
) -> Reference:
    still = motion_of_positions(
        stand.table.qpos[:1], character.model, character.skeleton, 1.0
    ).rotations[0]
    dt = environment.control_dt if stand.controller else None
    gaits = []
    for depth in np.linspace(0.0, 1.0, LEVELS)[1:]:
        cycle = standing_steps(
            character, leaning_posture(character, still, depth), drop=depth * DEEPEST
        )
        prepared, name = made_cycle(cycle, character), f"crouch {depth:.2f}"
        gaits.append(gait_of(prepared, character, environment.joints, dt, name))
    return Reference("crouches", character.name, environment.control_dt, tuple(gaits))


def leaning_posture(character: Character, posture: Floats, depth: float) -> Floats:
    """`posture` (J, 4), bent forwards as at `depth`."""
    out, roles = posture.copy(), roles_of(character.skeleton)
    for role, angle in BEND.items():
        turn = quat_from_rotvec(np.array([0.0, depth * np.radians(angle), 0.0]))
        out[roles[role]] = quat_multiply(out[roles[role]], turn)
    return out


class Crouches:
    """The postures of one body by depth: 0 stands, 1 is the deepest."""

    def __init__(
        self,
        character: Character,
        reference: Reference,
        environment: LocomotionEnvironmentConfig,
    ) -> None:
        """Read the postures; the first process solves them, a second or two.

        Args:
            character: The body.
            reference: Has the gait that stands; without a controller, none has one.
            environment: The joints that balance controllers may move, and the control rate.
        """
        stand = next(gait for gait in reference.gaits if gait.name == STAND)
        legs = legs_of(character)
        gaits = (stand, *crouch_reference(stand, character, environment).gaits)
        self._gaits = Gaits(replace(reference, gaits=gaits), character)
        ahead = ankle_places(legs, self.postures)[..., 0].mean(axis=1)
        # The feet stay, the root goes back.
        self._gaits.qpos[:, :, 0] += (ahead[0] - ahead)[:, None]
        self._tangent = Tangent(character.model)

    @property
    def postures(self) -> Floats:
        """Positions at `LEVELS` depths from 0 to 1. Shape (LEVELS, nq)."""
        return self._gaits.qpos[:, 0].copy()

    def at(self, depth: Floats, rate: Floats) -> tuple[Floats, Floats, Floats]:
        """Positions (N, nq), velocities (N, nv) and torques (N, nv).

        Args:
            depth: In [0, 1]. Shape (N,).
            rate: Change of the depth, [1/s]. Shape (N,).
        """
        still = np.zeros(len(depth))
        qpos, _, torque = self._gaits.at(still, _blend(depth))
        further = np.where(depth < 0.5, _EPSILON, -_EPSILON)
        other = self._gaits.at(still, _blend(depth + further))[0]
        change = self._tangent.difference(other, qpos) / further[:, None]
        return qpos, change * rate[:, None], torque

    def offsets(self, depth: Floats, deviation: Floats, rate: Floats) -> Floats:
        """The balance controllers' offsets, [rad]; see `Gaits.controller_offsets`. (N, U)."""
        still = np.zeros(len(depth))
        return self._gaits.controller_offsets(still, _blend(depth), deviation, rate)


def _blend(depth: Floats) -> Blend:
    """The two postures around each depth (N,)."""
    place = np.clip(depth, 0.0, 1.0) * (LEVELS - 1)
    lower = np.minimum(place.astype(np.int64), LEVELS - 2)
    one = np.ones(len(depth))
    return Blend(lower, place - lower, one, one, np.zeros(len(depth)))


def depth_for(height: Floats) -> Floats:
    """Depth of the crouch, [0, 1], for points of a height, [m]. Shape (k,)."""
    return np.asarray(np.clip((HIGH - height) / (HIGH - LOW), 0.0, 1.0))
