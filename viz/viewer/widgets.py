"""Widgets of a viewer's panel, which show every text literally.

Names of levels, files, columns and clips come from possibly untrusted files, and viser renders
HTML in Markdown, scripts included. All of the panel's texts pass through here.
"""

from __future__ import annotations

import re
from typing import Any

LONGEST = 500
"""Longest shown text, [characters]."""
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
"""Characters that Markdown can escape: all of ASCII with a meaning in it, or in HTML."""


def plain(text: str) -> str:
    """Return a text as one line of printable characters."""
    line = "".join(
        char if char.isprintable() else "\N{REPLACEMENT CHARACTER}"
        for char in " ".join(text.split())
    )
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."


def markdown(pattern: str, **values: object) -> str:
    """Return Markdown: `pattern.format(...)` with text `values` shown literally."""
    return pattern.format(
        **{
            name: _PUNCTUATION.sub(r"\\\1", plain(value))
            if isinstance(value, str)
            else value
            for name, value in values.items()
        }
    )


class Widgets:
    """viser's `gui`, whose `add_...` functions take texts of any origin."""

    def __init__(self, gui: Any) -> None:
        """Add to the panel of `gui`."""
        self._gui = gui

    def add_markdown(self, pattern: str, **values: object) -> Any:
        """Add `markdown(pattern, **values)`."""
        return self._gui.add_markdown(markdown(pattern, **values))

    def __getattr__(self, name: str) -> Any:
        """Return viser's function of this name, with texts made plain."""
        if not name.startswith("add_") or name == "add_html":
            raise AttributeError(name)
        add = getattr(self._gui, name)
        return lambda *args, **options: add(*_plain(args), **_plain(options))


def _plain(value: Any) -> Any:
    """Return a value with plain texts, also in tuples and dictionaries."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
