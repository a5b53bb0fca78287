"""Settings of the actions of VR navigation agents."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ambulo.configs.base import Config
from ambulo.configs.types import Fraction, FractionBelowOne, Positive

Degrees = Annotated[float, Field(ge=0, le=180)]
Delay = Annotated[float, Field(gt=0, le=60)]


class NavigationActionsConfig(Config):
    """Actions of the agent."""

    mode: Literal["continuous", "discrete"] = "continuous"
    """Three floats (strafe, forward, rotation), or seven discrete actions."""
    max_movement_speed: Positive = 2.0
    """[m/s] at full stick."""
    max_rotation_speed: Positive = 90.0
    """[deg/s] at full stick."""
    action_smoothing: FractionBelowOne = 0.3
    """Fraction of the old command that remains after one environment step (exponential,
    applied per tick)."""
    dead_zone: FractionBelowOne = 0.05
    """Stick values below this are zero; the rest is rescaled to start from zero."""
    max_acceleration: Positive | None = None
    """Largest acceleration by the stick, and by walking in a turn, [m/s^2]; null: no limit.
    Continuous actions only."""
    max_rotation_acceleration: Positive | None = None
    """Largest angular acceleration by the stick, [deg/s^2]; null: no limit. Continuous actions
    only."""
    facing: Degrees = 180.0
    """[deg] Largest angle between the stick and straight ahead: a stick beyond is rotated to it
    and shortened by the cosine of the rotation, so below 90 no stick walks backwards.
    Continuous actions only."""
    comfort_speed: Positive | None = None
    """[m/s] Largest speed where the comfort dial is 1; it rises to `max_movement_speed` where
    the dial is 0. Null: `max_movement_speed`. Needs `observations.comfort`."""
    turn_angle: Positive = 45.0
    """[deg] of one discrete snap turn."""
    move_distance: Positive = 1.0
    """[m] of one discrete move."""
    snap_turn: Annotated[float, Field(gt=0, le=180)] | None = None
    """[deg] by which a rotation stick beyond 0.7 turns the body at once, in place of smooth
    turning; null: smooth turning. Continuous actions of a capsule only."""
    snap_delay: Delay = 0.3
    """Shortest time between two such turns, [s]."""
    teleport: Annotated[float, Field(gt=0, le=20)] | None = None
    """[m] at full stick by which a stick beyond 0.3 moves the body at once, as far as the path
    is free and has floor, in place of walking; null: walking. Continuous actions of a capsule
    only."""
    teleport_delay: Delay = 0.5
    """Shortest time between two teleports, [s]."""
    vignette: Fraction = 0.0
    """Fraction by which the field of view is narrowed while the body moves or turns; 0: not at
    all. It affects only the comfort index, and pictures in Godot."""

    follow_plan: bool = False
    """Follow the plan wherever it does not walk on (it rides or awaits a lift, or gives way to
    a moving obstacle) and where the stick is at rest. The stick still turns. Continuous walking
    with `observations.memory` = navigator only."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name in ("snap_turn", "teleport"):
            if self.mode == "discrete" and getattr(self, name) is not None:
                raise ValueError(f"{name}: needs mode = continuous")
        if self.follow_plan and (self.mode == "discrete" or self.teleport is not None):
            raise ValueError("follow_plan: needs mode = continuous and no teleport")
        return self
