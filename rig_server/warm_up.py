"""Compile the server's kernels before a client streams, with progress."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import event
from numba.core.dispatcher import Dispatcher

import ambulo.rig_server
from ambulo.rig_server import messages, packets
from ambulo.rig_server.clients import ServerConfig
from ambulo.rig_server.frames import RigFrame, floats_of, up_of
from ambulo.rig_server.layout import LEGS
from ambulo.rig_server.messages import Kind, Option
from ambulo.rig_server.packets import Packet
from ambulo.rig_server.sequence import BLOCK, EVERY, FIRST, MIN_STEPS
from ambulo.rig_server.server import RigServer

Report = Callable[[str, int, int], None]
"""Receives a kernel's name, the number of compiled kernels, and their total."""

_CLIENT = ("warm-up", 0)


def warm_up(report: Report | None = None) -> None:
    """Compile all kernels, or load them from numba's cache.

    A server without socket or files learns and answers a short walk, so that every kernel is
    compiled for the types of a stream.

    Args:
        report: Called after each kernel that had to be compiled.
    """
    with event.install_listener("numba:compile", _Compilations(report)):
        _serve_a_walk()


def kernels() -> list[Dispatcher]:
    """All compiled functions of this package."""
    found = []
    for info in pkgutil.iter_modules(ambulo.rig_server.__path__):
        name = f"{ambulo.rig_server.__name__}.{info.name}"
        values = vars(importlib.import_module(name)).values()
        found += [
            value
            for value in values
            if isinstance(value, Dispatcher) and value.py_func.__module__ == name
        ]
    return found


class _Compilations(event.Listener):  # type: ignore[misc]
    """Counts the package's kernels as they are compiled."""

    def __init__(self, report: Report | None) -> None:
        self._report = report
        self._left = set(kernels())
        self._total = len(self._left)

    def on_start(self, event: Any) -> None:
        """Do nothing."""

    def on_end(self, event: Any) -> None:
        """Report a kernel that is compiled for the first time."""
        kernel = event.data["dispatcher"]
        if kernel in self._left:
            self._left.remove(kernel)
            if self._report is not None:
                done = self._total - len(self._left)
                self._report(kernel.py_func.__name__, done, self._total)


def _serve_a_walk() -> None:
    sent: list[bytes] = []
    server = RigServer(ServerConfig(), lambda data, _: sent.append(data))
    hello = messages.encode_hello(messages.Hello(1, LEGS))
    server.receive(packets.encode(Packet(Kind.HELLO, 0, 1, hello)), _CLIENT)
    session = packets.decode(sent.pop()).session
    count = FIRST + 2 * BLOCK + EVERY * MIN_STEPS
    for i in range(count):
        values = floats_of(LEGS, _frame(i))[None]
        frames = messages.FramesMessage(Option.LEARN | Option.PREDICT, values)
        data = messages.encode_frames(frames)
        server.receive(
            packets.encode(Packet(Kind.FRAMES, session, i + 2, data)), _CLIENT
        )
        while server.work():
            pass
    character = server.characters[_CLIENT, session]
    learner, sequence = character.models.learner, character.models.sequence
    learner.predict(_frame(0))  # a frame that was not scored just before
    learner.resume()  # as when a stored rig is read
    assert sequence is not None
    assert sequence.ready
    sequence.run(2)
    server.close()


def _frame(i: int) -> RigFrame:
    """The i-th frame of a figure that glides and bends all its joints equally."""
    bones = len(LEGS.bones)
    root = np.array([1.0, 0.0, 0.0, 0.0])
    up = up_of(root)
    angle = 0.3 + 0.2 * np.sin(0.1 * i)
    local, offsets = np.zeros((bones, 4)), np.zeros((bones, 3))
    local[:, 0], local[1:, 2] = np.cos(angle), np.sin(angle)
    local[0] = root
    offsets[1:, 2] = -0.4
    return RigFrame(
        np.array([0.01 * i, 0.0, 1.0]), root, offsets, local,
        np.tile(up, (2, 1)), np.ones(2), np.full((2, 3), -0.5), up,
    )  # fmt: skip
