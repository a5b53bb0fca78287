"""Refined sequences as a stream of buffers in bounded memory.

Files are read in blocks in random order; a buffer takes as many as fit, and a thread fills the
next one during training on the other. All randomness follows from seed and epoch, so that a
resumed training sees the data of an uninterrupted one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Singles
from ambulo.configs.errors import GaitDataError, GaitParameterError
from ambulo.configs.gait import GaitSpace
from ambulo.configs.gait_net import GaitNetDataConfig
from ambulo.motion.gaits.frames import mirrored
from ambulo.motion.gaits.shards import (
    FRAMES,
    RefinedHead,
    find_shards,
    read_head,
    stored_space,
    usable,
)
from ambulo.motion.human23 import N_SIXDOF

BLOCK = 256
"""Sequences read at once; 6 MB."""
PARTS = ("train", "validation", "test")
"""Parts of the data, by index."""


FOOT = re.compile(" (?:left|right) ")
"""Follows the clip in the labels of captured sequences."""
ALIKE = 1e-9
"""Difference below which values count as equal."""


@dataclass(frozen=True)
class GaitData:
    """Index of the files' contents; their motions stay on disk."""

    heads: tuple[RefinedHead, ...]
    """The files."""
    space: GaitSpace
    """Parameters of all of them."""
    parts: tuple[NDArray[np.int8], ...]
    """The part of each file's sequences, as index in `PARTS`."""
    errors: tuple[GaitDataError, ...]
    """Errors of skipped files."""
    is_cascaded: bool
    """Whether the motions were made by cascaded networks."""

    def count(self, part: str) -> int:
        """Sequences of a part."""
        number = PARTS.index(part)
        return int(sum((of == number).sum() for of in self.parts))

    def held(self) -> dict[str, float]:
        """Parameters that are constant over all training sequences, by name."""
        learnt = [
            head.params[of == 0]
            for head, of in zip(self.heads, self.parts, strict=True)
        ]
        rows = np.concatenate(learnt)
        return {
            name: float(column[0])
            for name, column in zip(self.space.names, rows.T, strict=True)
            if len(column) and np.ptp(column) < ALIKE
        }

    def table(self, part: str) -> dict[str, int]:
        """Sequences of a part by subject."""
        number = PARTS.index(part)
        names = [
            name
            for head, of in zip(self.heads, self.parts, strict=True)
            for name in head.subject[of == number].tolist()
        ]
        return {name: names.count(name) for name in sorted(set(names))}


@dataclass(frozen=True)
class GaitSet:
    """Sequences in memory."""

    params: Singles
    """Normalised parameters. Shape (N, P)."""
    motions: Singles
    """Frames. Shape (N, 60, 101)."""

    def __len__(self) -> int:
        return len(self.params)


def open_data(
    places: Sequence[str], config: GaitNetDataConfig, seed: int, space: GaitSpace | None
) -> GaitData:
    """Index every file, reading it once completely.

    Args:
        places: Folders or files.
        config: The split, and whether bad files are errors.
        seed: Seed of the split.
        space: Required parameters; None takes the first file's.

    Raises:
        GaitDataError: No file is left, a part is empty, or files do not fit.
    """
    errors: list[GaitDataError] = []
    heads: list[RefinedHead] = []
    paths = find_shards(list(places))
    for head in usable(paths, read_head, errors, strict=config.strict):
        try:
            space = _space_of(head, space)
        except GaitDataError as error:
            if config.strict:
                raise
            errors.append(error)
            continue
        heads.append(head)
    if not heads or space is None:
        reason = f" ({errors[0]})" if errors else ""
        raise GaitDataError(
            f"{', '.join(places)}: none of {len(paths)} files is usable{reason}"
        )
    _check_people(heads, config)
    parts = tuple(_parts(head, config, seed) for head in heads)
    cascaded = any(bool(_raw(head).get("is_cascaded")) for head in heads)
    data = GaitData(tuple(heads), space, parts, tuple(errors), cascaded)
    needed = [name for name in PARTS if name == "train" or getattr(config, name) > 0.0]
    for name in needed:
        if not data.count(name):
            raise GaitDataError(
                f"{', '.join(places)}: no sequence is left for the {name} part "
                f"({sum(map(len, heads))} sequences, split by {config.split})"
            )
    return data


def load_part(data: GaitData, part: str, most: int | None = None) -> GaitSet:
    """The sequences of a part in memory: all, or `most` of them evenly spread."""
    number = PARTS.index(part)
    total = data.count(part)
    wanted = total if most is None else min(most, total)
    chosen = set(np.linspace(0, total - 1, max(wanted, 1)).astype(int).tolist())
    params: list[Singles] = []
    motions: list[Singles] = []
    seen = 0
    for head, of in zip(data.heads, data.parts, strict=True):
        for start in range(0, len(head), BLOCK):
            rows = np.flatnonzero(of[start : start + BLOCK] == number)
            kept = [row for k, row in enumerate(rows.tolist()) if seen + k in chosen]
            seen += len(rows)
            if not kept:
                continue
            values, block = _read(head, start, kept)
            motions.append(block)
            params.append(data.space.normalize(values).astype(np.float32))
    if not params:
        empty = np.zeros((0, FRAMES, N_SIXDOF), np.float32)
        return GaitSet(np.zeros((0, data.space.size), np.float32), empty)
    return GaitSet(np.concatenate(params), np.concatenate(motions))


def _read(
    head: RefinedHead, start: int, rows: Sequence[int] | NDArray[np.int64]
) -> tuple[Floats, Singles]:
    """Return parameters and motions of `rows` of the block that begins at `start`."""
    count = min(BLOCK, len(head) - start)
    block = np.empty((count, FRAMES, N_SIXDOF), np.float32)
    head.read(start, block)
    return head.params[start : start + count][rows], block[rows]


@dataclass
class _Buffer:
    """A buffer of sequences, and its filling thread."""

    params: Singles
    motions: Singles
    held: int = 0


class GaitStream:
    """The training part as buffers; a context manager, which ends its thread.

    Memory: two buffers of `capacity` sequences, 24.2 KB each (one where everything fits
    in), a block of 6 MB, and the parameters of all sequences.
    """

    def __init__(self, data: GaitData, config: GaitNetDataConfig, seed: int) -> None:
        """Create the stream without reading."""
        self._data, self._seed = data, seed
        self._mirror = config.mirror
        copies = 2 if config.mirror else 1
        total = copies * data.count("train")
        self.capacity = min(max(config.buffer_rows // FRAMES, 1), total)
        if total > self.capacity and self.capacity < copies * BLOCK:
            raise GaitDataError(
                f"buffer_rows = {config.buffer_rows}: at least "
                f"{copies * BLOCK * FRAMES} are needed"
            )
        self._blocks = [
            (shard, start)
            for shard, head in enumerate(data.heads)
            for start in range(0, len(head), BLOCK)
        ]
        self._sizes = [
            copies * int((data.parts[shard][start : start + BLOCK] == 0).sum())
            for shard, start in self._blocks
        ]
        whole = total <= self.capacity
        self._buffers = [self._make() for _ in range(1 if whole else 2)]
        self._whole = whole
        self._pool: ThreadPoolExecutor | None = None
        self._ahead: tuple[tuple[int, int], Future[_Buffer]] | None = None
        self._filled = False

    def __enter__(self) -> Self:
        """Start the thread."""
        self._pool = ThreadPoolExecutor(1, "gait-loader")
        return self

    def __exit__(self, *_: object) -> None:
        """End the thread."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._pool, self._ahead = None, None

    @property
    def bound_bytes(self) -> int:
        """Bytes of all buffers."""
        return sum(b.params.nbytes + b.motions.nbytes for b in self._buffers)

    def plan(self, epoch: int) -> list[list[int]]:
        """The blocks of each buffer of an epoch."""
        if self._whole:
            return [list(range(len(self._blocks)))]
        order = np.random.default_rng([self._seed, epoch]).permutation(
            len(self._blocks)
        )
        groups: list[list[int]] = [[]]
        held = 0
        for block in order.tolist():
            if held + self._sizes[block] > self.capacity and groups[-1]:
                groups.append([])
                held = 0
            groups[-1].append(block)
            held += self._sizes[block]
        return groups

    def rows(self, epoch: int) -> list[int]:
        """Frames in each buffer of an epoch."""
        return [
            FRAMES * sum(self._sizes[block] for block in group)
            for group in self.plan(epoch)
        ]

    def buffer(self, epoch: int, number: int) -> GaitSet:
        """A buffer of an epoch; valid until the next but one is requested."""
        if self._whole:
            held = self._buffers[0]
            if not self._filled:
                self._fill(held, self.plan(0)[0])
                self._filled = True
            return GaitSet(held.params[: held.held], held.motions[: held.held])
        if self._ahead is not None and self._ahead[0] == (epoch, number):
            found = self._ahead[1].result()
        else:
            if self._ahead is not None:
                self._ahead[1].result()
            found = self._fill(self._buffers[0], self.plan(epoch)[number])
        after = (epoch, number + 1)
        if number + 1 >= len(self.plan(epoch)):
            after = (epoch + 1, 0)
        if self._pool is not None:
            room = self._buffers[1] if found is self._buffers[0] else self._buffers[0]
            blocks = self.plan(after[0])[after[1]]
            self._ahead = (after, self._pool.submit(self._fill, room, blocks))
        return GaitSet(found.params[: found.held], found.motions[: found.held])

    def _make(self) -> _Buffer:
        return _Buffer(
            np.empty((self.capacity, self._data.space.size), np.float32),
            np.empty((self.capacity, FRAMES, N_SIXDOF), np.float32),
        )

    def _fill(self, buffer: _Buffer, blocks: Sequence[int]) -> _Buffer:
        """Read blocks to a buffer, the training part alone."""
        space = self._data.space
        held = 0
        for block in blocks:
            shard, start = self._blocks[block]
            head, of = self._data.heads[shard], self._data.parts[shard]
            rows = np.flatnonzero(of[start : start + BLOCK] == 0)
            if not len(rows):
                continue
            params, motions = _read(head, start, rows)
            if not np.isfinite(motions).all():
                raise GaitDataError(f"{head.path}: has changed: a number is not finite")
            stop = held + len(rows)
            buffer.motions[held:stop] = motions
            buffer.params[held:stop] = space.normalize(params)
            held = stop
            if self._mirror:
                stop = held + len(rows)
                buffer.motions[held:stop] = mirrored(motions)
                buffer.params[held:stop] = space.normalize(space.mirror(params))
                held = stop
        buffer.held = held
        return buffer


def _space_of(head: RefinedHead, space: GaitSpace | None) -> GaitSpace:
    """The parameters of a file, which must equal `space` if that is given.

    Raises:
        GaitDataError: The parameters differ; names the file and the difference.
    """
    stored = head.source.get("space")
    if stored is None and space is None:
        raise GaitDataError(f"{head.path}: does not name its parameters' ranges")
    own = space if stored is None else stored_space(stored, head.path)
    assert own is not None
    if own.names != head.names:
        rule = "params and names differ"
        raise GaitDataError(f"{head.path}: has other gait parameters: {rule}")
    if space is not None and (difference := space.difference(own)):
        raise GaitDataError(f"{head.path}: has other gait parameters: {difference}")
    try:
        own.check(head.params)
    except GaitParameterError as error:
        raise GaitDataError(f"{head.path}: {error}") from None
    return own if space is None else space


def _parts(head: RefinedHead, config: GaitNetDataConfig, seed: int) -> NDArray[np.int8]:
    """The part of each sequence of a file, by a hash of its content. Shape (N,)."""
    if config.split == "subject":
        keys = [name.encode() for name in head.subject.tolist()]
    else:
        keys = [row.tobytes() for row in np.round(head.params, 6)]
        for row in np.flatnonzero(head.origin == "captured").tolist():
            # Sequences of a clip overlap, and each has measured parameters of its own.
            clip = FOOT.split(str(head.clip[row]))[0]
            keys[row] = f"{head.subject[row]}/{clip}".encode()
    share = np.array([_hash_fraction(key, seed) for key in keys])
    part = np.zeros(len(head), dtype=np.int8)
    if config.test_subjects or config.validation_subjects:
        part[np.isin(head.subject, config.validation_subjects)] = 1
        part[np.isin(head.subject, config.test_subjects)] = 2
        return part
    part[share < config.test + config.validation] = 1
    part[share < config.test] = 2
    return part


def _hash_fraction(key: bytes, seed: int) -> float:
    """A hash of content and seed as a number in [0, 1)."""
    digest = hashlib.blake2b(key, digest_size=8, salt=seed.to_bytes(8, "little"))
    return int.from_bytes(digest.digest(), "little") / 2.0**64


def _check_people(heads: Sequence[RefinedHead], config: GaitNetDataConfig) -> None:
    there = {name for head in heads for name in head.subject.tolist()}
    twice = set(config.test_subjects) & set(config.validation_subjects)
    if twice:
        raise GaitDataError(f"subject {min(twice)!r} cannot validate and test")
    for name in (*config.test_subjects, *config.validation_subjects):
        if name not in there:
            known = ", ".join(sorted(there))
            raise GaitDataError(f"no subject {name!r} in the data (there are {known})")


def _raw(head: RefinedHead) -> dict[str, object]:
    raw = head.source.get("raw")
    return raw if isinstance(raw, dict) else {}
