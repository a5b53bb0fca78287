"""Legs that reach for feet: a ball, a hinge and a ball in closed form, others by least squares.

The closed form is exact and a hundred times as fast; any other row of hinges and balls from the
hips to the foot is solved for the ankle's place and the foot's orientation, from where it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ConfigError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.leg_kernels import Legs, find_ankles, solve_leg
from ambulo.motion.retargeting.body import retarget_body
from ambulo.motion.roles import SIDES, role_map, roles_of
from ambulo.motion.roles.finder import FOUR_LEGS
from ambulo.motion.rotations import quat_rotate

PARTS = ("thigh", "shin", "foot")
"""Roles of a leg."""
LENGTH, WIDTH = 0.8593, 0.18
"""Leg of human23 from hip to ankle, and distance of its ankles in standing, [m]."""


def legs_of(character: Character) -> Legs:
    """The legs of a body; feet without a joint end at the middle of their soles.

    Raises:
        ConfigError: A leg without a shin, of another number of joints than the other, or with
            no sole; more than two legs.
    """
    skeleton, model = character.skeleton, character.model
    roles = roles_of(skeleton)
    lacking = [f"{s}_{p}" for s in SIDES for p in PARTS[:2] if f"{s}_{p}" not in roles]
    if lacking:
        raise ConfigError(
            f"{character.name} has no legs that steps can be solved for: no joint is its "
            f"{', '.join(lacking)}; stand, imitate and track need none"
        )
    body = retarget_body(skeleton)
    jointed = all(f"{side}_foot" in roles for side in SIDES)
    if not jointed and any(f"{side}_foot" in roles for side in SIDES):
        raise ConfigError(f"{character.name}: its legs have unlike joints")
    parts = PARTS if jointed else PARTS[:2]
    chains = [skeleton.path(0, body.parts[f"{side}_{parts[-1]}"])[1:] for side in SIDES]
    names = [[skeleton.joints[j] for j in chain] for chain in chains]
    if len(chains[0]) != len(chains[1]):
        raise ConfigError(f"{character.name}: its legs have unlike joints")
    joints = np.array([[roles[f"{side}_{part}"] for part in parts] for side in SIDES])
    ends = np.zeros((2, 3)) if jointed else _sole_middles(character, chains)
    if role_map(skeleton).refusal == FOUR_LEGS:
        raise ConfigError(f"{character.name} has four legs: steps are those of two")
    places = body.positions[joints]
    if not jointed:
        knees = [chain[-1] for chain in chains]
        feet = body.positions[knees] + quat_rotate(body.orientations[knees], ends)
        places = np.concatenate([places, feet[:, None]], axis=1)
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
    last = [chain[-1] for chain in chains]
    level, width = _standing_feet(character, last, joints[:, -1].tolist(), ends)
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
        np.array(
            [
                chains[k].index(joints[k, 2]) if jointed else len(chains[k]) - 1
                for k in range(2)
            ]
        ),
        ends,
        np.array([1.0, 1.0, 1.0] if jointed else [0.0, 0.0, 1.0]),
        level,
        bool(closed),
        float(lengths.sum(axis=1).mean()) / LENGTH if own else 1.0,
        width,
    )


def _sole_middles(character: Character, chains: Sequence[Sequence[int]]) -> Floats:
    """Middle of the sole of each leg in the frame of its last joint, (2, 3), [m]."""
    soles = character.soles
    owners, sides = np.array(soles.joints), np.array(soles.sides)
    rows = [(owners == chain[-1]) & (sides == k) for k, chain in enumerate(chains)]
    if not all(row.any() for row in rows):
        raise ConfigError(f"{character.name}: its shins have no soles to step on")
    return np.array([np.asarray(soles.offsets)[row].mean(axis=0) for row in rows])


def _standing_feet(
    character: Character, last: Sequence[int], ankles: Sequence[int], ends: Floats
) -> tuple[Floats, float]:
    """Orientations (2, 4) of level feet, and the distance of the ankles in standing, [m].

    Of the suite's bodies at rest; `last` (2,) are the last joints of the legs, `ankles` (2,)
    those in whose frames the feet are at `ends` (2, 3).
    """
    body = retarget_body(character.skeleton)
    if character.standing is None:
        return np.asarray(body.orientations[last]), WIDTH
    data = mujoco.MjData(character.model)
    data.qpos[:] = character.standing
    mujoco.mj_kinematics(character.model, data)
    names = character.skeleton.joints
    level = np.array([data.body(names[joint]).xquat for joint in last])
    feet = [data.body(names[joint]) for joint in ankles]
    places = [
        foot.xpos + quat_rotate(foot.xquat, end)
        for foot, end in zip(feet, ends, strict=True)
    ]
    return level, float(abs(places[0][1] - places[1][1]))


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
