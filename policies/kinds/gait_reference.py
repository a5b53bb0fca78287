"""References: the gait that a body follows and its balance controller; not learned.

Reference files belong to the environments; they are listed here because one is shipped.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ambulo.configs.base import Config
from ambulo.policies.files.spec import ModelSpec


class GaitRow(Config):
    """One gait of a reference."""

    period: float
    """Duration of a cycle, [s]."""
    report: dict[str, float]
    """How well physics agrees with the gait."""
    dofs: tuple[int, ...] | None
    """Joint axes of the balance controller; None without one."""


class ReferenceHeader(Config):
    """The JSON header of a reference file."""

    format: Literal["ambulo-reference"] = "ambulo-reference"
    """Names this format."""
    version: Literal[1] = 1
    """Version of the format."""
    name: str
    """Source, for example the name of a clip."""
    character: str
    """The body that it is made for."""
    control_dt: Annotated[float, Field(gt=0.0)]
    """Duration of a control step, [s]."""
    gaits: Annotated[tuple[GaitRow, ...], Field(min_length=1)]
    """One or more, of ascending speed."""


def _headline(header: ReferenceHeader) -> str:
    count = len(header.gaits)
    return f"{header.name} on {header.character}, {count} gait{'s' * (count > 1)}"


SPEC = ModelSpec(
    kind="gait_reference",
    summary="gait to follow, with its balance controller (not learned)",
    header=ReferenceHeader,
    loader="ambulo.envs.reference.reference:load_reference",
    headline=_headline,
    formats=("ambulo-reference",),
)
