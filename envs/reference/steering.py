"""How a straight gait is bent into a turn: it turns in the hips and leans to the inside.

Two pieces of geometry, nothing learned, make a reference for a body that turns out of one
that walks straight ahead:

- A foot that stands still while the pelvis turns over it turns in the hip, at the turning
  rate, against the turn; in swing it comes back ahead of the turn.
- A body that is accelerated sideways is in balance when the line from its feet to its
  centre of mass leans by acceleration over gravity: the zero moment point stays under the
  foot (M. Vukobratovic and B. Borovac, Zero-moment point: thirty five years of its life,
  International Journal of Humanoid Robotics 1(1), 2004). Sideways acceleration is speed
  times turning rate.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numba import njit

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.envs.characters.character import Character
from ambulo.envs.simulation.tangent import Tangent
from ambulo.motion.quaternion_kernels import rotated
from ambulo.motion.roles import SIDES, roles_of

STANCE = 0.62
"""Share of a cycle in which a foot stands."""
LEAN = 0.75
"""Lean over that of the formula. The feet of a gait also step to the outside by
themselves: with 0.7 more bodies stay up than with 1 or 0."""
STEEPEST = 0.15
"""Largest lean, [rad]."""
GRAVITY = 9.81
"""[m/s^2]."""


class Steering:
    """Bends the reference of one character; see the module."""

    def __init__(self, character: Character, feet_ahead: Floats) -> None:
        """Look up hips and ankles.

        Args:
            character: The body.
            feet_ahead: Place of the left and right foot ahead of the root over one cycle,
                [m]. Shape (P, 2).
        """
        roles, names = roles_of(character.skeleton), character.skeleton.joints
        if "left_thigh" not in roles:
            raise ConfigError(f"{character.name} cannot follow a turning rate: imitate")
        model = character.model
        hips = [names[roles[f"{side}_thigh"]] for side in SIDES]
        self.hips: Ints = np.stack([character.dofs(name) for name in hips])
        """Degrees of freedom of the left and right hip. Shape (2, 3)."""
        feet = [names[roles[f"{side}_foot"]] for side in SIDES]
        self.feet: Ints = np.stack([character.dofs(name) for name in feet])
        """Degrees of freedom of the left and right ankle. Shape (2, 3)."""
        if self.hips.shape != (2, 3) or self.feet.shape != (2, 3):
            raise ConfigError(f"{character.name} cannot follow a turning rate: imitate")
        self._quaternions: Ints = np.array(
            [int(model.joint(name).qposadr[0]) for name in hips]
        )
        self._tangent = Tangent(model)
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        root, hip = (
            int(model.jnt_bodyid[model.joint(n).id]) for n in (names[0], hips[0])
        )
        self._drop = float(data.xpos[root, 2] - data.xpos[hip, 2])
        # A foot is farthest ahead a quarter of a cycle before it is under the root.
        waves = np.exp(-2j * np.pi * np.arange(len(feet_ahead)) / len(feet_ahead))
        mid = 0.25 - np.angle(waves @ feet_ahead) / (2.0 * np.pi)
        self.mid_stance: Floats = np.asarray(mid % 1.0)
        """Phases at which the left and right foot are under the root. Shape (2,)."""

    def shift_seen(self, effectors: Floats, com: Floats, lean: Floats) -> None:
        """Lean the end effectors (N, E, 3) seen from the root, and the centre of mass (N, 3).

        In place; the first two end effectors are the feet.
        """
        moved = lean * (com[:, 2] - self._drop)
        effectors[:, :2, 1] -= moved[:, None]
        com[:, 1] += moved

    def bend(
        self,
        reference: tuple[Floats, Floats],
        phase: Floats,
        period: Floats,
        turning: Floats,
        lean: Floats,
    ) -> tuple[Floats, Floats]:
        """Positions (N, nq) and velocities (N, nv) of a straight gait, bent.

        Args:
            reference: Positions and velocities in the moving frame.
            phase: Phase of the cycle in [0, 1). Shape (N,).
            period: Duration of a cycle, [s]. Shape (N,).
            turning: Turning rate of the moving frame, [rad/s]. Shape (N,).
            lean: To the left, [rad]. Shape (N,).
        """
        qpos, qvel = reference
        step, bent = np.zeros_like(qvel), qvel.copy()
        _bend(
            qpos, phase, period, np.ascontiguousarray(turning), lean,
            self.mid_stance, self._drop,
            self._quaternions, self.hips, self.feet, step, bent,
        )  # fmt: skip
        return self._tangent.moved(qpos, step), bent


def leaning(speed: Floats, turning: Floats) -> Floats:
    """Lean to the left, [rad], at speeds, [m/s], and turning rates, [rad/s], each (N,)."""
    return np.clip(LEAN * speed * turning / GRAVITY, -STEEPEST, STEEPEST)


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
def _bend(
    qpos: Floats,
    phase: Floats,
    period: Floats,
    turning: Floats,
    lean: Floats,
    mid_stance: Floats,
    drop: float,
    quaternions: Ints,
    hips: Ints,
    feet: Ints,
    step: Floats,
    qvel: Floats,
) -> None:
    """Set how far `Steering.bend` moves positions, `step` (N, nv), and add to `qvel`."""
    for b in range(len(qpos)):
        step[b, 1] = lean[b] * (qpos[b, 2] - drop)
        # The moving frame's turning, seen from the root, which is nearly upright.
        qvel[b, 5] += turning[b]
        for leg in range(2):
            wave, slope = turning_wave(phase[b] - mid_stance[leg])
            angle, rate = turning[b] * period[b] * wave, turning[b] * slope
            q = quaternions[leg]
            w, x, y, z = qpos[b, q], -qpos[b, q + 1], -qpos[b, q + 2], -qpos[b, q + 3]
            over = rotated(w, x, y, z, -lean[b], 0.0, 0.0)
            up = rotated(w, x, y, z, 0.0, 0.0, 1.0)
            # While the pelvis goes along an arc, its foot leaves the pelvis's straight
            # track by half of what turning about the pelvis's vertical would make it.
            axis = 0.5 * (up[0] + 0.0), 0.5 * (up[1] + 0.0), 0.5 * (up[2] + 1.0)
            for i in range(3):
                step[b, hips[leg, i]] = over[i] + angle * axis[i]
                qvel[b, hips[leg, i]] += rate * axis[i]
            step[b, feet[leg, 0]] = lean[b]
