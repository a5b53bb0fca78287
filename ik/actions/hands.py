"""Actions of the hands: Reach and Grab."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import IKError
from ambulo.ik.actions.action import (
    HANDS,
    UP,
    Point,
    Timing,
    min_jerk,
    point_at,
    turn_towards,
)
from ambulo.ik.layers.goals import EffectorGoals
from ambulo.motion.rotations import quat_multiply, quat_rotate

Hand = Literal["LeftHand", "RightHand"]

SPLIT = 0.75
"""Fraction of the reach after which the hand is in front of the object."""


@dataclass(frozen=True, eq=False)
class Reach:
    """A hand moves to a point, stays, and returns."""

    hand: Hand
    """The hand."""
    point: Point
    """Position of the wrist."""
    rotation: ArrayLike | None = None
    """World orientation (4,) or (B, 4), wxyz; None: free."""
    arc: float = 0.05
    """How far above the straight line the hand passes half-way, [m]."""
    timing: Timing = field(default_factory=Timing)
    """Time profile."""
    stage: int = HANDS

    def lead(self, goals: EffectorGoals, time: float) -> EffectorGoals:
        """Move the hand along its path, which starts where the hand is without the action."""
        share = self.timing.at(time)
        if share == 0.0:
            return goals
        here = goals.position(self.hand)
        way = point_at(self.point, time) - here
        lift = 4.0 * self.arc * share * (1.0 - share) * UP
        goals = goals.place(self.hand, here + share * way + lift)
        if self.rotation is None:
            return goals
        return turn_towards(goals, self.hand, self.rotation, share)


@dataclass(frozen=True, eq=False)
class Grab:
    """A hand grasps an object, carries it to a goal, releases it and returns.

    While the object is held, the hand's goal is exactly the object's position plus the grip
    offset.
    """

    hand: Hand
    """The hand."""
    place: ArrayLike
    """Position of the object, world (3,), [m]."""
    goal: ArrayLike
    """Target position of the object, world (3,), [m]."""
    turn: ArrayLike = (1.0, 0.0, 0.0, 0.0)
    """The object's world orientation, wxyz; it is carried upright."""
    grip: ArrayLike = (0.0, 0.0, 0.0)
    """Position of the wrist in the object's frame, [m]."""
    grip_turn: ArrayLike | None = None
    """Orientation of the hand in the object's frame, wxyz; None: free."""
    approach: ArrayLike = (-0.1, 0.0, 0.0)
    """Offset from the grip to the point where the hand approaches and leaves, [m]."""
    lift: float = 0.1
    """How far above the straight line the object passes half-way, [m]."""
    begin: float = 0.0
    """Start time, [s]."""
    reach: float = 0.8
    """Duration until the object is held, [s]."""
    carry: float = 1.0
    """Duration of carrying it to its goal, [s]."""
    leave: float = 0.8
    """Duration of the hand's return, [s]."""
    stage: int = HANDS

    def __post_init__(self) -> None:
        """Validate the fields; raise `IKError` naming the rule that is broken."""
        if min(self.reach, self.carry, self.leave) <= 0.0:
            raise IKError("reach, carry and leave must be positive")

    @property
    def held_from(self) -> float:
        """Time at which the object is grasped, [s]."""
        return self.begin + self.reach

    @property
    def held_until(self) -> float:
        """Time at which the object is released, [s]."""
        return self.held_from + self.carry

    def object_at(self, time: float) -> Floats:
        """World position of the object, [m]. Shape (3,)."""
        start = np.asarray(self.place, dtype=np.float64)
        share = float(min_jerk((time - self.held_from) / self.carry))
        way = np.asarray(self.goal, dtype=np.float64) - start
        result: Floats = (
            start + share * way + 4.0 * self.lift * share * (1 - share) * UP
        )
        return result

    def wrist_at(self, time: float) -> Floats:
        """World position of the wrist while the object is held, [m]. Shape (3,)."""
        turn = np.asarray(self.turn, dtype=np.float64)
        grip = np.asarray(self.grip, dtype=np.float64)
        result: Floats = self.object_at(time) + quat_rotate(turn, grip)
        return result

    def lead(self, goals: EffectorGoals, time: float) -> EffectorGoals:
        """Move the hand to the object, with it, and back."""
        share, near = self._shares(time)
        if share == 0.0:
            return goals
        away = quat_rotate(
            np.asarray(self.turn, np.float64), np.asarray(self.approach, np.float64)
        )
        target = self.wrist_at(time) + (1.0 - near) * away
        here = goals.position(self.hand)
        goals = goals.place(self.hand, here + share * (target - here))
        if self.grip_turn is None:
            return goals
        turn = quat_multiply(
            np.asarray(self.turn, np.float64), np.asarray(self.grip_turn, np.float64)
        )
        return turn_towards(goals, self.hand, turn, share)

    def _shares(self, time: float) -> tuple[float, float]:
        """Weight of the hand's goal, and progress from approach to grip, both 0 to 1.

        Both paths end at rest, and the second begins only when the hand is nearly in front
        of the object: so it moves along `approach`, not through the object.
        """
        if time < self.held_from:
            u = (time - self.begin) / self.reach
        elif time <= self.held_until:
            u = 1.0
        else:
            u = 1.0 - (time - self.held_until) / self.leave
        near = float(min_jerk((u - 0.5 * SPLIT) / (1.0 - 0.5 * SPLIT)))
        return float(min_jerk(u / SPLIT)), near
