"""Actions of the feet: Step and FootPlant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ambulo.configs.errors import IKError
from ambulo.ik.actions.action import (
    FEET,
    UP,
    UPPER,
    Ground,
    facing,
    level_ground,
    min_jerk,
    turn_towards,
)
from ambulo.ik.layers.goals import EffectorGoals
from ambulo.ik.rig import TARGETS, Rig
from ambulo.motion.rotations import quat_between, quat_from_rotvec, quat_multiply

Foot = Literal["LeftFoot", "RightFoot"]

HIPS = TARGETS.index("Hips")


@dataclass(frozen=True, eq=False)
class Step:
    """A foot swings to a new position and stands there; the body follows half-way.

    Steps compose to a walk: the next one of the same foot starts where this one ended.
    """

    rig: Rig
    """The rig."""
    foot: Foot
    """The foot."""
    place: ArrayLike
    """Target position of the ankle, world (3,), [m]."""
    turn: float = 0.0
    """Rotation of the foot about Z during the step, [rad]."""
    clearance: float = 0.08
    """How far above the straight line the ankle passes half-way, [m]."""
    pitch: float = np.deg2rad(20.0)
    """Largest pitch of the foot, [rad]: toes down after lift-off, up before touch-down."""
    share: float = 0.5
    """Fraction of the foot's horizontal displacement by which hips and head move."""
    begin: float = 0.0
    """Start time, [s]."""
    seconds: float = 0.6
    """Duration, [s]."""
    stage: int = FEET

    def __post_init__(self) -> None:
        """Validate the fields; raise `IKError` naming the rule that is broken."""
        if self.seconds <= 0.0 or not 0.0 <= self.share <= 1.0:
            raise IKError("a step takes more than 0 s, and share is 0 to 1")

    def lead(self, goals: EffectorGoals, time: float) -> EffectorGoals:
        """Move the foot along its path; afterwards it stays exactly at its target."""
        u = (time - self.begin) / self.seconds
        if u <= 0.0:
            return goals
        place = np.asarray(self.place, dtype=np.float64)
        here, rotation = goals.position(self.foot), goals.rotation(self.foot)
        way = place - here
        done = float(min_jerk(u))
        if u >= 1.0:
            spot = np.broadcast_to(place, here.shape)
            swing = np.zeros_like(here)
        else:
            bump = 16.0 * self.clearance * done**2 * (1.0 - done) ** 2
            spot = here + done * way + bump * UP
            left = np.cross(UP, facing(goals, self.rig.target_rest[HIPS]))
            swing = self.pitch * np.sin(2.0 * np.pi * done) * left
        flat = quat_from_rotvec(done * self.turn * UP)
        rolled = quat_multiply(quat_from_rotvec(swing), quat_multiply(flat, rotation))
        along = self.share * done * way * np.array([1.0, 1.0, 0.0])
        goals = goals.place("Hips", goals.position("Hips") + along)
        moved, turned = goals.moved, goals.turned
        for name in UPPER:
            goals = goals.place(name, goals.position(name) + along)
        # Head and hands move along; their weights do not change.
        goals = EffectorGoals(goals.positions, goals.rotations, moved, turned)
        return goals.place(self.foot, spot).turn(self.foot, rolled)


@dataclass(frozen=True, eq=False)
class FootPlant:
    """A foot stays on its spot, flat on the ground, whatever the animation does.

    The foot is released smoothly where the animation moves it too far away.
    """

    foot: Foot
    """The foot."""
    place: ArrayLike
    """Fixed position of the ankle, world (3,), [m]."""
    rotation: ArrayLike
    """World orientation on level ground, wxyz."""
    ankle: float = 0.0
    """Height of the ankle over the ground, [m]; 0 uses `place` unchanged."""
    ground: Ground = level_ground
    """The ground."""
    begin: float = 0.0
    """Start time, [s]."""
    end: float = np.inf
    """End time, [s]."""
    fade: float = 0.15
    """Duration of fading in and of fading out, [s]."""
    slack: float = 0.3
    """Distance of the animation's foot at which the foot is fully released, [m]; release
    starts at half of it."""
    stage: int = FEET

    @classmethod
    def of(
        cls,
        goals: EffectorGoals,
        foot: Foot,
        *,
        begin: float = 0.0,
        end: float = np.inf,
        ankle: float = 0.0,
        ground: Ground = level_ground,
    ) -> FootPlant:
        """Return a plant of the first character's foot where `goals` have it."""
        return cls(
            foot,
            goals.position(foot)[0].copy(),
            goals.rotation(foot)[0].copy(),
            ankle,
            ground,
            begin,
            end,
        )

    def lead(self, goals: EffectorGoals, time: float) -> EffectorGoals:
        """Move the foot to its fixed position, by the current weight."""
        if not self.begin <= time <= self.end + self.fade:
            return goals
        place = np.asarray(self.place, dtype=np.float64)
        height, normal = self.ground(place)
        if self.ankle > 0.0:
            place = np.array([place[0], place[1], height]) + self.ankle * normal
        rotation = quat_multiply(
            quat_between(UP, normal), np.asarray(self.rotation, dtype=np.float64)
        )
        here = goals.position(self.foot)
        away = np.linalg.norm(here - place, axis=-1)
        hold = 1.0 - min_jerk((away - self.slack) / (0.5 * self.slack))
        hold = hold * float(min_jerk((time - self.begin) / self.fade))
        hold = hold * (1.0 - float(min_jerk((time - self.end) / self.fade)))
        spot = here + hold[:, None] * (place - here)
        spot = np.where(hold[:, None] >= 1.0, place, spot)
        # The leg absorbs the error: a planted foot must not move the hips.
        goals = goals.place("Hips", goals.position("Hips"))
        goals = goals.turn("Hips", goals.rotation("Hips"))
        return turn_towards(goals.place(self.foot, spot), self.foot, rotation, hold)
