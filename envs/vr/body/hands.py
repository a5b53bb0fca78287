"""Hands of bodies that reach for a point: when they are led, and a twin's hand model."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Array, Bools, Floats, Ints
from ambulo.envs.reference.crouches import RATE as CROUCH_RATE
from ambulo.envs.reference.crouches import depth_for
from ambulo.envs.vr.world.state import WorldState

NEAR, ASIDE = 0.6, np.radians(75.0)
"""A hand reaches for points nearer than this horizontally, [m], and less far to the side,
[rad]."""
STILL_NEAR, STILL_ASIDE = 0.75, np.radians(130.0)
"""The same thresholds for points that it reaches for already; a body at rest keeps reaching at
any side, since a crouch moves the head beyond the point."""
UPRIGHT = 0.8
"""Height below which only a body at rest reaches for points, [m]: walking bodies do not
crouch."""
AT_REST = 0.3
"""Sticks below this count as at rest near such a point."""
SHOULDER = np.array([0.0, 0.198, 1.385])
"""Left shoulder of a standing twin from its XR origin: ahead, left, up, [m]."""
SUNK = np.array([0.168, 0.0, -0.66])
"""Displacement of the shoulder in the deepest crouch, [m]."""
HANGING = np.array([0.05, 0.22, 0.75])
"""Left palm of a hanging arm, [m]."""
LENGTH, SPEED = 0.61, 0.5
"""Length of a twin's arm with the palm, [m], and the speed of its hands, [m/s]."""
STOPS = 0.8
"""Time from the first stick at rest to the first motion of a crouch, [s]."""
_MIRROR = np.array([1.0, -1.0, 1.0])


def in_reach(state: WorldState, points: Floats, held: Bools, rests: Bools) -> Bools:
    """Mask of the points that are near and ahead enough to reach for. Shape (N,).

    Args:
        state: State of the bodies.
        points: Points in the world, [m]; NaN: none. Shape (N, 3).
        held: Mask of the bodies that reach already. Shape (N,).
        rests: Mask of the bodies whose sticks are at rest. Shape (N,).
    """
    local = from_origin(state, points[:, None])[:, 0]
    far = np.hypot(local[:, 0], local[:, 1])
    angle = np.abs(np.arctan2(local[:, 1], local[:, 0]))
    aside = np.where(held, np.where(rests, np.pi, STILL_ASIDE), ASIDE)
    with np.errstate(invalid="ignore"):  # NaN: no point
        near = (far < np.where(held, STILL_NEAR, NEAR)) & (angle <= aside)
        return np.asarray(near & (rests | (points[:, 2] >= UPRIGHT)))


def at_rest(sticks: Array) -> Bools:
    """Mask of the sticks (N, 3) that count as at rest. Shape (N,)."""
    return np.asarray((np.abs(sticks) < AT_REST).all(axis=1))


def from_origin(state: WorldState, points: Floats) -> Floats:
    """World points (N, 2, 3) from the XR origins: ahead, left, up, [m]. Shape (N, 2, 3)."""
    out = points - state.position[:, None]
    c, s = np.cos(state.yaw)[:, None], np.sin(state.yaw)[:, None]
    x, y = out[..., 0].copy(), out[..., 1].copy()
    out[..., 0], out[..., 1] = c * x + s * y, c * y - s * x
    return np.asarray(out)


class TwinHands:
    """Hand model of N twins: as real bodies, they stop, crouch and move a hand."""

    def __init__(self, count: int) -> None:
        """Start with hanging hands."""
        self.depth: Floats = np.zeros(count)
        """Depth of the crouch, [0, 1]. Shape (N,)."""
        self.stood: Floats = np.zeros(count)
        """Time without motion, [s]. Shape (N,)."""
        self.held: Bools = np.zeros(count, np.bool_)
        """Mask of the twins whose point was within reach in the last step. Shape (N,)."""
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
        """Advance hands and heights by `dt`, [s].

        Args:
            state: State of the twins.
            points: Points to reach for, in the world, [m]; NaN: none. Shape (N, 3).
            near: Mask of the twins near their point. Shape (N,).
            still: Mask of those that stand there. Shape (N,).
            dt: Time step, [s].
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
        """Palms of hanging arms at the present depths. Shape (N, 2, 3)."""
        left = HANGING + self.depth[:, None] * SUNK * np.array([1.0, 0.0, 0.5])
        return np.stack([left, left * _MIRROR], axis=1)
