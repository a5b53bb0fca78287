"""Messages of fixed size between the pool and its workers.

One system call sends a message and one receives it. If recent messages came quickly, the
receiver polls for a moment before it blocks, since being woken takes longer than a small
solve. Between polls it yields the processor, so that a loaded machine loses nothing.
"""

from __future__ import annotations

import os
import select
import time
from multiprocessing.connection import Connection

SIZE = 256
"""Size of every message, [byte]: far below a pipe's buffer."""
AWAKE = 5e-4
"""How long to poll for a message, [s]."""
POSIX = os.name == "posix"
"""Whether this is POSIX; elsewhere `multiprocessing` sends the messages, without polling."""


def send(connection: Connection, message: bytes) -> None:
    """Send a message of at most `SIZE` bytes; `OSError` if the other side is closed."""
    padded = message.ljust(SIZE, b"\0")
    if POSIX:
        os.write(connection.fileno(), padded)
    else:
        connection.send_bytes(padded)


def receive(connection: Connection) -> bytes:
    """Return the next message; `EOFError` or `OSError` if the other side is closed."""
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


class Ear:
    """Receiving end of a pipe; polls for a message if the previous one came soon."""

    def __init__(self, connection: Connection, awake: float = AWAKE) -> None:
        self._connection = connection
        self._awake = awake
        self._quick = False
        self._poll = select.poll() if POSIX else None
        if self._poll is not None:
            self._poll.register(connection.fileno(), select.POLLIN)

    def receive(self) -> bytes:
        """Wait for the next message and return it."""
        begin = time.perf_counter()
        if self._quick and self._poll is not None:
            end = begin + self._awake
            while not self._poll.poll(0) and time.perf_counter() < end:
                os.sched_yield()
        message = receive(self._connection)
        self._quick = time.perf_counter() - begin < self._awake
        return message
