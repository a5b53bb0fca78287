"""The flag `--character` of all commands that move a simulated body."""

from __future__ import annotations

from ambulo.common.paths import resolve_path


def absolute_character(text: str) -> str:
    """Return the body that `text` names; a file by its absolute path."""
    path = resolve_path(text)
    return str(path.absolute()) if path.suffix and path.is_file() else text
