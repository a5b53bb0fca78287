"""Pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table."""
    return [
        _row(heads),
        "|" + "---|" * len(heads),
        *(_row([cell(text) for text in row]) for row in rows),
    ]


def cell(text: str) -> str:
    """Return text that fits into one cell."""
    return " ".join(text.split()).replace("|", "\\|")


def code_text(text: str) -> str:
    """Return a docstring's text in one line, with its literals as Markdown."""
    return re.sub(r"``([^`]+)``", r"`\1`", " ".join(text.split()))


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
