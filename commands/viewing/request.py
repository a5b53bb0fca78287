"""What a user asked `ambulo play` to show."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PlayRequest:
    """Settings of a stage; a stage ignores those of others."""

    bodies: int = 1
    """Bodies side by side."""
    seed: int = 0
    """Of starts, commands and levels."""
    clips: tuple[str, ...] = ()
    """Motion files that a tracker follows."""
    recording: str | None = None
    """Recording of headset and controllers for a body tracker."""
    levels: tuple[str, ...] = ()
    """Level families or sets of a navigator."""
    level_file: str | None = None
    """Level file, or a folder of them."""
