"""A user's prepared body: travels with settings and models instead of the file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ambulo.configs.base import Config
from ambulo.configs.muscle import SpdGains
from ambulo.configs.types import Fraction

MAX_XML = 2**20
"""Largest XML of a body, [characters]."""


class BodyRecord(Config):
    """A user's body, prepared by `envs.characters.own`; also a file, `*.body.json`."""

    format: Literal["ambulo-body"] = "ambulo-body"
    """Identifies the file format."""
    version: Literal[1] = 1
    """Version of the format."""
    name: str
    """Name of the body: that of its file, and the beginning of `digest`."""
    source: str
    """Its source, as given by `character`."""
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """SHA-256 of the source file and of the settings beside it."""
    xml: Annotated[str, Field(max_length=MAX_XML)]
    """The model as MJCF in the suite's conventions, without other files."""
    roles: dict[str, str]
    """The joint of each role."""
    chains: dict[str, tuple[str, ...]]
    """The joints that turn the part of each role."""
    gains: SpdGains
    """Gains of stable PD."""
    standing: tuple[float, ...]
    """Positions `qpos` of the standing pose."""
    confidence: Fraction = 1.0
    """Score in [0, 1] of how well shape and names fit a humanoid; 1 where the roles are
    given."""
    ahead: tuple[float, float, float] = (1.0, 0.0, 0.0)
    """Its forward direction in the axes of the source, a unit vector."""
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)
    """Up in the same axes."""
    notes: tuple[str, ...] = ()
    """Doubts and changes, as notes to the user."""

    @property
    def has_muscles(self) -> bool:
        """Whether it has muscles beside its motors."""
        return "<tendon" in self.xml

    def __hash__(self) -> int:
        """Hash of the identifying fields."""
        return hash((self.name, self.digest, self.source))
