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
from ambulo.configs.locomotion import LocomotionEnvironmentConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.cached import cached_reference
from ambulo.envs.reference.joint_positions import motion_of_positions
from ambulo.envs.reference.reference_file import Gait, Reference
from ambulo.envs.reference.step_gaits import standing_steps
from ambulo.envs.reference.walk_gaits import standing_gait
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


def crouch_reference(
    stand: Gait, character: Character, environment: LocomotionEnvironmentConfig
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
    stand: Gait, character: Character, environment: LocomotionEnvironmentConfig
) -> Reference:
    still = motion_of_positions(
        stand.table.qpos[:1], character.model, character.skeleton, 1.0
    ).rotations[0]
    dt = environment.control_dt if stand.controller else None
    gaits = []
    for depth in np.linspace(0.0, 1.0, LEVELS)[1:]:
        cycle = standing_steps(
            character, bent(character, still, depth), drop=depth * DEEPEST
        )
        gait = standing_gait(cycle, character, environment.joints, dt)
        gaits.append(replace(gait, name=f"crouch {depth:.2f}"))
    return Reference("crouches", character.name, environment.control_dt, tuple(gaits))


def bent(character: Character, posture: Floats, depth: float) -> Floats:
    """`posture` (J, 4), bent forwards as at `depth`."""
    out, roles = posture.copy(), roles_of(character.skeleton)
    for role, angle in BEND.items():
        turn = quat_from_rotvec(np.array([0.0, depth * np.radians(angle), 0.0]))
        out[roles[role]] = quat_multiply(out[roles[role]], turn)
    return out
