"""Ctrl-C and SIGTERM: finish or clean up, then exit with 128 + signal."""

from __future__ import annotations

import logging
import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

log = logging.getLogger(__name__)


@contextmanager
def leaving_cleanly() -> Iterator[None]:
    """Let SIGTERM raise `SystemExit` in the context, so that incomplete files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


ECHO = 0.5
"""Time within which a second signal is the same request, [s]: `timeout` and some shells signal
the process and its group."""


class Interrupted(Exception):
    """A signal has stopped the training at a checkpoint."""

    def __init__(self, signal_number: int) -> None:
        """Stopped by `signal_number`."""
        super().__init__(f"stopped by {signal.Signals(signal_number).name}")
        self.exit_code = 128 + signal_number


class StopRequest:
    """Records the first signal that arrives in the context; a later one exits at once."""

    def __init__(
        self, current: str = "this update", seconds: float | None = None
    ) -> None:
        """Start without a request.

        Args:
            current: Names the work that is finished first.
            seconds: Time from now after which it is due without a signal, [s]; None: never.
        """
        self.signal_number: int | None = None
        self._end = math.inf if seconds is None else time.monotonic() + seconds
        self._current = current
        self._since = 0.0
        self._old: dict[int, Any] = {}

    def __enter__(self) -> Self:
        """Catch SIGINT and SIGTERM, when this is the main thread."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._old[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the former handlers."""
        for number, handler in self._old.items():
            signal.signal(number, handler)
        self._old = {}

    def due(self) -> bool:
        """Whether a signal has come, or the time is over."""
        return self.signal_number is not None or time.monotonic() > self._end

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.signal_number is not None:
            if time.monotonic() - self._since < ECHO:
                return
            raise SystemExit(128 + number)
        self.signal_number = number
        self._since = time.monotonic()
        log.warning("stopping after %s; a second signal stops at once", self._current)
