"""Base class of actions, their composition, and their common time profiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import IKError
from ambulo.ik.layers.goals import EffectorGoals
from ambulo.ik.layers.layer import Provider, Tick
from ambulo.motion.rotations import (
    quat_from_rotvec,
    quat_multiply,
    quat_rotate,
    quat_slerp,
)

BODY, FEET, HANDS, GAZE = 0, 1, 2, 3
"""Stages, in order of application: actions of the whole body come before those that build
on it."""

UPPER = ("LeftHand", "RightHand", "Head")
"""Rows that move with the trunk."""

UP = np.array([0.0, 0.0, 1.0])


class IKAction(Protocol):
    """An action maps the goals of the animation and of earlier actions to new goals."""

    @property
    def stage(self) -> int:
        """Stage in the order of application: BODY, FEET, HANDS or GAZE."""

    def lead(self, goals: EffectorGoals, time: float) -> EffectorGoals:
        """Return the goals at `time`, [s]; unchanged outside the action's duration."""


def min_jerk(share: ArrayLike) -> Floats:
    """Fraction of the path completed at a fraction of the time, both 0 to 1 (minimum jerk).

    10 u^3 - 15 u^4 + 6 u^5, as hands move: T. Flash and N. Hogan, "The coordination of
    arm movements", J. Neuroscience 5, 1985.
    """
    u = np.clip(np.asarray(share, dtype=np.float64), 0.0, 1.0)
    path: Floats = u**3 * (10.0 - 15.0 * u + 6.0 * u * u)
    return path


@dataclass(frozen=True)
class Timing:
    """Start, rise, hold and fall times of an action, [s]."""

    begin: float = 0.0
    """Start time."""
    rise: float = 0.6
    """Duration of the rise to full effect."""
    hold: float = np.inf
    """Duration at full effect."""
    fall: float = 0.6
    """Duration of the fall to no effect."""

    def __post_init__(self) -> None:
        """Validate the fields; raise `IKError` naming the rule that is broken."""
        if not (self.rise > 0.0 and self.fall > 0.0 and self.hold >= 0.0):
            raise IKError("rise and fall must be positive, hold at least 0")
        if not np.isfinite(self.begin):
            raise IKError(f"begin must be finite, got {self.begin}")

    def at(self, time: float) -> float:
        """Weight of the action at `time`, 0 to 1."""
        past = time - self.begin
        up = float(min_jerk(past / self.rise))
        left = past - self.rise - self.hold
        return up if left <= 0.0 else up * (1.0 - float(min_jerk(left / self.fall)))

    @property
    def end(self) -> float:
        """Time at which the weight is 0 again."""
        return self.begin + self.rise + self.hold + self.fall


def act(
    actions: Sequence[IKAction], goals: EffectorGoals, time: float
) -> EffectorGoals:
    """Apply all actions at `time`: by stage, then in the given order."""
    for action in sorted(actions, key=lambda action: action.stage):
        goals = action.lead(goals, time)
    return goals


def acting(actions: Sequence[IKAction], begin: float = 0.0) -> Provider:
    """Return a provider for an IK layer; the actions' time starts at `begin`."""
    kept = tuple(actions)

    def provide(tick: Tick) -> EffectorGoals:
        if tick.goals is None:
            raise IKError("actions need a layer of IK")
        return act(kept, tick.goals, tick.time - begin)

    return provide


def facing(goals: EffectorGoals, rest: Floats) -> Floats:
    """Horizontal unit vector in which the hips face. Shape (B, 3).

    Args:
        goals: Of B characters.
        rest: World orientation of the hips at rest, wxyz.
    """
    back = rest * np.array([1.0, -1.0, -1.0, -1.0])
    turn = quat_multiply(goals.rotation("Hips"), back)
    forward = quat_rotate(turn, np.array([1.0, 0.0, 0.0]))
    forward = forward * np.array([1.0, 1.0, 0.0])
    length = np.linalg.norm(forward, axis=-1, keepdims=True)
    result: Floats = np.where(
        length > 1e-6, forward / np.maximum(length, 1e-6), [1.0, 0.0, 0.0]
    )
    return result


def move_body(goals: EffectorGoals, shift: Floats, tilt: Floats) -> EffectorGoals:
    """Move the hips by `shift` (B, 3) and tilt the upper body about them by `tilt` (B, 3).

    `tilt` is a rotation vector, [rad]. Hips and head become goals. The hands move along,
    without becoming goals, as starting points of other actions. Nothing is stretched: what
    was reachable stays reachable.
    """
    turn = quat_from_rotvec(tilt)
    hips = goals.position("Hips")
    for name in UPPER:
        counts = name == "Head"
        moved = hips + shift + quat_rotate(turn, goals.position(name) - hips)
        goals = _put(goals, name, moved, counts)
    turned = quat_multiply(turn, goals.rotation("Hips"))
    return goals.place("Hips", hips + shift).turn("Hips", turned)


def _put(
    goals: EffectorGoals, name: str, position: Floats, counts: bool
) -> EffectorGoals:
    placed = goals.place(name, position)
    if counts:
        return placed
    return EffectorGoals(placed.positions, placed.rotations, goals.moved, goals.turned)


Point = ArrayLike | Callable[[float], ArrayLike]
"""World position (3,) or (B, 3), [m], or a function of time that returns it."""


def point_at(point: Point, time: float) -> Floats:
    """Return `point` at `time`, [s]. Shape (3,) or (B, 3)."""
    return np.asarray(point(time) if callable(point) else point, dtype=np.float64)


def turn_towards(
    goals: EffectorGoals, name: str, rotation: ArrayLike, weight: float | Floats
) -> EffectorGoals:
    """Rotate a target's goal towards `rotation`, by a fraction of the shorter arc.

    Args:
        goals: Of B characters.
        name: The target.
        rotation: World orientation (4,) or (B, 4), wxyz.
        weight: Fraction, of all or of each character (B,).
    """
    here = goals.rotation(name)
    full = np.broadcast_to(np.asarray(rotation, np.float64), here.shape)
    parts = np.broadcast_to(np.asarray(weight, np.float64), (len(goals),))
    return goals.turn(name, quat_slerp(here, full, parts))


Ground = Callable[[Floats], tuple[float, Floats]]
"""Height [m] and unit normal (3,) of the ground at a position (3,)."""


def level_ground(place: Floats) -> tuple[float, Floats]:
    """Return height and normal of level ground at height 0."""
    return 0.0, UP
