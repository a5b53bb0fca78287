"""From a captured clip to joint states and torques at the rate of the physics.

Nothing here knows whether a body can do it; `fit` finds out.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.balancing import balanced
from ambulo.envs.reference.clips.whole_body_control import largest_torque
from ambulo.envs.reference.inverse_dynamics import (
    free_forces,
    ground_reaction,
    root_wrench,
)
from ambulo.envs.reference.joint_positions import (
    derivatives,
    motion_of_positions,
    motion_states,
    qpos_of,
    velocities,
)
from ambulo.envs.reference.linearization import stands
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.motion.clip_checks import MIN_SECONDS
from ambulo.motion.filters import low_pass, smoothed
from ambulo.motion.gaits.planting import planted
from ambulo.motion.gaits.soles import sole_places
from ambulo.motion.motion import Motion
from ambulo.motion.operations import resample
from ambulo.motion.rotations import quat_from_rotvec, quat_to_rotvec

log = logging.getLogger(__name__)

STATE_CUTOFF, TORQUE_CUTOFF = 6.0, 8.0
"""Cut-offs of the low-pass filters of positions and of torques, [Hz]."""
DEPTH = 0.001
"""How deep the lowest point of a standing body presses into the ground, [m]."""
NEAR_GROUND = 0.06
"""A lowest point below this height over the clip's floor stands, [m]; above, it is a flight."""
RISING = 0.5
"""Vertical speed of the lowest point from which it does not stand, [m/s]: a body that takes off
or lands passes the last centimetres faster, and its flight is not pulled down to them."""
LIFT_TIME = 0.06
"""Standard deviation of the smoothing of the height correction, [s]."""
WITHIN = np.deg2rad(1.0)
"""How far within its limit a ball joint is kept, [rad]; hinges rest at theirs."""
TOLD = np.deg2rad(5.0)
"""Angle beyond a limit from which it is logged, [rad]."""
MAX_SECONDS = 60.0
"""Longest clip, [s]."""
SLOWER, OFTEN, WHIRL = (3.0, 1.5), 0.3, 4.0
"""Cut-offs that are tried in turn for limbs with a motor that is too weak for the clip, [Hz],
the fraction of the time in which it is, and the root mean square of its speed, [rad/s]. An arm
that cannot reach inwards whirls about itself where it is straight; slower ones do no harm."""
PLAIN_CUTOFF = 12.0
"""Low-pass of the noise of markers in a plain clip, [Hz]."""
FLOOR = 5.0
"""Percentile of the heights of its lowest point that stands on the ground."""


@dataclass(frozen=True, eq=False)
class RawClip:
    """A clip on a body, T physics steps."""

    table: ReferenceTable
    """Joint states and torques; not periodic."""
    lifted: Motion
    """The clip with its feet on the ground, before these were planted and it was balanced."""
    flight: Floats
    """Height of the lowest sole point before the correction, [m]. Shape (T,)."""
    residual: Floats
    """Root force that the ground cannot give before the clip is balanced, over body weight.
    Shape (T,)."""
    lift: Floats
    """Height that was added, [m]. Shape (T,)."""
    shift: Floats
    """By how much the root was moved over the feet, [m]. Shape (T, 2)."""
    force: Floats
    """The residual root force as a vector in the world, over body weight. Shape (T, 3)."""
    wrench: Floats
    """Force, and moment about the world's origin, that the whole body needs from outside before
    it is balanced, over body weight, [-] and [m]. Shape (T, 6)."""
    soles: Floats
    """Lowest places of the sole points in the world before it is balanced, [m].
    Shape (T, P, 3)."""
    height: Floats
    """Height of the lowest point before it is balanced, [m]. Shape (T,)."""


def plain_clip(motion: Motion, character: Character) -> ReferenceTable:
    """A motion on the skeleton of `character`, a state for each physics step.

    It is only low-passed, and lifted or lowered as a whole onto the ground; torques are 0.

    Raises:
        MotionError: It is too short or too long.
    """
    _check_duration(motion)
    model = character.model
    dt = float(model.opt.timestep)
    smooth = smoothed(motion, min(PLAIN_CUTOFF, 0.4 * motion.fps))
    qpos = qpos_of(resample(smooth, 1.0 / dt), model)
    qpos[:, 2] -= DEPTH + np.percentile(lowest_points(qpos, character), FLOOR)
    qvel = velocities(model, qpos, dt)
    period, still = (len(qpos) - 1) * dt, np.zeros_like(qvel)
    return ReferenceTable(period, np.zeros(3), qpos, qvel, still, periodic=False)


def _check_duration(motion: Motion) -> None:
    """`MotionError` for a clip that is too short or too long."""
    if not MIN_SECONDS <= motion.duration <= MAX_SECONDS:
        raise MotionError(
            f"{motion.label}: lasts {motion.duration:.2f} s; a clip to follow lasts "
            f"{MIN_SECONDS:g} to {MAX_SECONDS:g} s: choose a part with --frames"
        )


def raw_clip(motion: Motion, character: Character) -> RawClip:
    """A movement of the character's skeleton as a reference of its physics.

    Positions are low-passed, sampled once a physics step, and lifted so that the lowest
    point presses `DEPTH` into the ground wherever the clip has it near the ground. Standing
    feet are then planted, each on its own (`ambulo.motion.gaits.planting`), and the root is
    moved over them (`balanced`). Torques are those of inverse dynamics beside the best
    ground forces.

    Args:
        motion: On the skeleton of `character` (`motion.retargeting.retarget`).
        character: The body.

    Raises:
        MotionError: A clip that is too short or too long.
    """
    _check_duration(motion)
    model, soles = character.model, character.soles
    dt = float(model.opt.timestep)
    lifted, lowest, lift, beyond = lifted_clip(motion, character)
    for joint, (angle, at) in beyond.items():
        log.info(
            "%s: %s turns %.0f degrees beyond its limit at %.2f s: kept within",
            motion.label, joint, np.rad2deg(angle), at * dt,
        )  # fmt: skip
    standing = planted(lifted, soles, DEPTH)
    needed = motion_states(standing, model)
    force = missing_force(needed, character)
    settled, shift = balanced(standing, character)
    qpos = qpos_of(settled, model)
    keep_within_limits(qpos, model)
    qvel, qacc = derivatives(model, qpos, dt)
    torque = _without_ground_reaction((qpos, qvel, qacc), character)
    torque = low_pass(torque, 1.0 / dt, TORQUE_CUTOFF)
    torque[:, :6] = 0.0
    bound = largest_torque(model)
    torque = np.clip(torque, -bound, bound)
    table = ReferenceTable(
        (len(qpos) - 1) * dt, np.zeros(3), qpos, qvel, torque, periodic=False
    )
    return RawClip(
        table=table,
        lifted=lifted,
        flight=lowest,
        residual=np.linalg.norm(force, axis=1),
        lift=lift,
        shift=shift,
        force=force,
        wrench=root_wrench(model, needed),
        soles=sole_places(standing, soles),
        height=lowest_points(needed[0], character),
    )


def lifted_clip(
    motion: Motion, character: Character
) -> tuple[Motion, Floats, Floats, dict[str, tuple[float, int]]]:
    """A movement once a physics step, within the body's limits, its feet on the ground.

    Returns:
        The movement; the height of its lowest points before, [m], and what was added,
        [m], both (T,); and what was beyond limits, as of `keep_within_limits`.
    """
    model, dt = character.model, float(character.model.opt.timestep)
    smooth = smoothed(motion, min(STATE_CUTOFF, 0.4 * motion.fps))
    qpos = qpos_of(resample(smooth, 1.0 / dt), model)
    beyond = keep_within_limits(qpos, model)
    _slow_down(qpos, character)
    smooth = motion_of_positions(qpos, model, motion.skeleton, 1.0 / dt)
    lowest = lowest_points(qpos, character)
    lift = _lift(lowest, dt)
    root = smooth.root_positions + lift[:, None] * [0.0, 0.0, 1.0]
    return smooth.replace(root_positions=root), lowest, lift, beyond


def missing_force(
    states: tuple[Floats, Floats, Floats], character: Character
) -> Floats:
    """The root force that the ground cannot give, over body weight. Shape (T, 3).

    Args:
        states: Positions, velocities and accelerations (`motion_states`).
        character: The body.
    """
    model = character.model
    weight = model.body_mass.sum() * np.linalg.norm(model.opt.gravity)
    return np.asarray(_without_ground_reaction(states, character)[:, :3] / weight)


def _without_ground_reaction(
    states: tuple[Floats, Floats, Floats], character: Character
) -> Floats:
    """Generalised forces of a movement less those of the ground. Shape (T, nv)."""
    model, soles = character.model, character.soles
    bodies = [model.body(character.skeleton.joints[j]).id for j in soles.joints]
    left, _ = ground_reaction(model, soles, bodies, states)
    return left


def keep_within_limits(
    qpos: Floats, model: mujoco.MjModel
) -> dict[str, tuple[float, int]]:
    """Turn joints of positions (T, nq) back within their limits, in place.

    Limits push a body that is shown poses beyond them. Returned are the largest angle beyond
    the limit, [rad], and its row, of each joint that was more than `TOLD` beyond.
    """
    found: dict[str, tuple[float, int]] = {}
    for joint in np.flatnonzero(model.jnt_limited):
        at = int(model.jnt_qposadr[joint])
        low, high = model.jnt_range[joint]
        if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_BALL:
            quats = qpos[:, at : at + 4]
            vectors = _continuous(quat_to_rotvec(quats))
            angle = np.linalg.norm(vectors, axis=1)
            beyond = np.maximum(angle - (high - WITHIN), 0.0)
            over = beyond > 0.0
            scale = 1.0 - beyond[over] / angle[over]
            quats[over] = quat_from_rotvec(scale[:, None] * vectors[over])
        else:
            kept = np.clip(qpos[:, at], low, high)
            beyond = np.abs(qpos[:, at] - kept)
            qpos[:, at] = kept
        row = int(np.argmax(beyond))
        if beyond[row] > TOLD:
            found[model.joint(joint).name] = float(beyond[row]), row
    return found


def _slow_down(qpos: Floats, character: Character) -> None:
    """Smooth limbs with hinges that are too weak for positions (T, nq), in place."""
    model, dt = character.model, float(character.model.opt.timestep)
    bound = largest_torque(model)
    speed = np.square(velocities(model, qpos, dt)).mean(axis=0) ** 0.5
    whirls = ~stands(character) & (speed > WHIRL)
    for cutoff in SLOWER:
        states = (qpos, *derivatives(model, qpos, dt))
        weak = (np.abs(free_forces(model, states)) > bound).mean(axis=0) > OFTEN
        limbs = {_limb(model, int(body)) for body in model.dof_bodyid[weak & whirls]}
        inside = np.isin([_limb(model, b) for b in range(model.nbody)], list(limbs))
        hinges = model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE
        joints = np.flatnonzero(hinges & inside[model.jnt_bodyid])
        if not len(joints):
            return
        names = ", ".join(model.joint(joint).name for joint in joints)
        log.info("too weak for the clip, smoothed at %g Hz: %s", cutoff, names)
        at = model.jnt_qposadr[joints]
        qpos[:, at] = low_pass(qpos[:, at], 1.0 / dt, cutoff)


def _limb(model: mujoco.MjModel, body: int) -> int:
    """The first of the bodies in a row that lead to `body`, one carried by another."""
    while np.count_nonzero(model.body_parentid == model.body_parentid[body]) == 1:
        body = int(model.body_parentid[body])
    return body


def _continuous(vectors: Floats) -> Floats:
    """Rotation vectors (T, 3) without jumps where a rotation passes half a turn, [rad]."""
    out = vectors.copy()
    for t in range(1, len(out)):
        angle = float(np.linalg.norm(out[t]))
        other = out[t] * (1.0 - 2.0 * np.pi / angle) if angle > 1.0 else out[t]
        near, far = (np.linalg.norm(v - out[t - 1]) for v in (out[t], other))
        if far < near:
            out[t] = other
    return out


def lowest_points(qpos: Floats, character: Character) -> Floats:
    """Height of the lowest geom point over the ground at positions (T, nq), [m]. (T,).

    Balls, capsules and ellipsoids are exact; other shapes are the boxes around them.
    """
    model = character.model
    data = mujoco.MjData(model)
    touches = (model.geom_contype | model.geom_conaffinity) > 0
    geoms = np.flatnonzero((model.geom_bodyid > 0) & touches)
    kinds = model.geom_type[geoms]
    middle, box = model.geom_aabb[geoms, :3].copy(), model.geom_aabb[geoms, 3:].copy()
    ball = kinds == mujoco.mjtGeom.mjGEOM_SPHERE
    rod = kinds == mujoco.mjtGeom.mjGEOM_CAPSULE
    egg = kinds == mujoco.mjtGeom.mjGEOM_ELLIPSOID
    middle[ball | rod] = 0.0
    radius = np.where(ball | rod, model.geom_size[geoms, 0], 0.0)
    half = np.where(rod, model.geom_size[geoms, 1], 0.0)
    axes = np.where(egg[:, None], model.geom_size[geoms], 0.0)
    box[ball | rod | egg] = 0.0
    out = np.empty(len(qpos))
    for t, row in enumerate(qpos):
        data.qpos[:] = row
        mujoco.mj_kinematics(model, data)
        up = data.geom_xmat[geoms, 6:]  # the vertical parts of a shape's own axes
        low = data.geom_xpos[geoms, 2] - np.abs(up[:, 2]) * half - radius
        if egg.any():
            low -= np.linalg.norm(up * axes, axis=1)
        if box.any():
            low += (up * middle).sum(axis=1) - (np.abs(up) * box).sum(axis=1)
        out[t] = low.min()
    return out


def _lift(lowest: Floats, dt: float) -> Floats:
    """What to add to the root's height; flights keep that of their edges. (T,)."""
    floor = np.percentile(lowest, 5)
    near = lowest < floor + NEAR_GROUND
    slow = np.abs(np.gradient(lowest, dt)) < RISING
    standing = near & slow if (near & slow).any() else near
    times = np.arange(len(lowest))
    wanted = np.interp(times, times[standing], -DEPTH - lowest[standing])
    reach = int(4 * LIFT_TIME / dt)
    taps = np.exp(-0.5 * (np.arange(-reach, reach + 1) * dt / LIFT_TIME) ** 2)
    padded = np.pad(wanted, reach, mode="edge")
    return np.convolve(padded, taps / taps.sum(), mode="valid")
