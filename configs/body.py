"""A prepared body of a user's: what travels with settings and models instead of its file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ambulo.configs.base import Config
from ambulo.configs.muscle import SpdGains

MAX_XML = 2**20
"""Longest XML of a body, characters."""


class BodyRecord(Config):
    """A body made ready for the suite (`envs.characters.own`); also a file, `*.body.json`."""

    format: Literal["ambulo-body"] = "ambulo-body"
    """Names this format."""
    version: Literal[1] = 1
    """Of the format."""
    name: str
    """Name of the body: that of its file, and the beginning of `digest`."""
    source: str
    """What it was made of, as `character` gave it."""
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """SHA-256 of the file that it was made of, and of the settings beside it."""
    xml: Annotated[str, Field(max_length=MAX_XML)]
    """The model as MJCF in the suite's conventions, without other files."""
    roles: dict[str, str]
    """The joint of each role."""
    chains: dict[str, tuple[str, ...]]
    """The joints that turn the part of each role."""
    gains: SpdGains
    """Gains of stable PD."""
    standing: tuple[float, ...]
    """MuJoCo's positions of the standing pose."""
    notes: tuple[str, ...] = ()
    """What is doubtful or was changed; for people."""

    def __hash__(self) -> int:
        """Of what identifies it."""
        return hash((self.name, self.digest, self.source))
