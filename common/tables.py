"""Tables of results in a terminal or a log file."""

from __future__ import annotations

from rich.console import Console

MIN_WIDTH = 160
"""Narrower than this, a table in a log file cannot be read, [characters]."""


def widen(console: Console) -> None:
    """Give tables room where no terminal sets the width."""
    if not console.is_terminal and console.width < MIN_WIDTH:
        console.width = MIN_WIDTH
