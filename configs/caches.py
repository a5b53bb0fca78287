"""The suite's folders in the user's cache."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache(*parts: str, variable: str = "") -> Path:
    """The folder that the environment variable `variable` names, else the user's cache.

    That is `ambulo/` and `parts` in `XDG_CACHE_HOME`, or in `~/.cache`.
    """
    named = os.environ.get(variable)
    if named:
        return Path(named).expanduser()
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "ambulo", *parts)
