"""The gaits of a reference stacked into arrays, looked up by phase and speed.

Positions are in the reference frame: its origin walks over the ground under the body at the
gait's speed and faces where the gait goes. Gaits are blended linearly between neighbours
of the wanted speed; beyond the slowest and fastest the clock runs slower or faster.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numba import njit

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.balance import resampled
from ambulo.envs.reference.reference import Reference

CONTROLLER_ROWS = 64
"""Phases of the stacked balance controllers."""
RATES = (0.5, 1.4)
"""Slowest and fastest clock, over the gait's own."""
STAND = "stand"
"""Name of the gait that stands, among others."""
DEVIATION_LIMIT = 1.0
"""Deviations from the reference beyond this are cut off in front of the balance controller."""


@dataclass(frozen=True, eq=False)
class Blend:
    """Which gaits are followed; arrays over bodies."""

    slower: Ints
    """The slower of the two gaits. Shape (B,)."""
    share: Floats
    """Share of the faster one, in [0, 1]. Shape (B,)."""
    rate: Floats
    """Speed of the clock over the gait's. Shape (B,)."""
    period: Floats
    """Duration of a cycle, [s]. Shape (B,)."""
    speed: Floats
    """Forward speed, [m/s]. Shape (B,)."""


class Gaits:
    """G gaits of one character at P phases."""

    _natural = 0
    """The gait that is followed without a speed."""

    def __init__(self, reference: Reference, character: Character) -> None:
        """Stack `reference`, whose gaits all have the same number of phases."""
        model = character.model
        tables = [gait.table for gait in reference.gaits]
        if not all(table.periodic for table in tables):
            raise ConfigError(
                f"{reference.name}: a clip that ends; the walking tasks follow cycles "
                "(a motion file, or the reference of one)"
            )
        names = [gait.name for gait in reference.gaits]
        self._natural = names.index(STAND) if STAND in names else 0
        self.period = np.array([table.period for table in tables])
        self.speed = reference.speeds
        samples = np.arange(len(tables[0].qpos))[:, None] / len(tables[0].qpos)
        self.qpos = np.stack([table.qpos for table in tables])
        for g, table in enumerate(tables):
            self.qpos[g, :, :3] -= samples * table.stride
        self.qpos[:, :, 0] -= self.qpos[:, :, 0].mean(axis=1, keepdims=True)
        self._same_signs(model)
        self.qvel = np.stack([table.qvel for table in tables])
        self.torque = np.stack([table.torque for table in tables])
        controllers = [gait.controller for gait in reference.gaits]
        self.controller_dofs: Ints = np.zeros(0, dtype=np.int64)
        self.gains = np.zeros((len(tables), 1, 0, 2 * model.nv))
        if controllers[0] is not None:
            self.controller_dofs = controllers[0].dofs
            self.gains = np.stack(
                [
                    resampled(x.gains, CONTROLLER_ROWS)
                    for x in controllers
                    if x is not None
                ]
            )

    def blend(self, speed: Floats) -> Blend:
        """The gaits for speeds (B,), [m/s]; beyond the slowest and fastest clocks change."""
        slower, share = self._between(speed, len(self.speed))
        own = self._blend_of(slower, share)
        rate = np.clip(speed / np.maximum(own.speed, 1e-9), *RATES)
        return Blend(slower, share, rate, own.period / rate, own.speed * rate)

    def _between(self, speed: Floats, count: int) -> tuple[Ints, Floats]:
        """The slower of two gaits among the first `count`, and the share of the other."""
        speeds = self.speed[:count]
        slower = np.clip(np.searchsorted(speeds, speed) - 1, 0, max(count - 2, 0))
        faster = np.minimum(slower + 1, count - 1)
        gap = np.maximum(speeds[faster] - speeds[slower], 1e-9)
        share = np.clip((speed - speeds[slower]) / gap, 0.0, 1.0)
        return slower, np.where(faster > slower, share, 0.0)

    def _blend_of(self, slower: Ints, share: Floats) -> Blend:
        """Gaits (B,) with shares of the next faster one (B,), their clocks as made."""
        faster = np.minimum(slower + 1, len(self.speed) - 1)
        own = (1.0 - share) * self.speed[slower] + share * self.speed[faster]
        time = (1.0 - share) * self.period[slower] + share * self.period[faster]
        return Blend(slower, share, np.ones(len(slower)), time, own)

    def natural(self, count: int) -> Blend:
        """The gait that stands, or the first, as it is, for `count` bodies."""
        gait = self._natural
        return Blend(
            np.full(count, gait),
            np.zeros(count),
            np.ones(count),
            np.full(count, self.period[gait]),
            np.full(count, self.speed[gait]),
        )

    def at(self, phase: Floats, blend: Blend) -> tuple[Floats, Floats, Floats]:
        """Positions (B, nq), velocities (B, nv) and torques (B, nv) at phases (B,)."""
        qpos = np.empty((len(phase), self.qpos.shape[2]))
        qvel = np.empty((len(phase), self.qvel.shape[2]))
        torque = np.empty_like(qvel)
        _look_up(
            phase, blend.slower, blend.share, blend.rate, self.qpos, self.qvel,
            self.torque, qpos, qvel, torque,
        )  # fmt: skip
        return qpos, qvel, torque

    def sample(self, values: Floats, phase: Floats, blend: Blend) -> Floats:
        """Values (G, P, n) at phases (B,), blended. Shape (B, n)."""
        out = np.empty((len(phase), values.shape[2]))
        _interpolate(values, phase, blend.slower, blend.share, out)
        return out

    def controller_offsets(
        self, phase: Floats, blend: Blend, deviation: Floats, velocity: Floats
    ) -> Floats:
        """The balance controller's offsets, [rad]. Shape (B, U).

        Args:
            phase: Place in the cycle, [0, 1). Shape (B,).
            blend: The gaits.
            deviation: Position minus reference, tangent space. Shape (B, nv).
            velocity: Velocity minus reference. Shape (B, nv).
        """
        out = np.zeros((len(phase), len(self.controller_dofs)))
        _controller_offsets(
            self.gains, phase, blend.slower, blend.share, deviation, velocity,
            DEVIATION_LIMIT, out,
        )  # fmt: skip
        return out

    def _same_signs(self, model: mujoco.MjModel) -> None:
        """Give quaternions signs that let neighbours be interpolated."""
        for joint in range(model.njnt):
            kind, at = model.jnt_type[joint], model.jnt_qposadr[joint]
            if kind > int(mujoco.mjtJoint.mjJNT_BALL):
                continue
            at += 3 if kind == int(mujoco.mjtJoint.mjJNT_FREE) else 0
            quats = self.qpos[:, :, at : at + 4]
            first = quats[:1, :1]
            quats *= np.where((quats * first).sum(-1, keepdims=True) < 0.0, -1.0, 1.0)


class NoGaits(Gaits):
    """Gaits of tasks that follow something else: no gait and no balance controller."""

    def __init__(self, model: mujoco.MjModel) -> None:
        """Empty tables for the body of `model`."""
        self.period, self.speed = np.ones(1), np.zeros(1)
        self.qpos = np.zeros((0, 1, model.nq))
        self.qvel = self.torque = np.zeros((0, 1, model.nv))
        self.controller_dofs = np.zeros(0, dtype=np.int64)
        self.gains = np.zeros((0, 1, 0, 2 * model.nv))


@njit(cache=True)
def _look_up(
    phase: Floats,
    slower: Ints,
    share: Floats,
    rate: Floats,
    qpos: Floats,
    qvel: Floats,
    torque: Floats,
    out_qpos: Floats,
    out_qvel: Floats,
    out_torque: Floats,
) -> None:
    """Fill what `Gaits.at` returns."""
    _interpolate(qpos, phase, slower, share, out_qpos)
    _interpolate(qvel, phase, slower, share, out_qvel)
    _interpolate(torque, phase, slower, share, out_torque)
    for b in range(len(phase)):
        for k in range(out_qvel.shape[1]):
            out_qvel[b, k] *= rate[b]


@njit(cache=True)
def _interpolate(
    values: Floats, phase: Floats, slower: Ints, share: Floats, out: Floats
) -> None:
    gaits, count, size = values.shape
    for b in range(len(phase)):
        place = (phase[b] - np.floor(phase[b])) * count
        i = int(place) % count
        j = (i + 1) % count
        a = place - np.floor(place)
        g, s = slower[b], share[b]
        h = min(g + 1, gaits - 1)
        for k in range(size):
            value = (1.0 - a) * values[g, i, k] + a * values[g, j, k]
            if s > 0.0:
                faster = (1.0 - a) * values[h, i, k] + a * values[h, j, k]
                value += s * (faster - value)
            out[b, k] = value


@njit(cache=True)
def _controller_offsets(
    gains: Floats,
    phase: Floats,
    slower: Ints,
    share: Floats,
    deviation: Floats,
    velocity: Floats,
    limit: float,
    out: Floats,
) -> None:
    gaits, count, outputs, _ = gains.shape
    nv = deviation.shape[1]
    for b in range(len(phase)):
        place = (phase[b] - np.floor(phase[b])) * count
        i = int(place) % count
        j = (i + 1) % count
        a = place - np.floor(place)
        for step in range(2):
            g = min(slower[b] + step, gaits - 1)
            s = share[b] if step else 1.0 - share[b]
            if s == 0.0:
                continue
            for u in range(outputs):
                total = 0.0
                for k in range(nv):
                    d = min(max(deviation[b, k], -limit), limit)
                    total += ((1.0 - a) * gains[g, i, u, k] + a * gains[g, j, u, k]) * d
                    total += (
                        (1.0 - a) * gains[g, i, u, nv + k] + a * gains[g, j, u, nv + k]
                    ) * velocity[b, k]
                out[b, u] -= s * total
