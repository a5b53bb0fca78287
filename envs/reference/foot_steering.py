"""How a straight gait is bent sideways and into turns: each foot stands still on the ground.

Geometry alone, nothing learned. Legs are solved for the place and heading that a foot has,
seen from a frame that also goes sideways and turns: in stance a foot keeps its place on the
ground, in swing it comes back by the cubic of `turning_wave`. A body in a turn leans inwards:
it is in balance when the line from its feet to its centre of mass leans by sideways
acceleration over gravity, so that the zero moment point stays under the foot (M. Vukobratovic
and B. Borovac, Zero-moment point: thirty five years of its life, International Journal of
Humanoid Robotics 1(1), 2004).
"""

from __future__ import annotations

import math

import mujoco
import numpy as np
from numba import njit

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.gaits import Blend, Gaits
from ambulo.motion.gaits.soles import GRAVITY
from ambulo.motion.quaternion_kernels import Quaternion, log_of, product, rotated
from ambulo.motion.roles import SIDES, roles_of

STANCE = 0.62
"""Share of a cycle in which a foot stands."""
STEEPEST = 0.2
"""Largest lean, [rad]."""
STRAIGHT = 0.9995
"""Longest leg over the length of its bones: a straight knee has no direction to bend in."""
HALF_STEP = 0.004
"""Half of the time over which velocities are differences, [s]."""
COM_HEIGHT = 0.92
"""Height of the centre of mass that a lean moves sideways, [m]."""
_SMALL = 1e-9


class FootSteering:
    """Bends the reference of a body with legs of a ball, a hinge and a ball each."""

    def __init__(self, character: Character, gaits: Gaits, walks: int) -> None:
        """Look up the legs, and where each foot stands in mid-stance.

        Args:
            character: The body.
            gaits: Its gaits; the first `walks` of them have steps.
            walks: Number of gaits with steps.

        Raises:
            ConfigError: A body with other legs.
        """
        self.legs = legs_of(character)
        ahead = [
            ankle_places(self.legs, np.ascontiguousarray(gaits.qpos[g]))[..., 0]
            for g in range(walks)
            if gaits.speed[g] > 0.1
        ]
        self.mid_stance = mid_stance(np.array(ahead))
        """Phases at which the left and right foot are in mid-stance. Shape (2,)."""
        count = len(gaits.qpos[0])
        rows = np.rint(self.mid_stance * count).astype(np.int64) % count
        self.centres: Floats = np.zeros((len(gaits.qpos), 2, 2))
        """Ankles in mid-stance, from the reference frame, [m]. Shape (G, 2, 2)."""
        for leg, row in enumerate(rows):
            ankles = ankle_places(self.legs, np.ascontiguousarray(gaits.qpos[:, row]))
            self.centres[:, leg] = ankles[:, leg, :2]

    def bend(
        self,
        gaits: Gaits,
        phase: Floats,
        blend: Blend,
        command: Floats,
        lean: Floats,
    ) -> tuple[Floats, Floats, Floats]:
        """Positions (N, nq), velocities (N, nv) and torques (N, nv) at phases (N,).

        Args:
            gaits: The gaits.
            phase: Phase of the cycle, [0, 1). Shape (N,).
            blend: The gaits that are followed.
            command: Speed, [m/s], turning rate, [rad/s], speed to the left, [m/s], of the
                reference frame. Shape (N, 3).
            lean: To the left, [rad]. Shape (N,).
        """
        qpos, qvel, torque = gaits.at(phase, blend)
        if not np.count_nonzero(command[:, 1:]):
            return qpos, qvel, torque
        step = HALF_STEP / blend.period
        before = gaits.sample(gaits.qpos, phase - step, blend)
        after = gaits.sample(gaits.qpos, phase + step, blend)
        centres = gaits.sample(
            self.centres.reshape(len(self.centres), 1, -1), phase, blend
        )
        _bend(
            self.legs, centres.reshape(-1, 2, 2), self.mid_stance, phase, step,
            blend.period, blend.speed, np.ascontiguousarray(command), lean, before, after,
            qpos, qvel,
        )  # fmt: skip
        return qpos, qvel, torque


def legs_of(character: Character) -> tuple[Floats, Floats, Ints, Ints]:
    """Bones and addresses of the left and right leg.

    Returns:
        Hips in the root's frame, [m], (2, 3); lengths of thigh and shin, [m], (2, 2);
        first addresses of hip, knee and ankle in qpos, (2, 3), and in qvel, (2, 3).

    Raises:
        ConfigError: Legs that are not a ball, a hinge about Y and a ball, bones downwards.
    """
    skeleton, model = character.skeleton, character.model
    roles = roles_of(skeleton)
    parts = ("thigh", "shin", "foot")
    plain = "left_thigh" in roles and not np.any(skeleton.rest[:, 1:])
    if not plain:
        raise ConfigError(f"{character.name} has no legs that steps can be solved for")
    joints = np.array([[roles[f"{side}_{part}"] for part in parts] for side in SIDES])
    names = [[skeleton.joints[j] for j in leg] for leg in joints]
    kinds = [[int(model.joint(name).type[0]) for name in leg] for leg in names]
    ball, hinge = int(mujoco.mjtJoint.mjJNT_BALL), int(mujoco.mjtJoint.mjJNT_HINGE)
    bones = skeleton.offsets[joints[:, 1:]]
    if kinds != [[ball, hinge, ball]] * 2 or np.any(bones[..., :2]):
        raise ConfigError(f"{character.name} has no legs that steps can be solved for")
    return (
        skeleton.offsets[joints[:, 0]].copy(),
        -bones[..., 2].copy(),
        np.array([[int(model.joint(n).qposadr[0]) for n in leg] for leg in names]),
        np.array([[int(model.joint(n).dofadr[0]) for n in leg] for leg in names]),
    )


def ankle_places(legs: tuple[Floats, Floats, Ints, Ints], qpos: Floats) -> Floats:
    """Left and right ankle of positions (N, nq), [m]. Shape (N, 2, 3)."""
    out = np.empty((len(qpos), 2, 3))
    _ankles(legs, qpos, out)
    return out


def set_feet(
    legs: tuple[Floats, Floats, Ints, Ints],
    qpos: Floats,
    ankles: Floats,
) -> None:
    """Solve both legs of positions (N, nq) for ankles (N, 2, 3), [m], and level feet.

    In place; feet look along +X.
    """
    for b in range(len(qpos)):
        for leg in range(2):
            x, y, z = ankles[b, leg]
            _solve(legs, leg, qpos[b], (x, y, z), (1.0, 0.0, 0.0, 0.0), 0.0)


def stand_over(
    legs: tuple[Floats, Floats, Ints, Ints], qpos: Floats, root: Floats, feet: Floats
) -> None:
    """Move roots and feet of positions (N, nq) and solve the legs between them, in place.

    Args:
        legs: See `legs_of`.
        qpos: Positions. Shape (N, nq).
        root: How far roots go ahead and to the left, [m]. Shape (N, 2).
        feet: How far each foot goes ahead and to the left, [m], and turns left, [rad].
            Shape (N, 2, 3).
    """
    _stand_over(legs, qpos, root, feet)


def mid_stance(ahead: Floats) -> Floats:
    """Phases at which the left and right ankle go through the middle of their stance. (2,).

    Half a cycle apart.

    Args:
        ahead: Places of the ankles ahead of the root, gaits of ascending phase, [m].
            Shape (G, P, 2).
    """
    waves = np.exp(-2j * np.pi * np.arange(ahead.shape[1]) / ahead.shape[1])
    first = np.einsum("gpl,p->l", ahead, waves)
    # A foot is farthest ahead a quarter of a cycle before it is under the root.
    mid = (0.25 - np.angle(first) / (2.0 * np.pi)) % 1.0
    gap = (mid[1] - mid[0]) % 1.0
    return np.asarray((mid[0] + 0.5 * (gap - 0.5) + np.array([0.0, 0.5])) % 1.0)


def leaning(speed: Floats, turning: Floats) -> Floats:
    """Lean to the left, [rad], at speeds, [m/s], and turning rates, [rad/s], each (N,)."""
    return np.clip(speed * turning / GRAVITY, -STEEPEST, STEEPEST)


@njit(cache=True)
def turning_wave(phase: float) -> tuple[float, float]:
    """Turn of a hip in cycles of the turning rate, and its slope, by phase from mid-stance.

    In stance, -phase: the thigh turns against the pelvis as fast as that turns. In swing a
    cubic leads back, without a kink.
    """
    place = (phase + 0.5) % 1.0 - 0.5
    half, span = 0.5 * STANCE, 1.0 - STANCE
    if abs(place) <= half:
        return -place, -1.0
    u = (place - half if place >= 0.0 else place + 1.0 - half) / span
    u = min(max(u, 0.0), 1.0)
    v = 1.0 - u
    # Hermite cubic from -half to half with a slope of -1 (in phase) at both ends.
    wave = -half + 2.0 * half * u * u * (3.0 - 2.0 * u)
    wave -= span * (u * (v * v) - u * u * v)
    slope = 12.0 * half * u * v / span
    slope -= v * v - 4.0 * u * v + u * u
    return wave, slope


@njit(cache=True)
def _ankles(legs: tuple[Floats, Floats, Ints, Ints], qpos: Floats, out: Floats) -> None:
    for b in range(len(qpos)):
        for leg in range(2):
            place, _ = _foot(legs, leg, qpos[b])
            out[b, leg, 0], out[b, leg, 1], out[b, leg, 2] = place


@njit(cache=True)
def _stand_over(
    legs: tuple[Floats, Floats, Ints, Ints], qpos: Floats, root: Floats, feet: Floats
) -> None:
    for b in range(len(qpos)):
        stood = (_foot(legs, 0, qpos[b]), _foot(legs, 1, qpos[b]))
        qpos[b, 0] += root[b, 0]
        qpos[b, 1] += root[b, 1]
        for leg in range(2):
            (x, y, z), foot = stood[leg]
            ahead, left, turn = feet[b, leg]
            c, s = math.cos(0.5 * turn), math.sin(0.5 * turn)
            turned = product(c, 0.0, 0.0, s, foot[0], foot[1], foot[2], foot[3])
            _solve(legs, leg, qpos[b], (x + ahead, y + left, z), turned, turn)


@njit(cache=True)
def _foot(
    legs: tuple[Floats, Floats, Ints, Ints], leg: int, q: Floats
) -> tuple[tuple[float, float, float], Quaternion]:
    """Place of an ankle and orientation of its foot, of positions (nq,)."""
    hips, bones, at, _ = legs
    hip = rotated(q[3], q[4], q[5], q[6], hips[leg, 0], hips[leg, 1], hips[leg, 2])
    a, k, f = at[leg, 0], q[at[leg, 1]], at[leg, 2]
    thigh = product(q[3], q[4], q[5], q[6], q[a], q[a + 1], q[a + 2], q[a + 3])
    bone = rotated(*thigh, 0.0, 0.0, -bones[leg, 0])
    shin = product(*thigh, math.cos(0.5 * k), 0.0, math.sin(0.5 * k), 0.0)
    lower = rotated(*shin, 0.0, 0.0, -bones[leg, 1])
    foot = product(*shin, q[f], q[f + 1], q[f + 2], q[f + 3])
    return (
        q[0] + hip[0] + bone[0] + lower[0],
        q[1] + hip[1] + bone[1] + lower[1],
        q[2] + hip[2] + bone[2] + lower[2],
    ), foot


@njit(cache=True)
def _solve(
    legs: tuple[Floats, Floats, Ints, Ints],
    leg: int,
    q: Floats,
    ankle: tuple[float, float, float],
    foot: Quaternion,
    twist: float,
) -> None:
    """Let a leg of `q` (nq,) reach `ankle` with a foot turned as `foot`, in place.

    The knee bends as far as the distance needs; the hip turns by the least rotation that
    then aims the leg, and by `twist`, [rad], about it.
    """
    hips, bones, at, _ = legs
    upper, lower = bones[leg, 0], bones[leg, 1]
    w, x, y, z = q[3], q[4], q[5], q[6]
    hip = rotated(w, x, y, z, hips[leg, 0], hips[leg, 1], hips[leg, 2])
    tx = ankle[0] - q[0] - hip[0]
    ty = ankle[1] - q[1] - hip[1]
    tz = ankle[2] - q[2] - hip[2]
    far = math.sqrt(tx * tx + ty * ty + tz * tz)
    tx, ty, tz = tx / far, ty / far, tz / far
    reach = min(far, STRAIGHT * (upper + lower))
    cosine = (reach * reach - upper * upper - lower * lower) / (2.0 * upper * lower)
    knee = math.acos(min(max(cosine, -1.0), 1.0))
    a, f = at[leg, 0], at[leg, 2]
    thigh = product(w, x, y, z, q[a], q[a + 1], q[a + 2], q[a + 3])
    ux, uy, uz = rotated(
        *thigh, -lower * math.sin(knee), 0.0, -upper - lower * math.cos(knee)
    )
    norm = math.sqrt(ux * ux + uy * uy + uz * uz)
    ux, uy, uz = ux / norm, uy / norm, uz / norm
    # The least rotation from u to t.
    rw = 1.0 + ux * tx + uy * ty + uz * tz
    rx, ry, rz = uy * tz - uz * ty, uz * tx - ux * tz, ux * ty - uy * tx
    norm = math.sqrt(rw * rw + rx * rx + ry * ry + rz * rz)
    thigh = product(rw / norm, rx / norm, ry / norm, rz / norm, *thigh)
    # The leg points down: a turn to the left is one about its opposite.
    s = -math.sin(0.5 * twist)
    thigh = product(math.cos(0.5 * twist), s * tx, s * ty, s * tz, *thigh)
    q[a], q[a + 1], q[a + 2], q[a + 3] = product(w, -x, -y, -z, *thigh)
    q[at[leg, 1]] = knee
    shin = product(*thigh, math.cos(0.5 * knee), 0.0, math.sin(0.5 * knee), 0.0)
    q[f], q[f + 1], q[f + 2], q[f + 3] = product(
        shin[0], -shin[1], -shin[2], -shin[3], *foot
    )


@njit(cache=True)
def _steer(
    legs: tuple[Floats, Floats, Ints, Ints],
    centres: Floats,
    mid_stance: Floats,
    phase: float,
    period: float,
    speed: float,
    command: Floats,
    lean: float,
    q: Floats,
) -> None:
    """Put root and legs of `q` (nq,) where the command has them, in place."""
    feet = (_foot(legs, 0, q), _foot(legs, 1, q))
    q[1] += lean * COM_HEIGHT
    turning, side = command[1], command[2]
    for leg in range(2):
        place, foot = feet[leg]
        wave, _ = turning_wave(phase - mid_stance[leg])
        time = wave * period
        angle = turning * time
        c, s = math.cos(angle), math.sin(angle)
        ch, sh = math.cos(0.5 * angle), math.sin(0.5 * angle)
        cx, cy = centres[leg, 0], centres[leg, 1]
        ahead, left = speed * time, side * time
        x = place[0] + (c - 1.0) * cx - s * cy + (ch - 1.0) * ahead - sh * left
        y = place[1] + s * cx + (c - 1.0) * cy + sh * ahead + ch * left
        turned = product(ch, 0.0, 0.0, sh, *foot)
        _solve(legs, leg, q, (x, y, place[2]), turned, angle)


@njit(cache=True)
def _bend(
    legs: tuple[Floats, Floats, Ints, Ints],
    centres: Floats,
    mid_stance: Floats,
    phase: Floats,
    step: Floats,
    period: Floats,
    speed: Floats,
    command: Floats,
    lean: Floats,
    before: Floats,
    after: Floats,
    qpos: Floats,
    qvel: Floats,
) -> None:
    """Bend positions and velocities, in place; `before` and `after` are half a step off."""
    for b in range(len(qpos)):
        if abs(command[b, 1]) < _SMALL and abs(command[b, 2]) < _SMALL:
            continue
        for q, shift in (
            (before[b], -step[b]), (after[b], step[b]), (qpos[b], 0.0)
        ):  # fmt: skip
            _steer(
                legs, centres[b], mid_stance, phase[b] + shift, period[b], speed[b],
                command[b], lean[b], q,
            )  # fmt: skip
        # The reference frame's own motion, seen from the root, which is nearly upright.
        qvel[b, 1] += command[b, 2]
        qvel[b, 5] += command[b, 1]
        pace = 0.5 / HALF_STEP
        for leg in range(2):
            for part in range(3):
                p, v = legs[2][leg, part], legs[3][leg, part]
                if part == 1:
                    qvel[b, v] = (after[b, p] - before[b, p]) * pace
                    continue
                o, n = before[b, p : p + 4], after[b, p : p + 4]
                turned = log_of(
                    *product(o[0], -o[1], -o[2], -o[3], n[0], n[1], n[2], n[3])
                )
                for i in range(3):
                    qvel[b, v + i] = turned[i] * pace
