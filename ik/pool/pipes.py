"""Messages of fixed size between the pool and its workers.

One system call sends a message and one takes it. Whoever waits stays awake for a moment
first, if messages have come quickly of late: to be woken takes longer than a small solve.
Between two looks the processor is offered to others, so that a busy machine loses nothing.
"""

from __future__ import annotations

import os
import select
import time
from multiprocessing.connection import Connection

SIZE = 256
"""Of every message, [byte]: far below what a pipe takes at once."""
AWAKE = 5e-4
"""How long to stay awake for a message, [s]."""
POSIX = os.name == "posix"
"""Elsewhere `multiprocessing` sends the messages, and nobody stays awake."""


def send(connection: Connection, message: bytes) -> None:
    """Send a message of at most `SIZE` bytes; `OSError` if nobody is there."""
    padded = message.ljust(SIZE, b"\0")
    if POSIX:
        os.write(connection.fileno(), padded)
    else:
        connection.send_bytes(padded)


def receive(connection: Connection) -> bytes:
    """The next message; `EOFError` or `OSError` if the other side is gone."""
    if not POSIX:
        return connection.recv_bytes()
    message = os.read(connection.fileno(), SIZE)
    while 0 < len(message) < SIZE:
        more = os.read(connection.fileno(), SIZE - len(message))
        if not more:
            break
        message += more
    if len(message) < SIZE:
        raise EOFError
    return message


def available_cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Ear:
    """One end of a pipe; stays awake for a message where the one before came soon."""

    def __init__(self, connection: Connection, awake: float = AWAKE) -> None:
        self._connection = connection
        self._awake = awake
        self._quick = False
        self._poll = select.poll() if POSIX else None
        if self._poll is not None:
            self._poll.register(connection.fileno(), select.POLLIN)

    def receive(self) -> bytes:
        """The next message; waits for it."""
        begin = time.perf_counter()
        if self._quick and self._poll is not None:
            end = begin + self._awake
            while not self._poll.poll(0) and time.perf_counter() < end:
                os.sched_yield()
        message = receive(self._connection)
        self._quick = time.perf_counter() - begin < self._awake
        return message
