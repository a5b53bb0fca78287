"""The action of the head: LookAt."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import IKError
from ambulo.ik.actions.action import (
    GAZE,
    UP,
    Point,
    Timing,
    facing,
    point_at,
    turn_towards,
)
from ambulo.ik.layers.goals import EffectorGoals
from ambulo.ik.rig import TARGETS, Rig
from ambulo.motion.rotations import (
    quat_between,
    quat_from_rotvec,
    quat_from_yaw,
    quat_multiply,
    quat_rotate,
    quat_to_rotvec,
)

HIPS, HEAD = TARGETS.index("Hips"), TARGETS.index("Head")


@dataclass(frozen=True, eq=False)
class LookAt:
    """Turn the upright head to a point, within the range of the neck."""

    rig: Rig
    """The rig."""
    point: Point
    """Point to look at."""
    limit: float = np.deg2rad(75.0)
    """Largest angle from the hips' heading, [rad]."""
    timing: Timing = field(default_factory=Timing)
    """Time profile."""
    stage: int = GAZE

    def __post_init__(self) -> None:
        """Validate the fields; raise `IKError` naming the rule that is broken."""
        if not self.limit >= 0.0:
            raise IKError(f"LookAt: limit must be at least 0, got {self.limit}")
        if not callable(self.point) and not np.isfinite(self.point).all():
            raise IKError(f"LookAt: point must be finite, got {self.point}")

    def direction(self, goals: EffectorGoals, time: float) -> Floats:
        """Unit target direction of the head. Shape (B, 3)."""
        way = point_at(self.point, time) - goals.position("Head")
        length = np.linalg.norm(way, axis=-1, keepdims=True)
        ahead = facing(goals, self.rig.target_rest[HIPS])
        way = np.where(length > 1e-6, way / np.maximum(length, 1e-6), ahead)
        turn = quat_to_rotvec(quat_between(ahead, way))
        angle = np.linalg.norm(turn, axis=-1, keepdims=True)
        part = np.minimum(1.0, self.limit / np.maximum(angle, 1e-9))
        result: Floats = quat_rotate(quat_from_rotvec(turn * part), ahead)
        return result

    def lead(self, goals: EffectorGoals, time: float) -> EffectorGoals:
        """Rotate the head; its position does not change."""
        share = self.timing.at(time)
        if share == 0.0:
            return goals
        way = self.direction(goals, time)
        # Rotate about Z, then about the head's own left axis: so the head never rolls.
        yaw = quat_from_yaw(np.arctan2(way[:, 1], way[:, 0]))
        ahead = quat_rotate(yaw, np.array([1.0, 0.0, 0.0]))
        raised = -np.arcsin(np.clip(way[:, 2], -1.0, 1.0))[:, None]
        pitch = quat_from_rotvec(raised * np.cross(UP, ahead))
        target = quat_multiply(
            quat_multiply(pitch, yaw), self.rig.target_rest[HEAD][None]
        )
        return turn_towards(goals, "Head", target, share)
