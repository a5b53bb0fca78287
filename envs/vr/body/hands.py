"""Hands of bodies that reach for a point: when they are led, and a twin's model of them."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Array, Bools, Floats, Ints
from ambulo.envs.reference.crouches import RATE as CROUCH_RATE
from ambulo.envs.reference.crouches import depth_for
from ambulo.envs.vr.world.state import WorldState

NEAR, ASIDE = 0.6, np.radians(75.0)
"""Points nearer than this, level, [m], and less far to the side, [rad], are reached for."""
STILL_NEAR, STILL_ASIDE = 0.75, np.radians(130.0)
"""The same for points that are reached for already; a body at rest holds on to those at any
side, since a crouch moves the head beyond them."""
UPRIGHT = 0.8
"""Points lower than this are reached for at rest alone, [m]: walking bodies do not crouch."""
AT_REST = 0.3
"""Sticks that are all smaller than this stop for such a point."""
SHOULDER = np.array([0.0, 0.198, 1.385])
"""Left shoulder of a standing twin from its XR origin: ahead, left, up, [m]."""
SUNK = np.array([0.168, 0.0, -0.66])
"""How much further it is in the deepest crouch, [m]."""
HANGING = np.array([0.05, 0.22, 0.75])
"""Left palm of an arm that hangs, [m]."""
LENGTH, SPEED = 0.61, 0.5
"""Length of a twin's arm with the palm, [m], and the speed of its hands, [m/s]."""
STOPS = 0.8
"""Time from the first still stick to the first motion of a crouch, [s]."""
_MIRROR = np.array([1.0, -1.0, 1.0])


def in_reach(state: WorldState, points: Floats, held: Bools, rests: Bools) -> Bools:
    """Which points are near and ahead enough to be reached for. Shape (N,).

    Args:
        state: Where the bodies are.
        points: In the world, [m]; NaN: there is none. Shape (N, 3).
        held: Who reaches already. Shape (N,).
        rests: Whose sticks are at rest. Shape (N,).
    """
    local = from_origin(state, points[:, None])[:, 0]
    far = np.hypot(local[:, 0], local[:, 1])
    angle = np.abs(np.arctan2(local[:, 1], local[:, 0]))
    aside = np.where(held, np.where(rests, np.pi, STILL_ASIDE), ASIDE)
    with np.errstate(invalid="ignore"):  # NaN: no point
        near = (far < np.where(held, STILL_NEAR, NEAR)) & (angle <= aside)
        return np.asarray(near & (rests | (points[:, 2] >= UPRIGHT)))


def at_rest(sticks: Array) -> Bools:
    """Which sticks (N, 3) are as good as let go. Shape (N,)."""
    return np.asarray((np.abs(sticks) < AT_REST).all(axis=1))


def from_origin(state: WorldState, points: Floats) -> Floats:
    """World points (N, 2, 3) from the XR origins: ahead, left, up, [m]. Shape (N, 2, 3)."""
    out = points - state.position[:, None]
    c, s = np.cos(state.yaw)[:, None], np.sin(state.yaw)[:, None]
    x, y = out[..., 0].copy(), out[..., 1].copy()
    out[..., 0], out[..., 1] = c * x + s * y, c * y - s * x
    return np.asarray(out)


class TwinHands:
    """The hands of N twins, as those of bodies move: they stop, crouch, and a hand goes."""

    def __init__(self, count: int) -> None:
        """All hands hang."""
        self.depth: Floats = np.zeros(count)
        """Depth of the crouch, [0, 1]. Shape (N,)."""
        self.stood: Floats = np.zeros(count)
        """Time without motion, [s]. Shape (N,)."""
        self.held: Bools = np.zeros(count, np.bool_)
        """Whose point was within reach in the last step. Shape (N,)."""
        self.palms: Floats = np.tile(
            np.stack([HANGING, HANGING * _MIRROR]), (count, 1, 1)
        )
        """Both palms from the XR origin: ahead, left, up, [m]. Shape (N, 2, 3)."""

    def clear(self, envs: Ints) -> None:
        """Let the hands of `envs` (k,) hang."""
        self.depth[envs], self.stood[envs] = 0.0, 0.0
        self.palms[envs] = HANGING, HANGING * _MIRROR
        self.held[envs] = False

    def advance(
        self, state: WorldState, points: Floats, near: Bools, still: Bools, dt: float
    ) -> None:
        """Move hands and heights on by `dt`, [s].

        Args:
            state: Where the twins are.
            points: What is reached for, in the world, [m]; NaN: nothing. Shape (N, 3).
            near: Whose point is within reach. Shape (N,).
            still: Who of those stands there. Shape (N,).
            dt: [s].
        """
        self.held[:] = near
        self.stood[:] = np.where(still, self.stood + dt, 0.0)
        goal = np.where(near[:, None], points, 0.0)
        wanted = np.where(self.stood >= STOPS, depth_for(goal[:, 2]), 0.0)
        self.depth += np.clip(wanted - self.depth, -CROUCH_RATE * dt, CROUCH_RATE * dt)
        aim = self._hanging()
        local = from_origin(state, np.repeat(goal[:, None], 2, axis=1))
        left = SHOULDER + self.depth[:, None] * SUNK
        shoulders = np.stack([left, left * _MIRROR], axis=1)
        away = local - shoulders
        far = np.linalg.norm(away, axis=2)
        met = (
            shoulders
            + away * np.minimum(LENGTH / np.maximum(far, 1e-9), 1.0)[..., None]
        )
        side = np.argmin(far, axis=1)
        rows = np.flatnonzero(near)
        aim[rows, side[rows]] = met[rows, side[rows]]
        step = aim - self.palms
        size = np.linalg.norm(step, axis=2, keepdims=True)
        self.palms += step * np.minimum(SPEED * dt / np.maximum(size, 1e-9), 1.0)

    def _hanging(self) -> Floats:
        """Where the palms hang at the present depths. Shape (N, 2, 3)."""
        left = HANGING + self.depth[:, None] * SUNK * np.array([1.0, 0.0, 0.5])
        return np.stack([left, left * _MIRROR], axis=1)
