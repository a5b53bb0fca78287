"""Shared memory of the worker pool: what goes to the workers, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.ik.rig import TARGETS

ROWS = len(TARGETS)
INPUTS = ("positions", "rotations", "position_weights", "rotation_weights")
"""The fields that make targets."""
BASE = ("base_root", "base_rotations")
"""The fields that make poses to start from."""
OUTPUTS = (
    "root",
    "turns",
    "position_residual",
    "rotation_residual",
    "reached",
    "steps",
)
"""The fields of an answer."""
NETWORK = ("network_input", "network_output")
"""Inputs and outputs of a published network."""
CONTEXT = 14
"""Ground heights 2, normals 6, grounded 2, contacts 2, phase, task."""


def fields(joints: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the fields of a character in a slot, all float64."""
    return {
        "positions": (ROWS, 3),
        "rotations": (ROWS, 4),
        "position_weights": (ROWS,),
        "rotation_weights": (ROWS,),
        "base_root": (3,),
        "base_rotations": (joints, 4),
        "context": (CONTEXT,),
        "root": (3,),
        "turns": (joints, 4),
        "position_residual": (ROWS,),
        "rotation_residual": (ROWS,),
        "reached": (ROWS,),
        "steps": (1,),
        "network_input": (50,),
        "network_output": (69,),
    }


@dataclass(frozen=True)
class Layout:
    """Size of the shared memory."""

    slots: int
    """Maximum number of concurrent jobs."""
    capacity: int
    """Maximum number of characters of a job."""
    joints: int
    """Joints of the rig."""

    @property
    def size(self) -> int:
        """Of the whole block, [byte]."""
        row = sum(int(np.prod(shape)) for shape in fields(self.joints).values())
        return 8 * self.slots * self.capacity * row


class SlotMemory:
    """The block: for each field an array (slots, capacity, ...).

    A worker writes the outputs of the characters that it was given, and nothing else; the
    pool reads them after all workers of the job have said that they are done. A slot's
    inputs stay as they are until then, so that parts can be given to another worker.
    """

    def __init__(self, layout: Layout, name: str | None = None) -> None:
        """Make the block, or attach to the one called `name`."""
        self.layout = layout
        self._owner = name is None
        self._memory = SharedMemory(name, create=name is None, size=layout.size)
        self.arrays: Mapping[str, Floats] = self._views()

    @property
    def name(self) -> str:
        """What the block is called."""
        return self._memory.name

    def _views(self) -> dict[str, Floats]:
        layout, at = self.layout, 0
        views = {}
        for name, shape in fields(layout.joints).items():
            full = (layout.slots, layout.capacity, *shape)
            count = int(np.prod(full))
            flat = np.frombuffer(_bytes(self._memory), np.float64, count, at)
            views[name] = flat.reshape(full)
            at += 8 * count
        return views

    def rows(self, slot: int, first: int, count: int, *names: str) -> list[Floats]:
        """The named fields of `count` characters of a slot, from `first` on, as views."""
        end = first + count
        return [self.arrays[name][slot, first:end] for name in names]

    def close(self) -> None:
        """Close the block; its creator also removes it."""
        self.arrays = {}
        # If a view still exists, the end of the process frees the block.
        with suppress(BufferError):
            self._memory.close()
        if self._owner:
            self._memory.unlink()
            self._owner = False


class Blob:
    """Bytes that workers read: the weights of a network."""

    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        self._memory = SharedMemory(create=True, size=max(len(data), 1))
        _bytes(self._memory)[: self.size] = data
        self.name = self._memory.name

    def close(self) -> None:
        """Remove the bytes."""
        self._memory.close()
        self._memory.unlink()


def read_blob(name: str, size: int) -> bytes:
    """A copy of the bytes of a `Blob`."""
    memory = SharedMemory(name)
    try:
        return bytes(_bytes(memory)[:size])
    finally:
        memory.close()


def _bytes(memory: SharedMemory) -> memoryview:
    """The block, which is open."""
    assert memory.buf is not None
    return memory.buf
