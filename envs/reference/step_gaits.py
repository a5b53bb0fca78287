"""Slow gaits that no clip has: standing, steps on the spot, and slow steps, by leg IK.

The feet stay level and step beside each other. The centre of mass goes as that of a linear
inverted pendulum over the zero moment point that the steps give (S. Kajita et al., The 3D
linear inverted pendulum mode, IROS 2001), as a Fourier series, so that the cycle is exactly
periodic. The trunk and arms are the mean posture of a captured gait.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.foot_steering import STANCE, turning_wave
from ambulo.envs.reference.joint_positions import (
    body_places,
    motion_of_positions,
    qpos_of,
)
from ambulo.envs.reference.leg_kernels import Legs
from ambulo.envs.reference.legs import WIDTH, ankle_places, legs_of, set_feet
from ambulo.motion.gaits.cycle import Cycle
from ambulo.motion.gaits.soles import DEPTH, GRAVITY, sole_places
from ambulo.motion.gaits.variants import FOOT_SHARE
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.mass import center_of_mass
from ambulo.motion.motion import Motion
from ambulo.motion.operations import mirror
from ambulo.motion.roles import SIDES, roles_of
from ambulo.motion.rotations import (
    quat_about_mean,
    quat_conjugate,
    quat_from_rotvec,
    quat_multiply,
)
from ambulo.motion.skeleton import Skeleton

LIFT = 0.06
"""Height of a swinging foot, [m]."""
HIP_HEIGHT = 0.95
"""Height of hips over ankles in standing, over the length of the leg's bones."""
REACH = 0.97
"""Longest leg at the ends of stance, over that: long steps take lower hips."""
SAMPLES = 128
"""Phases of a cycle."""
ARMS = 0.0
"""Distance of hanging hands from the shoulders, to the side, [m]: arms that stand off touch
both sides of a door."""
ROUNDS = 6
"""Times that the root is moved until the centre of mass is where it should be."""
WAVES = 12
"""Harmonics of the centre of mass."""


def posture_of(captured: Cycle, character: Character) -> Floats:
    """Local rotations of a gait's mean posture, upright and alike on both sides. (J, 4).

    The arms hang beside the trunk. Bodies of the user's own step in their standing pose.
    """
    if character.standing is not None:
        return standing_posture(character)
    mean, _ = quat_about_mean(captured.rotations)
    twin, _ = quat_about_mean(mirror(captured.motion()).rotations)
    skeleton = captured.skeleton
    both = np.stack(
        [mean, np.where((mean * twin).sum(-1, keepdims=True) < 0, -twin, twin)]
    )
    posture = both.mean(axis=0)
    posture /= np.linalg.norm(posture, axis=-1, keepdims=True)
    roles = roles_of(skeleton)
    upright = np.array([1.0, 0.0, 0.0, 0.0])
    for side in SIDES:
        for part in ("thigh", "shin", "foot"):
            for joint in skeleton.branch(roles[f"{side}_{part}"]):
                posture[joint] = upright
    posture[0] = upright
    for side in SIDES:
        _lower_arm(skeleton, posture, side)
    return np.asarray(posture)


def standing_posture(character: Character) -> Floats:
    """Local rotations of a body's standing pose, its root upright. Shape (J, 4)."""
    rows = np.asarray(character.standing)[None]
    posture = motion_of_positions(rows, character.model, character.skeleton, 1.0)
    rotations = posture.rotations[0].copy()
    rotations[0] = [1.0, 0.0, 0.0, 0.0]
    return rotations


def _lower_arm(skeleton: Skeleton, posture: Floats, side: str) -> None:
    """Turn an upper arm about +X so that the hand hangs `ARMS` off the shoulder, in place."""
    roles = roles_of(skeleton)
    arm, hand = roles[f"{side}_upper_arm"], roles[f"{side}_hand"]
    places, turns = forward_kinematics(skeleton, np.zeros(3), posture)
    _, aside, up = places[hand] - places[arm]
    out = ARMS if side == "left" else -ARMS
    angle = np.arcsin(out / np.hypot(aside, up)) - np.arctan2(aside, -up)
    above = turns[skeleton.parents[arm]]
    turn = quat_multiply(quat_from_rotvec(np.array([angle, 0.0, 0.0])), above)
    local = quat_multiply(quat_conjugate(above), turn)
    posture[arm] = quat_multiply(local, posture[arm])


def stepping_cycle(
    character: Character,
    posture: Floats,
    speed: float,
    period: float,
    mid: float,
    *,
    width: float = WIDTH,
) -> Cycle:
    """Steps ahead at `speed`, [m/s], negative backwards, `period`, [s], a cycle.

    Widths and lifts are those of human23; other bodies' are in proportion.

    Args:
        character: The body.
        posture: Local rotations of its joints; see `posture_of`. Shape (J, 4).
        speed: [m/s].
        period: Duration of a cycle, [s].
        mid: Phase of the left foot's mid-stance; the right foot's is half a cycle later.
        width: Distance of the ankles from side to side, [m].
    """
    phase, legs = np.arange(SAMPLES) / SAMPLES, legs_of(character)
    ahead, lift = zip(
        *(
            _foot_path(phase - mid - late, speed, period, LIFT * legs.size)
            for late in (0.0, 0.5)
        ),
        strict=True,
    )
    width *= legs.width / WIDTH
    feet = np.zeros((SAMPLES, 2, 3))
    feet[..., 0] = np.stack(ahead, axis=1)
    feet[..., 1] = [0.5 * width, -0.5 * width]
    feet[..., 2] = np.stack(lift, axis=1)
    return _over_feet(character, posture, feet, (speed, period, mid))


def standing_steps(
    character: Character, posture: Floats, *, drop: float = 0.0, width: float = WIDTH
) -> Cycle:
    """Standing with the feet beside each other, as steps on the spot have them.

    Args:
        character: The body.
        posture: Local rotations of its joints; see `posture_of`. Shape (J, 4).
        drop: How much lower the pelvis is, [m].
        width: Distance of the ankles from side to side, [m]; as of `stepping_cycle`.
    """
    width *= legs_of(character).width / WIDTH
    feet = np.zeros((SAMPLES, 2, 3))
    feet[..., 1] = [0.5 * width, -0.5 * width]
    return _over_feet(character, posture, feet, None, drop)


def _foot_path(
    phase: Floats, speed: float, period: float, height: float
) -> tuple[Floats, Floats]:
    """Ankle ahead of its mid-stance, and its lift, [m], by phase from mid-stance, (P,)."""
    wave = np.array([turning_wave(float(one))[0] for one in phase])
    swing = (phase - 0.5 * STANCE) % 1.0 / (1.0 - STANCE)
    lift = np.where(swing < 1.0, height * np.sin(np.pi * swing) ** 2, 0.0)
    return speed * period * wave, lift


def _over_feet(
    character: Character,
    posture: Floats,
    feet: Floats,
    steps: tuple[float, float, float] | None,
    drop: float = 0.0,
) -> Cycle:
    """The cycle of feet (P, 2, 3), ankles over standing ones, in the reference frame, [m].

    `steps` are speed, period and the left mid-stance; None: it stands. `drop`: how much
    lower the pelvis is, [m].
    """
    speed, period, mid = steps or (0.0, 1.0, 0.0)
    skeleton, legs = character.skeleton, legs_of(character)
    ankle, share = _sole(character, legs)
    goal = feet[..., :2].mean(axis=1) if steps is None else _zero_moment(feet, mid)
    goal[:, 0] += share
    height = ankle + _hip_height(legs, speed * period) - legs.hips[0, 2] - drop
    root = np.tile([0.0, 0.0, height], (SAMPLES, 1))
    stride = np.array([speed * period, 0.0, 0.0])
    cycle = Cycle(
        skeleton, period, np.zeros(3), root, np.tile(posture, (SAMPLES, 1, 1))
    )
    ankles = feet + np.array([0.0, 0.0, ankle])
    for _ in range(ROUNDS):
        qpos = qpos_of(cycle, character.model)
        set_feet(legs, qpos, ankles)
        motion = motion_of_positions(qpos, character.model, skeleton, cycle.fps)
        com = _centre(motion, qpos, character)
        target = goal
        if steps is not None:
            target = _pendulum(goal, GRAVITY / float(com[:, 2].mean()), period)
        root = motion.root_positions + np.c_[target - com[:, :2], np.zeros(SAMPLES)]
        cycle = Cycle(skeleton, period, np.zeros(3), root, motion.rotations)
    qpos = qpos_of(cycle, character.model)
    set_feet(legs, qpos, ankles)
    motion = motion_of_positions(qpos, character.model, skeleton, cycle.fps)
    progress = np.arange(SAMPLES)[:, None] / SAMPLES * stride
    return replace(
        cycle, stride=stride, root_positions=root + progress, rotations=motion.rotations
    )


def _hip_height(legs: Legs, stride: float) -> float:
    """Height of the hips over standing ankles, [m], that lets legs reach back for `stride`."""
    length = float(legs.bones[0].sum())
    back = 0.5 * STANCE * stride
    return min(HIP_HEIGHT * length, float(np.sqrt((REACH * length) ** 2 - back**2)))


def _centre(motion: Motion, qpos: Floats, character: Character) -> Floats:
    """Centre of mass of a motion, (T, 3), [m]; of bodies of the user's own by their masses."""
    if character.standing is None:
        return center_of_mass(motion)
    return body_places(qpos, character.model)[1]


def _sole(character: Character, legs: Legs) -> tuple[float, float]:
    """Height of the ankle of a level standing foot, and where it bears ahead of it, [m].

    Feet of users' own bodies bear where they do in the standing pose: ankles may be weak.
    """
    skeleton, soles = character.skeleton, character.soles
    still = np.zeros((1, len(skeleton), 4))
    still[..., 0] = 1.0
    if character.standing is not None:
        rows = character.standing[None]
        still = motion_of_positions(rows, character.model, skeleton, 1.0).rotations
    cycle = Cycle(skeleton, 1.0, np.zeros(3), np.zeros((1, 3)), still)
    places = sole_places(cycle, soles)[0]
    qpos = qpos_of(cycle, character.model)
    ankles = ankle_places(legs, qpos)[0]
    heel, toe = places[:, 0].min(), places[:, 0].max()
    share = heel + FOOT_SHARE * (toe - heel) - ankles[0, 0]
    if character.standing is not None:
        share = body_places(qpos, character.model)[1][0, 0] - ankles[:, 0].mean()
    return float(ankles[0, 2] - places[:, 2].min() - DEPTH), float(share)


def _zero_moment(feet: Floats, mid: float) -> Floats:
    """Zero moment point of steps over feet (P, 2, 3), [m]: it goes over in double support.

    Args:
        feet: Ankles over the ground.
        mid: Phase of the left foot's mid-stance.
    """
    phase = np.arange(len(feet)) / len(feet)
    away = np.abs((phase - mid + 0.5) % 1.0 - 0.5)
    single, double = 0.5 * (1.0 - STANCE), STANCE - 0.5
    left = np.clip((single + double - away) / double, 0.0, 1.0)[:, None]
    return np.asarray(left * feet[:, 0, :2] + (1.0 - left) * feet[:, 1, :2])


def _pendulum(zero_moment: Floats, omega2: float, period: float) -> Floats:
    """The periodic path (P, 2) of a linear inverted pendulum over a zero moment point, [m].

    Args:
        zero_moment: Over one cycle, [m]. Shape (P, 2).
        omega2: Gravity over height, [1/s^2].
        period: Duration of the cycle, [s].
    """
    waves = np.fft.rfft(zero_moment, axis=0)
    pace = 2.0 * np.pi * np.arange(len(waves)) / period
    share = np.where(
        np.arange(len(waves)) <= WAVES, 1.0 / (1.0 + pace**2 / omega2), 0.0
    )
    return np.asarray(np.fft.irfft(waves * share[:, None], len(zero_moment), axis=0))
