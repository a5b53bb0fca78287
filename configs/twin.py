"""Twins: fast surrogate models of walkers, as data. One JSON file each, in `configs/twins/`."""

from __future__ import annotations

import os
from importlib.resources import files
from typing import Annotated, Self

from pydantic import Field, model_validator

from ambulo.configs.base import Config, load_json
from ambulo.configs.errors import ConfigError, nearest
from ambulo.configs.reading import json_names
from ambulo.configs.types import NonNegative, Positive

Span = tuple[float, float]


class Envelope(Config):
    """Range of the commands of a walker."""

    speed: Span
    """Ahead, [m/s]."""
    side: Span = (0.0, 0.0)
    """To the left, [m/s]."""
    turn: Span
    """Turning rate, left positive, [deg/s]."""
    lateral: Positive | None = None
    """Largest product of speed and turning rate, [m/s^2]; null: any."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name in ("speed", "side", "turn"):
            low, high = getattr(self, name)
            if low > high:
                raise ValueError(f"{name} must be [min, max] with min <= max")
        return self

    def nearest_speed(self, speed: float) -> float:
        """The speed of the envelope that is nearest to `speed`, [m/s]."""
        return min(max(speed, self.speed[0]), self.speed[1])


class Response(Config):
    """Response of the motion to one command (speed, sideways speed, turning rate).

    The motion v follows the command c after a delay: v' = (gain c + offset - v) / lag, limited
    to `change`.
    """

    gain: float = 1.0
    """Steady motion over command."""
    offset: float = 0.0
    """Steady motion without a command, [m/s] or [rad/s]."""
    lag: Positive
    """Time constant, [s]."""
    change: Positive
    """Fastest change, [m/s^2] or [rad/s^2]."""
    delay: NonNegative = 0.0
    """Dead time, [s]."""
    noise: NonNegative = 0.0
    """Standard deviation of the motion around that, [m/s] or [rad/s]."""


class ContactRule(Config):
    """Effect of contacts: the body slides along, and may fall.

    The rate of falls during contact is exp(still + speed * v), where v is the commanded speed
    into the obstacle, [m/s]; it also applies for `after` seconds after a contact.
    """

    still: float
    """Logarithm of the rate at v = 0, [1/s]."""
    speed: float
    """Its growth with v, [s/m]."""
    after: NonNegative = 0.0
    """Time after a contact in which it can still cause a fall, [s]."""


class TwinConfig(Config):
    """A fast surrogate of a walker: `ambulo fit-twin` fits it to roll-outs of the character."""

    walker: str
    """The walker that it approximates."""
    character: str
    """The walker's character."""
    control_rate: Annotated[int, Field(ge=5, le=200)]
    """Steps per second, [Hz]."""
    envelope: Envelope
    """Range of its commands."""
    speed: Response
    """Speed ahead."""
    side: Response
    """Speed to the left."""
    turn: Response
    """Turning rate."""
    radius: Positive
    """Radius of a disc that touches obstacles as often as the body does, [m]."""
    contact: ContactRule
    """Effect of contacts."""
    fall_rate: NonNegative = 0.0
    """Rate of falls without contact, [1/s]."""


def find_twin(name: str | os.PathLike[str]) -> TwinConfig:
    """The shipped twin `name`, or that of the JSON file `name`.

    Raises:
        ConfigError: The twin is missing or damaged.
    """
    text, known = os.fspath(name), json_names("ambulo.configs.twins")
    if text in known:
        return load_json(
            TwinConfig, str(files("ambulo.configs.twins").joinpath(f"{text}.json"))
        )
    if not text.endswith(".json"):
        raise ConfigError(
            f"twin = {text}: no twin of that name{nearest(text, known)}; fit one with "
            f"`ambulo fit-twin {text}`"
        )
    return load_json(TwinConfig, text)
