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

import numpy as np
from numba import njit

from ambulo.configs.arrays import Floats
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.gaits import Blend, Gaits
from ambulo.envs.reference.leg_kernels import Legs, foot_of, solve_leg
from ambulo.envs.reference.legs import ankle_places, legs_of
from ambulo.motion.gaits.soles import GRAVITY
from ambulo.motion.quaternion_kernels import log_of, product

STANCE = 0.62
"""Share of a cycle in which a foot stands."""
STEEPEST = 0.2
"""Largest lean, [rad]."""
HALF_STEP = 0.004
"""Half of the time over which velocities are differences, [s]."""
COM_HEIGHT = 0.92
"""Height of the centre of mass that a lean moves sideways, [m]."""
_SMALL = 1e-9


class FootSteering:
    """Bends the reference of a body with legs (`legs_of`)."""

    def __init__(self, character: Character, gaits: Gaits, walks: int) -> None:
        """Look up the legs, and where each foot stands in mid-stance.

        Args:
            character: The body.
            gaits: Its gaits; the first `walks` of them have steps.
            walks: Number of gaits with steps.

        Raises:
            ConfigError: A body without legs.
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
def _steer(
    legs: Legs,
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
    feet = (foot_of(legs, 0, q), foot_of(legs, 1, q))
    q[1] += lean * (COM_HEIGHT * legs.size)
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
        solve_leg(legs, leg, q, (x, y, place[2]), turned, angle)


@njit(cache=True)
def _bend(
    legs: Legs,
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
            for part in range(legs.kinds.shape[1]):
                p, v = legs.at[leg, part], legs.dofs[leg, part]
                if legs.kinds[leg, part] == 1:
                    qvel[b, v] = (after[b, p] - before[b, p]) * pace
                    continue
                o, n = before[b, p : p + 4], after[b, p : p + 4]
                turned = log_of(
                    *product(o[0], -o[1], -o[2], -o[3], n[0], n[1], n[2], n[3])
                )
                for i in range(3):
                    qvel[b, v + i] = turned[i] * pace
