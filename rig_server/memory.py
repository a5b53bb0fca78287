"""Replay memory of a rig: the newest frames and a uniform sample of all frames.

Learning replays both, so that a walk is not forgotten while a crouch is learned.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.rig_server.frames import RigFrame
from ambulo.rig_server.layout import RigLayout
from ambulo.rig_server.learning_kernels import empty_ready
from ambulo.rig_server.network import checked_arrays, count_of
from ambulo.rig_server.pose_kernels import INPUTS_OF_EFFECTOR, INPUTS_OF_RIG, Scene

RECENT = 512
"""Rows of a ring buffer for the newest frames."""
SAMPLE = 3584
"""Rows of the sample of all frames (Vitter's reservoir sampling, algorithm R, 1985)."""
LARGEST = 16_000_000
"""Largest memory of a rig, [bytes]; rigs of many bones have fewer sample rows."""


class FrameMemory:
    """Up to `RECENT` + `sample` frames of one rig, in arrays of fixed size."""

    def __init__(self, layout: RigLayout, *, seed: int = 0) -> None:
        """Create it empty; the system allocates pages as they are written."""
        bones, effectors = len(layout.bones), len(layout.effectors)
        inputs = INPUTS_OF_RIG + INPUTS_OF_EFFECTOR * effectors
        row_bytes = 88 * bones + 56 * effectors + 4 * inputs + 32
        self.sample = max(128, min(SAMPLE, LARGEST // row_bytes - RECENT))
        rows = RECENT + self.sample
        self.rotations = np.zeros((rows, bones, 4))
        self.offsets = np.zeros((rows, bones, 3), np.float32)
        self.scene = Scene(
            np.zeros((rows, 3)),
            np.zeros((rows, effectors, 3)),
            np.zeros((rows, effectors)),
            np.zeros((rows, effectors, 3)),
        )
        self.ready = empty_ready(rows, inputs, bones)
        self.seen = 0
        """Frames added so far."""
        self._rng = np.random.default_rng(seed)

    def add(self, frame: RigFrame, reached: NDArray[np.float64]) -> int:
        """Store `frame` with the targets that it reached (E, 3) [m]; returns its row."""
        newest = self.seen % RECENT
        place = self.seen
        if place >= self.sample:
            place = int(self._rng.integers(0, self.seen + 1))
        second = RECENT + place if place < self.sample else newest
        for row in (newest, second):
            self.rotations[row] = frame.rotations
            self.offsets[row] = frame.offsets
            self.scene.ups[row] = frame.up
            self.scene.normals[row] = frame.normals
            self.scene.hits[row] = frame.hits
            self.scene.targets[row] = reached
            self.ready.made_by[row] = 0
        self.seen += 1
        return newest

    @property
    def sampled(self) -> int:
        """Number of filled rows of the sample."""
        return min(self.seen, self.sample)

    @property
    def filled(self) -> NDArray[np.int64]:
        """Indices of filled rows, (N,)."""
        recent, sample = np.arange(min(self.seen, RECENT)), np.arange(self.sampled)
        return np.concatenate([recent, RECENT + sample])

    def batch(self, newest: int, size: int) -> NDArray[np.int64]:
        """Rows for learning: `newest`, a quarter of recent ones, the rest of the sample."""
        recent = max(1, size // 4)
        rows = np.empty(size, np.int64)
        shares = self._rng.random(size)
        shares[:recent] *= min(self.seen, RECENT)
        shares[recent:] *= self.sampled
        rows[:] = shares
        rows[recent:] += RECENT
        rows[0] = newest
        return rows

    def spread(self, count: int) -> NDArray[np.int64]:
        """At most `count` rows of the sample, evenly spread."""
        step = max(1, -(-self.sampled // count))
        return RECENT + np.arange(0, self.sampled, step)

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Copies of the filled rows of the sample, as float32, and the count."""
        rows = slice(RECENT, RECENT + self.sampled)
        arrays = self._arrays()
        kept: dict[str, NDArray[np.generic]] = {
            name: array[rows].astype(np.float32) for name, array in arrays.items()
        }
        return kept | {"seen": np.array(self.seen)}

    def _arrays(self) -> dict[str, NDArray[Any]]:
        own: dict[str, NDArray[Any]] = {
            "rotations": self.rotations,
            "offsets": self.offsets,
        }
        return own | self.scene._asdict()

    def restore(self, state: dict[str, NDArray[np.generic]]) -> None:
        """Restore `state`; fills the recent rows from the sample."""
        seen = count_of(state["seen"], "seen")
        rows = min(seen, self.sample)
        arrays = self._arrays()
        shapes = {name: (rows, *array.shape[1:]) for name, array in arrays.items()}
        checked_arrays(state, shapes, 1e5)
        if (np.linalg.norm(state["rotations"], axis=-1) < 0.5).any():
            raise ValueError("rotations: expected quaternions of length 1")
        for name, array in arrays.items():
            array[RECENT : RECENT + rows] = state[name]
            newest = min(rows, RECENT)
            array[:newest] = state[name][rows - newest :]
        lengths = np.linalg.norm(self.rotations, axis=-1, keepdims=True)
        self.rotations /= np.where(lengths > 0.5, lengths, 1.0)
        self.ready.made_by[:] = 0
        self.seen = seen
