"""The flag `--character` of all commands that move a simulated body."""

from __future__ import annotations

from ambulo.common.paths import resolve_path

CHARACTER_HELP = (
    "the body: human23, myolegs, or one of your own: FILE.xml (MuJoCo), FILE.urdf,"
    " FILE.body.json or package:function"
)
"""One line for `--help`."""


def absolute_character(text: str) -> str:
    """Return the body that `text` names; a file by its absolute path."""
    path = resolve_path(text)
    return str(path.absolute()) if path.suffix and path.is_file() else text
