"""Actions of the whole body: Lean and Crouch. The feet stay where they are."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import IKError
from ambulo.ik.actions.action import BODY, UP, Timing, facing, move_body
from ambulo.ik.layers.goals import EffectorGoals
from ambulo.ik.rig import TARGETS, Rig
from ambulo.ik.solver.targets import row_of
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply

HIPS = TARGETS.index("Hips")
FOLDED = 0.4
"""Shortest length of a folded leg, as a fraction of its length; it limits a crouch."""


@dataclass(frozen=True, eq=False)
class Lean:
    """The body above the hips leans over."""

    rig: Rig
    """The rig."""
    angle: float
    """Angle of the lean, [rad]."""
    direction: float = 0.0
    """Direction relative to the hips' heading: 0 ahead, pi/2 to the left, [rad]."""
    timing: Timing = field(default_factory=Timing)
    """Time profile."""
    stage: int = BODY

    def lead(self, goals: EffectorGoals, time: float) -> EffectorGoals:
        """Rotate head and hands about the hips; the head turns with the trunk."""
        share = self.timing.at(time)
        if share == 0.0:
            return goals
        ahead = facing(goals, self.rig.target_rest[HIPS])
        left = np.cross(UP, ahead)
        way = np.cos(self.direction) * ahead + np.sin(self.direction) * left
        tilt = share * self.angle * np.cross(UP, way)
        head = quat_multiply(quat_from_rotvec(tilt), goals.rotation("Head"))
        moved = move_body(goals, self._drop(share) * np.ones_like(tilt), tilt)
        return moved.turn("Head", head)

    def _drop(self, share: float) -> Floats:
        """Downward shift (3,) of tilted hips that keeps both legs long enough, [m]."""
        aside = share * self.angle * np.sin(self.direction)
        thigh = self.rig.bases[row_of("LeftFoot")]
        width = abs(float(self.rig.skeleton.offsets[thigh, 0]))
        drop: Floats = -width * abs(np.sin(aside)) * UP
        return drop


@dataclass(frozen=True, eq=False)
class Crouch:
    """The hips move down and slightly back; the head keeps its orientation.

    The trunk leans by as much as keeps the head over the feet.
    """

    rig: Rig
    """The rig."""
    depth: float
    """Downward movement of the hips, [m], limited by fully folded legs."""
    back: float = 0.3
    """Backward movement per metre down."""
    timing: Timing = field(default_factory=Timing)
    """Time profile."""
    stage: int = BODY

    def __post_init__(self) -> None:
        """Validate the fields; raise `IKError` naming the rule that is broken."""
        if not (np.isfinite(self.depth) and np.isfinite(self.back)):
            raise IKError("Crouch: depth and back must be finite")

    def lead(self, goals: EffectorGoals, time: float) -> EffectorGoals:
        """Move hips and head, keep the feet."""
        share = self.timing.at(time)
        if share == 0.0:
            return goals
        ahead = facing(goals, self.rig.target_rest[HIPS])
        down = np.minimum(share * self.depth, self._room(goals))[:, None]
        shift = -down * UP - self.back * down * ahead
        trunk = goals.position("Head") - goals.position("Hips")
        height = np.linalg.norm(trunk, axis=-1, keepdims=True)
        angle = np.arcsin(np.clip(self.back * down / height, 0.0, 0.9))
        head = goals.rotation("Head")
        for foot in ("LeftFoot", "RightFoot"):
            goals = goals.place(foot, goals.position(foot))
            goals = goals.turn(foot, goals.rotation(foot))
        return move_body(goals, shift, angle * np.cross(UP, ahead)).turn("Head", head)

    def _room(self, goals: EffectorGoals) -> Floats:
        """Available downward movement of the hips over the higher foot, [m]. Shape (B,)."""
        feet = ("LeftFoot", "RightFoot")
        floor = np.max([goals.position(foot)[:, 2] for foot in feet], axis=0)
        folded = FOLDED * float(self.rig.reaches[row_of("LeftFoot")])
        room: Floats = np.maximum(0.0, goals.position("Hips")[:, 2] - floor - folded)
        return room
