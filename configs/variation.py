"""Variation of bodies, ground and control: the domain randomisation of locomotion."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from ambulo.configs.base import Config
from ambulo.configs.types import Count, Positive

Latency = Annotated[float, Field(ge=0, le=0.5)]
"""A delay, [s]."""
_RANGES = ("friction", "mass", "segment_mass", "delay")


class VariationConfig(Config):
    """Ranges of domain randomisation; the defaults vary nothing.

    Bodies that are stepped together share one model: `variants` models are drawn, and the
    simulated bodies are divided among them.
    """

    variants: Count = 8
    """Number of different bodies, where a range below varies them."""
    friction: tuple[Positive, Positive] | None = None
    """Range of the sliding friction of every contact; null: that of the body's model."""
    mass: tuple[Positive, Positive] = (1.0, 1.0)
    """Range of the factor on all masses and inertias."""
    segment_mass: tuple[Positive, Positive] = (1.0, 1.0)
    """Range of a factor on the mass and inertia of each segment, on top of `mass`."""
    delay: tuple[Latency, Latency] = (0.0, 0.0)
    """Range of the time from an action to its effect, [s], in whole physics steps; the offsets
    of the balance controller are delayed as well."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name in _RANGES:
            span = getattr(self, name)
            if span is not None and span[0] > span[1]:
                raise ValueError(f"{name} must be [min, max] with min <= max")
        return self

    @property
    def varies(self) -> bool:
        """Whether any body differs from the nominal one."""
        nominal = VariationConfig()
        return any(getattr(self, name) != getattr(nominal, name) for name in _RANGES)
