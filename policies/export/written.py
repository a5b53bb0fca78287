"""What an export has written; nothing in here needs torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Written:
    """The files of an export, and what the user must know about them."""

    files: tuple[Path, ...]
    """New files; the main one first."""
    left_out: tuple[str, ...] = ()
    """What the original does besides, which the files do not; one line each."""
