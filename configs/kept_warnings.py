"""Warnings of what is cached: kept beside its entry, and said again when it is read."""

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
"""Name of the logger and text of each warning."""
_PACKAGE = logging.getLogger("ambulo")


class _Recorder(logging.Handler):
    """Collects the warnings of one thread."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: Said = []
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:
            self.said.append((record.name, record.getMessage()))


@contextmanager
def recorded_warnings(*, silent: bool = False) -> Iterator[Said]:
    """Collect what the suite warns of inside.

    Args:
        silent: Say nothing of it.
    """
    recorder, propagate, level = _Recorder(), _PACKAGE.propagate, _PACKAGE.level
    quiet = silent or not _PACKAGE.isEnabledFor(logging.WARNING)
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
    """Keep `said` beside `entry`; to be called before the entry is written.

    Args:
        entry: A file of a cache.
        said: None is kept as no file.
        name: What warnings of the entry begin with, if its key leaves that open.

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
    """Log the warnings that were kept beside `entry`; `name` as in `write_warnings`."""
    with suppress(OSError, ValueError, TypeError):  # none, or damaged
        for logger, text, named in json_value(read_regular(warnings_file(entry))):
            shown = f"{name}: {text}" if named else text
            logging.getLogger(str(logger)).warning("%s", shown)
