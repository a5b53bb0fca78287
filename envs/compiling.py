"""Compiled kernels: their cache, and a log line while they are compiled."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from numba.core import caching, event

log = logging.getLogger(__name__)

_KIND = "numba:compile"


class _FirstCompilation(event.Listener):  # type: ignore[misc]
    """Logs one line at the first kernel that is compiled, not read from disk."""

    logged = False

    def on_start(self, event: object) -> None:
        """Log the line."""
        if not self.logged:
            self.logged = True
            log.warning(
                "compiling numerical kernels for this machine: up to a minute, once"
            )

    def on_end(self, event: object) -> None:
        """Nothing to log."""


def log_compilation() -> None:
    """From now on, log a line at the first compilation of this process."""
    if not _LISTENERS:
        _LISTENERS.append(_FirstCompilation())
        event.register(_KIND, _LISTENERS[0])


_LISTENERS: list[_FirstCompilation] = []


class _KernelsLocator(caching.InTreeCacheLocator):  # type: ignore[misc]
    """Keeps cached kernels of this folder's packages until one of their files changes.

    numba checks only a kernel's own file, although kernels of other files are compiled into it.
    """

    @classmethod
    def from_function(
        cls, py_func: Callable[..., Any], py_file: str
    ) -> _KernelsLocator | None:
        """Return the locator of a kernel of this folder, or None to use numba's own."""
        if Path(__file__).parent not in Path(py_file).parents:
            return None
        locator: _KernelsLocator | None = super().from_function(py_func, py_file)
        return locator

    def get_source_stamp(self) -> object:
        """A checksum of the kernel's file and of all files of kernels."""
        return super().get_source_stamp(), _checksum()


@lru_cache(maxsize=1)
def _checksum() -> str:
    files = sorted(Path(__file__).parent.rglob("*kernels.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


if _KernelsLocator not in caching.CacheImpl._locator_classes:
    caching.CacheImpl._locator_classes.insert(1, _KernelsLocator)
