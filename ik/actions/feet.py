"""Actions of the feet: Step and FootPlant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.configs.errors import IKError
from ambulo.ik.actions.action import (
    FEET,
    UP,
    UPPER,
    Ground,
    facing,
    level_ground,
    min_jerk,
)
from ambulo.ik.layers.goals import EffectorGoals
from ambulo.ik.rig import TARGETS, Rig
from ambulo.motion.rotations import (
    quat_between,
    quat_from_rotvec,
    quat_multiply,
    quat_slerp,
)

Floats = NDArray[np.float64]
Foot = Literal["LeftFoot", "RightFoot"]

HIPS = TARGETS.index("Hips")


@dataclass(frozen=True, eq=False)
class Step:
    """A foot swings to another place and stands there; the body comes half-way along.

    Steps compose to a walk: the next one of the same foot starts where this one ended.
    """

    rig: Rig
    """The rig."""
    foot: Foot
    """Which."""
    place: ArrayLike
    """Where the ankle shall be, world (3,), [m]."""
    turn: float = 0.0
    """How far the foot turns about Z meanwhile, [rad]."""
    clearance: float = 0.08
    """How far above the straight way the ankle passes half-way, [m]."""
    pitch: float = np.deg2rad(20.0)
    """Toes down after leaving the ground, up before meeting it, at most, [rad]."""
    share: float = 0.5
    """Part of the foot's level way that hips and head go along."""
    begin: float = 0.0
    """When it starts, [s]."""
    seconds: float = 0.6
    """How long it takes, [s]."""
    stage: int = FEET

    def __post_init__(self) -> None:
        """Check; `IKError` names the rule."""
        if self.seconds <= 0.0 or not 0.0 <= self.share <= 1.0:
            raise IKError("a step takes more than 0 s, and share is 0 to 1")

    def lead(self, goals: EffectorGoals, time: float) -> EffectorGoals:
        """The foot on its way; on its place from then on, to the last bit."""
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
        # Head and hands only go along: they stay as free as they were.
        goals = EffectorGoals(goals.positions, goals.rotations, moved, turned)
        return goals.place(self.foot, spot).turn(self.foot, rolled)


@dataclass(frozen=True, eq=False)
class FootPlant:
    """A foot stays on its spot, flat on the ground, whatever the animation does.

    It lets go smoothly where the animation takes the foot too far away.
    """

    foot: Foot
    """Which."""
    place: ArrayLike
    """Where the ankle stays, world (3,), [m]."""
    rotation: ArrayLike
    """World orientation on level ground, wxyz."""
    ankle: float = 0.0
    """Height of the ankle over the ground, [m]; 0: `place` is taken as it is."""
    ground: Ground = level_ground
    """The ground there."""
    begin: float = 0.0
    """From when on, [s]."""
    end: float = np.inf
    """Until when, [s]."""
    fade: float = 0.15
    """Until it holds fully, and until it has let go, [s]."""
    slack: float = 0.3
    """How far the animation's foot may be away, [m]; it is let go within half of that."""
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
        """The foot of the first character kept where `goals` have it."""
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
        """The foot on its spot, as much as it holds."""
        if not self.begin <= time <= self.end + self.fade:
            return goals
        place = np.asarray(self.place, dtype=np.float64)
        height, normal = self.ground(place)
        if self.ankle > 0.0:
            place = np.array([place[0], place[1], height]) + self.ankle * normal
        rotation = quat_multiply(
            quat_between(UP, normal), np.asarray(self.rotation, dtype=np.float64)
        )
        here, turn = goals.position(self.foot), goals.rotation(self.foot)
        away = np.linalg.norm(here - place, axis=-1)
        hold = 1.0 - min_jerk((away - self.slack) / (0.5 * self.slack))
        hold = hold * float(min_jerk((time - self.begin) / self.fade))
        hold = hold * (1.0 - float(min_jerk((time - self.end) / self.fade)))
        spot = here + hold[:, None] * (place - here)
        full = np.broadcast_to(rotation, turn.shape)
        spot = np.where(hold[:, None] >= 1.0, place, spot)
        # The leg gives way, not the body: a planted foot must not drag the hips along.
        goals = goals.place("Hips", goals.position("Hips"))
        goals = goals.turn("Hips", goals.rotation("Hips"))
        return goals.place(self.foot, spot).turn(
            self.foot, quat_slerp(turn, full, hold)
        )
