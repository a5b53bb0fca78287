"""Legs that reach for feet: a ball, a hinge and a ball in closed form, others by least squares.

The closed form is exact and a hundred times as fast; any other row of hinges and balls from the
hips to the foot is solved for the ankle's place and the foot's orientation, from where it is.
"""

from __future__ import annotations

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.leg_kernels import Legs, find_ankles, solve_leg
from ambulo.motion.retargeting.body import RetargetBody, retarget_body
from ambulo.motion.roles import SIDES, roles_of

LENGTH, WIDTH = 0.8593, 0.18
"""Leg of human23 from hip to ankle, and distance of its ankles in standing, [m]."""


def legs_of(character: Character) -> Legs:
    """The legs of a body.

    Raises:
        ConfigError: A leg without shin or foot, or of another number of joints than the other.
    """
    skeleton, model = character.skeleton, character.model
    roles = roles_of(skeleton)
    parts = ("thigh", "shin", "foot")
    lacking = [f"{s}_{p}" for s in SIDES for p in parts if f"{s}_{p}" not in roles]
    if lacking:
        raise ConfigError(
            f"{character.name} has no legs that steps can be solved for: no joint is its "
            f"{', '.join(lacking)}; stand, imitate and track need none"
        )
    body = retarget_body(skeleton)
    chains = [skeleton.path(0, body.parts[f"{side}_foot"])[1:] for side in SIDES]
    names = [[skeleton.joints[j] for j in chain] for chain in chains]
    if len(chains[0]) != len(chains[1]):
        raise ConfigError(f"{character.name}: its legs have unlike joints")
    joints = np.array([[roles[f"{side}_{part}"] for part in parts] for side in SIDES])
    places = body.positions[joints]
    ids = [[model.joint(name).id for name in leg] for leg in names]
    ball = int(mujoco.mjtJoint.mjJNT_BALL)
    kinds = np.where(model.jnt_type[ids] == ball, 3, 1)
    bones = skeleton.offsets[joints[:, 1:]]
    closed = (
        chains == joints.tolist()
        and not np.any(skeleton.rest[:, 1:])
        and kinds.tolist() == [[3, 1, 3]] * 2
        and not np.any(bones[..., :2])
    )
    own = character.standing is not None
    level, width = _standing_feet(character, body, joints[:, 2])
    lengths = np.linalg.norm(np.diff(places, axis=1), axis=2)
    limits = np.where(
        model.jnt_limited[ids][..., None], model.jnt_range[ids], [-9.0, 9.0]
    )
    return Legs(
        skeleton.offsets[joints[:, 0]].copy()
        if closed
        else places[:, 0] - body.positions[0],
        -bones[..., 2] if closed else lengths,
        np.array(model.jnt_qposadr[ids], dtype=np.int64),
        np.array(model.jnt_dofadr[ids], dtype=np.int64),
        kinds.astype(np.int64),
        skeleton.offsets[chains].copy(),
        skeleton.rest[chains].copy(),
        model.jnt_axis[ids].copy(),
        limits.copy(),
        np.array([chains[k].index(joints[k, 2]) for k in range(2)]),
        level,
        bool(closed),
        float(lengths.sum(axis=1).mean()) / LENGTH if own else 1.0,
        width,
    )


def _standing_feet(
    character: Character, body: RetargetBody, ankles: Ints
) -> tuple[Floats, float]:
    """Orientations (2, 4) of level feet, and the distance of the ankles in standing, [m].

    Of the suite's bodies at rest; `ankles` (2,) are joints.
    """
    feet = [body.parts[f"{side}_foot"] for side in SIDES]
    if character.standing is None:
        return np.asarray(body.orientations[feet]), WIDTH
    data = mujoco.MjData(character.model)
    data.qpos[:] = character.standing
    mujoco.mj_kinematics(character.model, data)
    names = character.skeleton.joints
    left, right = (data.body(names[joint]).xpos for joint in ankles)
    level = np.array([data.body(names[foot]).xquat for foot in feet])
    return level, float(abs(left[1] - right[1]))


def ankle_places(legs: Legs, qpos: Floats) -> Floats:
    """Left and right ankle of positions (N, nq), [m]. Shape (N, 2, 3)."""
    out = np.empty((len(qpos), 2, 3))
    find_ankles(legs, qpos, out)
    return out


def set_feet(legs: Legs, qpos: Floats, ankles: Floats) -> None:
    """Solve both legs of positions (N, nq) for ankles (N, 2, 3), [m], and level feet.

    In place; feet look along +X.
    """
    for q, places in zip(qpos, ankles, strict=True):
        for leg, (x, y, z) in enumerate(places):
            solve_leg(legs, leg, q, (x, y, z), (1.0, 0.0, 0.0, 0.0), 0.0)
