"""Bounded number types of configurations, one for each bound."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Count = Annotated[int, Field(ge=1, le=10**12)]
"""A positive count; products of two fit into 64 bits and a float."""
Width = Annotated[int, Field(ge=1, le=4096)]
"""Units of a layer; bounded, so that a file cannot request any amount of memory."""
Widths = Annotated[tuple[Width, ...], Field(min_length=1, max_length=16)]
"""Units of each hidden layer."""
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
NonPositive = Annotated[float, Field(le=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]
FractionBelowOne = Annotated[float, Field(ge=0, lt=1)]
PositiveFraction = Annotated[float, Field(gt=0, le=1)]
ProperFraction = Annotated[float, Field(gt=0, lt=1)]
Steps = Annotated[int, Field(ge=0)]
