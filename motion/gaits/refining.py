"""From raw roll-outs to refined sequences: whole cycles, equal phases, one direction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import GaitDataError
from ambulo.configs.gait import GaitSpace
from ambulo.motion.gaits.frames import CYCLES, sequence
from ambulo.motion.gaits.shards import (
    FRAMES,
    PER_CYCLE,
    RawShard,
    RefinedShard,
    write_refined,
)

MIN_FRAMES = 140
"""Smallest length of an episode; shorter ones ended in a fall and are skipped, as in
GaitNet."""
SETTLED = 0.4
"""Skipped cycles at the beginning of an episode: two whole ones must remain in 5 s of the
slowest gait."""
PER_FILE = 1024
"""Sequences of a refined file: 25 MB."""
PREFIX = "gait_"
"""Prefix of the names of refined files."""


@dataclass
class Refining:
    """Statistics of refined episodes, for reports."""

    episodes: int = 0
    """Processed episodes."""
    sequences: int = 0
    """Resulting sequences."""
    short: int = 0
    """Episodes with too few frames."""
    stuck: int = 0
    """Episodes whose phase decreases, or has no two whole cycles."""
    files: list[Path] = field(default_factory=list)
    """Written files."""


@dataclass(frozen=True, eq=False)
class Sequence:
    """One refined sequence with its origin."""

    params: Floats
    """Parameters. Shape (P,)."""
    frames: Floats
    """Frames. Shape (60, 101)."""
    fps: float
    """True rate, [Hz]."""
    clip: str
    """The file, the episode in it and the cycle in the episode."""
    subject: str
    """The character, or the person."""


def refined(
    shard: RawShard,
    name: str,
    counts: Refining,
    *,
    least: int = MIN_FRAMES,
    settled: float = SETTLED,
) -> Iterator[Sequence]:
    """Yield the sequences of a raw shard called `name`; skipped episodes are counted."""
    subject = str(shard.source.get("character", ""))
    for number, (params, rows) in enumerate(shard.episodes()):
        counts.episodes += 1
        if len(rows) < least:
            counts.short += 1
            continue
        whole = unwrapped(rows[:, -1])
        made = 0
        for start in starts(whole, settled):
            at = moments(whole, start)
            seconds = (at[-1] - at[0]) / (CYCLES * shard.rate)
            frames = sequence(rows[:, :-1], at, shard.rate)
            clip = f"{name}:{number}:{start - round(float(whole[0]))}"
            yield Sequence(params, frames, PER_CYCLE / seconds, clip, subject)
            made += 1
        counts.sequences += made
        counts.stuck += made == 0


def unwrapped(phase: Floats) -> Floats:
    """Unwrap phases (T,) in [0, 1): 0.9, 0.1 becomes 0.9, 1.1."""
    steps = np.diff(phase)
    steps -= np.round(steps)
    return np.concatenate([phase[:1], phase[0] + np.cumsum(steps)])


def starts(whole: Floats, settled: float) -> list[int]:
    """First cycles of disjoint pairs of whole cycles of an unwrapped phase (T,).

    Empty if the phase ever decreases.
    """
    if (np.diff(whole) < 0.0).any():
        return []
    first = int(np.ceil(whole[0] + settled - 1e-9))
    return list(range(first, int(np.floor(whole[-1])) - CYCLES + 1, CYCLES))


def moments(whole: Floats, start: int) -> Floats:
    """Frames at which an unwrapped phase (T,) is `start`, + 1/30, ... + 2. Shape (61,)."""
    target = start + np.arange(FRAMES + 1) / PER_CYCLE
    moving = np.concatenate([[True], np.diff(whole) > 0.0])
    return np.interp(target, whole[moving], np.flatnonzero(moving))


class RefinedWriter:
    """Collects sequences and writes them to numbered files; one file is in memory."""

    def __init__(
        self,
        folder: Path,
        space: GaitSpace,
        origin: str,
        source: dict[str, Any],
        *,
        per_file: int = PER_FILE,
    ) -> None:
        """Start in `folder`, which is created.

        Raises:
            GaitDataError: The folder has such files already.
        """
        if per_file < 1:
            raise GaitDataError("a file holds at least one sequence")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise GaitDataError(f"{folder}: cannot be made: {error.strerror}") from None
        there = next(iter(sorted(folder.glob(f"{PREFIX}*.npz"))), None)
        if there is not None:
            raise GaitDataError(f"{there}: is there already; name an empty folder")
        self._folder, self._space, self._origin = folder, space, origin
        self._source = {**source, "space": json.loads(space.to_json())}
        self._per_file = per_file
        self._held: list[Sequence] = []
        self.files: list[Path] = []

    def add(self, sequences: Iterable[Sequence]) -> None:
        """Add sequences; writes full files."""
        for one in sequences:
            self._held.append(one)
            if len(self._held) == self._per_file:
                self._write()

    def close(self) -> list[Path]:
        """Write the remaining sequences and return all files."""
        if self._held:
            self._write()
        return self.files

    def _write(self) -> None:
        held = self._held
        path = self._folder / f"{PREFIX}{len(self.files):05d}.npz"
        shard = RefinedShard(
            params=np.array([one.params for one in held]),
            motions=np.array([one.frames for one in held], dtype=np.float32),
            names=self._space.names,
            fps=np.array([one.fps for one in held]),
            subject=np.array([one.subject for one in held]),
            clip=np.array([one.clip for one in held]),
            origin=np.array([self._origin] * len(held)),
            source=self._source,
        )
        write_refined(path, shard)
        self.files.append(path)
        self._held = []
