"""What an action is, how actions compose, and the paths in time that they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.configs.errors import IKError
from ambulo.ik.layers.goals import EffectorGoals
from ambulo.ik.layers.layer import Provider, Tick
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply, quat_rotate

Floats = NDArray[np.float64]

BODY, FEET, HANDS, GAZE = 0, 1, 2, 3
"""Stages: actions that move the whole body come before those that start from there."""

UPPER = ("LeftHand", "RightHand", "Head")
"""What goes along when the trunk moves."""

UP = np.array([0.0, 0.0, 1.0])


class IKAction(Protocol):
    """Leads goals: given those of the animation and of earlier actions, its own."""

    @property
    def stage(self) -> int:
        """When it comes among others: BODY, FEET, HANDS or GAZE."""

    def lead(self, goals: EffectorGoals, time: float) -> EffectorGoals:
        """The goals at `time`, [s]; unchanged before it begins and when it is over."""


def min_jerk(share: ArrayLike) -> Floats:
    """The part of the way done at a part of the time, 0 to 1, both.

    10 u^3 - 15 u^4 + 6 u^5, as hands move: T. Flash and N. Hogan, "The coordination of
    arm movements", J. Neuroscience 5, 1985.
    """
    u = np.clip(np.asarray(share, dtype=np.float64), 0.0, 1.0)
    path: Floats = u**3 * (10.0 - 15.0 * u + 6.0 * u * u)
    return path


@dataclass(frozen=True)
class Timing:
    """When an action begins, and how it comes and goes; [s]."""

    begin: float = 0.0
    """When it starts."""
    rise: float = 0.6
    """Until it is fully there."""
    hold: float = np.inf
    """How long it stays."""
    fall: float = 0.6
    """Until it is gone again."""

    def __post_init__(self) -> None:
        """Check; `IKError` names the rule."""
        if not (self.rise > 0.0 and self.fall > 0.0 and self.hold >= 0.0):
            raise IKError("rise and fall must be positive, hold at least 0")
        if not np.isfinite(self.begin):
            raise IKError(f"begin must be finite, got {self.begin}")

    def at(self, time: float) -> float:
        """How much of the action is there at `time`, 0 to 1."""
        past = time - self.begin
        up = float(min_jerk(past / self.rise))
        left = past - self.rise - self.hold
        return up if left <= 0.0 else up * (1.0 - float(min_jerk(left / self.fall)))

    @property
    def end(self) -> float:
        """When nothing is left of it."""
        return self.begin + self.rise + self.hold + self.fall


def act(
    actions: Sequence[IKAction], goals: EffectorGoals, time: float
) -> EffectorGoals:
    """All actions together at `time`: by stage, then in the given order."""
    for action in sorted(actions, key=lambda action: action.stage):
        goals = action.lead(goals, time)
    return goals


def acting(actions: Sequence[IKAction], begin: float = 0.0) -> Provider:
    """A provider for a layer of IK; the actions' time starts at `begin`."""
    kept = tuple(actions)

    def provide(tick: Tick) -> EffectorGoals:
        if tick.goals is None:
            raise IKError("actions need a layer of IK")
        return act(kept, tick.goals, tick.time - begin)

    return provide


def facing(goals: EffectorGoals, rest: Floats) -> Floats:
    """Where the hips face: level, unit. Shape (B, 3).

    Args:
        goals: Of B characters.
        rest: World orientation of the hips at rest, wxyz.
    """
    back = rest * np.array([1.0, -1.0, -1.0, -1.0])
    turn = quat_multiply(goals.rotation("Hips"), back)
    forward = quat_rotate(turn, np.array([1.0, 0.0, 0.0]))
    forward = forward * np.array([1.0, 1.0, 0.0])
    length = np.linalg.norm(forward, axis=-1, keepdims=True)
    found: Floats = np.where(
        length > 1e-6, forward / np.maximum(length, 1e-6), [1.0, 0.0, 0.0]
    )
    return found


def move_body(goals: EffectorGoals, shift: Floats, tilt: Floats) -> EffectorGoals:
    """Hips moved by `shift` (B, 3), all above them turned about them by `tilt` (B, 3).

    `tilt` is a rotation vector, [rad]. Hips and head count afterwards; the hands only go
    along, as places where other actions start. Nothing is stretched: what could be
    reached before, can be after.
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


Ground = Callable[[Floats], tuple[float, Floats]]
"""Height [m] and unit normal (3,) of the ground at a place (3,)."""


def level_ground(place: Floats) -> tuple[float, Floats]:
    """Level ground at height 0."""
    return 0.0, UP
