"""Settings of the task `walk_commands`: commands and obstacles."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from ambulo.configs.base import Config
from ambulo.configs.types import Fraction, NonNegative, Positive

SPEED, TURN, SIDE = (-0.2, 1.6), (-120.0, 120.0), (-0.3, 0.3)
"""The envelope of a walker's commands: speed ahead, [m/s], turning rate, [deg/s], and speed to
the left, [m/s]."""
CENTRIPETAL = 0.84
"""Largest lateral acceleration, speed times turning rate, [m/s^2]: 30 deg/s at 1.6 m/s, 120
deg/s up to 0.4 m/s."""

SIDE_SPEEDS, SIDE_PARTS = (0.8, 1.6), (1.0, 1.0 / 3.0)
"""Up to the first speed, [m/s], all of `SIDE` is available, at the second a third, linear
between: bodies that step aside at 1.5 m/s and turn left and right fall within seconds."""


def check_range(
    name: str, span: tuple[float, float], limit: tuple[float, float]
) -> None:
    """Raise `ValueError` for an empty range of commands, or one outside `limit`."""
    low, high = span
    if low > high:
        raise ValueError(f"{name} must be [min, max] with min <= max")
    if low < limit[0] or high > limit[1]:
        raise ValueError(
            f"{name} = [{low:g}, {high:g}]: the walker takes on {limit[0]:g} to {limit[1]:g}"
        )


class WalkCommandsConfig(Config):
    """Commands, obstacles and reflexes of `walk_commands`."""

    side: tuple[float, float] = SIDE
    """Range of drawn speeds to the left, [m/s]."""
    stand_start: Fraction = 0.25
    """Fraction of episodes that begin in standing, whatever the command."""
    stand_share: Fraction = 0.2
    """Fraction of drawn commands that mean standing."""
    spot_share: Fraction = 0.15
    """Fraction of drawn commands that turn or step to the side on the spot."""
    aside_share: Fraction = 0.3
    """Fraction of the other commands with a sideways speed."""
    straight_share: Fraction = 0.3
    """Fraction of the other commands without turning."""
    obstacles: Fraction = 0.0
    """Fraction of scenes with walls, pillars and moving obstacles; for training. 0 also leaves
    the boxes out of the model."""
    scene_interval: tuple[Positive, Positive] = (2.0, 6.0)
    """Range of the time between such scenes, [s]."""
    moving_share: Fraction = 0.3
    """Fraction of these in which one obstacle moves towards the body."""
    moving_speed: tuple[NonNegative, NonNegative] = (0.2, 0.8)
    """Range of its speed, [m/s]."""
    reflex: bool = True
    """Slow down and turn away on contact with an obstacle."""
    trip: bool = True
    """Step at once when pushed while standing; a standing body yields to a steady force."""
    touch_cost: NonNegative = 0.002
    """Cost of a contact force, [1/N]."""
    touch_threshold: Positive = 8.0
    """Smallest low-passed force that counts as a contact, [N]."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_range("side", self.side, SIDE)
        for name in ("scene_interval", "moving_speed"):
            low, high = getattr(self, name)
            if low > high:
                raise ValueError(f"{name} must be [min, max] with min <= max")
        return self
