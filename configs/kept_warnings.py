"""Warnings of a cached computation: stored with its entry, and logged again when it is read."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ambulo.configs.atomic import replace_file
from ambulo.configs.json_text import json_value
from ambulo.configs.reading import read_regular

Said = list[tuple[str, str]]
"""Logger name and text of each warning."""
_PACKAGE = logging.getLogger("ambulo")


class _Recorder(logging.Handler):
    """Collects the warnings of one thread; prints them if logging is not configured."""

    def __init__(self, *, silent: bool) -> None:
        super().__init__(logging.WARNING)
        self.said: Said = []
        self._silent = silent
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:
            self.said.append((record.name, record.getMessage()))
        shown = self._silent or logging.root.handlers
        own = all(isinstance(handler, _Recorder) for handler in _PACKAGE.handlers)
        if not shown and own and logging.lastResort and _PACKAGE.handlers[0] is self:
            logging.lastResort.handle(record)


@contextmanager
def recorded_warnings(*, silent: bool = False) -> Iterator[Said]:
    """Collect the suite's warnings in the context.

    Args:
        silent: Do not show them.
    """
    quiet = silent or not _PACKAGE.isEnabledFor(logging.WARNING)
    recorder, propagate, level = (
        _Recorder(silent=quiet), _PACKAGE.propagate, _PACKAGE.level,
    )  # fmt: skip
    _PACKAGE.addHandler(recorder)
    if quiet:
        _PACKAGE.setLevel(logging.WARNING)
        _PACKAGE.propagate = False
    try:
        yield recorder.said
    finally:
        _PACKAGE.removeHandler(recorder)
        if quiet:
            _PACKAGE.setLevel(level)
            _PACKAGE.propagate = propagate


def warnings_file(entry: Path) -> Path:
    """The file of the warnings of a cache's `entry`."""
    return entry.with_suffix(".warnings.json")


def write_warnings(entry: Path, said: Said, name: str = "") -> None:
    """Store `said` beside `entry`; call it before the entry is written.

    Args:
        entry: A file of a cache.
        said: Warnings; without any, no file is written.
        name: Prefix of the entry's warnings, if its key does not determine it.

    Raises:
        OSError: It cannot be written.
    """
    file = warnings_file(entry)
    if not said:
        file.unlink(missing_ok=True)
        return
    rows = [
        [logger, text.removeprefix(f"{name}: "), text.startswith(f"{name}: ")]
        for logger, text in said
    ]
    replace_file(file, json.dumps(rows).encode())


def say_again(entry: Path, name: str = "") -> None:
    """Log the warnings stored beside `entry` again; `name` as in `write_warnings`."""
    with suppress(OSError, ValueError, TypeError):  # none, or damaged
        for logger, text, named in json_value(read_regular(warnings_file(entry))):
            shown = f"{name}: {text}" if named else text
            logging.getLogger(str(logger)).warning("%s", shown)
