"""Windows from shards on disk: bounded memory for any amount of data."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Unpack

import numpy as np

from ambulo.configs.arrays import Ints
from ambulo.configs.errors import MotionError, MotionFileError
from ambulo.configs.reading import open_regular
from ambulo.motion.datasets.shards import ShardIndex, read_index
from ambulo.motion.datasets.states import N_STATE, States, mirror_states
from ambulo.motion.datasets.window_plan import Pieces
from ambulo.motion.datasets.windows import WindowedDataset, WindowOptions

BYTES_OF_STATE = 4 * N_STATE


class StreamingMotionDataset(WindowedDataset):
    """Windows over clips that are on disk as shards; see `make_shards`.

    In each epoch the shards come in a random order; as many as fit into the buffer are in
    memory at once, and their windows are shuffled. So the frames in memory take at most
    `buffer_mb` (half of it for mirrored ones with `mirror`); the windows' order takes about a
    tenth of that at a stride of 1, and a batch takes batch_size * window * 448 bytes.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        window: int,
        buffer_mb: float = 64.0,
        **options: Unpack[WindowOptions],
    ) -> None:
        """Stream from `folder`.

        Args:
            folder: Output folder of `make_shards`.
            window: Frames of a window.
            buffer_mb: Frames held at once, [MB].
            **options: See `WindowOptions`; `mirror` takes half of the buffer.

        Raises:
            MotionFileError: The shards are missing or damaged.
            MotionError: A window is longer than the shards allow, or the buffer smaller than a
                shard.
        """
        super().__init__(window=window, **options)
        self._index = read_index(Path(folder))
        longest = self._index.longest_window
        if window > longest:
            raise MotionError(
                f"window = {window}: the shards in {folder} were made for windows up to "
                f"{longest} frames; make them again with a larger longest_window"
            )
        self._copies = 2 if self.mirror else 1
        self._capacity = int(buffer_mb * 1e6) // (BYTES_OF_STATE * self._copies)
        largest = int(self._index.shard_frames.max(initial=0))
        if largest > self._capacity:
            raise MotionError(
                f"buffer_mb = {buffer_mb:g}: a shard in {folder} needs "
                f"{self._copies * largest * BYTES_OF_STATE / 1e6:.1f} MB"
            )
        self._pieces = _pieces(self._index, window, self.stride)
        self._buffer: States | None = None
        self._checked: set[int] = set()
        self._places: dict[int, int] = {}  # start of each shard in the buffer
        self._held = 0  # frames in the buffer, not mirrored

    @property
    def fps(self) -> float:
        """Rate of the states, [Hz]."""
        return self._index.fps

    def _content(self) -> str:
        return f"{self._index.identity}, {self._capacity} frames at once"

    def _groups(self, shards: Ints) -> list[Ints]:
        groups: list[list[int]] = []
        held = self._capacity + 1
        for shard in shards.tolist():
            frames = int(self._index.shard_frames[shard])
            if held + frames > self._capacity:
                groups.append([])
                held = 0
            groups[-1].append(shard)
            held += frames
        return [np.array(group, dtype=np.int64) for group in groups]

    def _load(self, shards: Ints) -> tuple[States, Ints]:
        if self._buffer is None:  # one buffer for all groups
            rows = min(self._capacity, int(self._index.shard_frames.sum()))
            self._buffer = np.empty((self._copies * rows, N_STATE), dtype=np.float32)
        if not self._places.keys() >= set(shards.tolist()):  # data that fit are kept
            self._fill(shards, self._buffer)
        places = np.array([self._places[shard] for shard in shards.tolist()])
        return self._buffer[: self._copies * self._held], places.astype(np.int64)

    def _fill(self, shards: Ints, buffer: States) -> None:
        """Read `shards` to the buffer, and mirror them behind the last one."""
        self._places = {}
        frames = self._index.shard_frames[shards]
        self._held = int(frames.sum())
        places = {}
        for shard, stop, count in zip(
            shards.tolist(), np.cumsum(frames).tolist(), frames.tolist(), strict=True
        ):
            here = buffer[stop - count : stop]
            self._read(shard, here)
            if self.mirror:
                behind = self._held + stop
                mirror_states(here, out=buffer[behind - count : behind])
            places[shard] = stop - count
        self._places = places

    def _read(self, shard: int, out: States) -> None:
        """Read a shard to `out`; checks its checksum the first time."""
        path = self._index.path_of(shard)
        try:
            with open_regular(path) as file:
                got = file.readinto(out.view(np.uint8).data)
                rest = file.read(1)
        except OSError as error:
            raise MotionFileError(
                path, 0, f"cannot be read: {error.strerror}; make the shards again"
            ) from None
        if got != out.nbytes or rest:
            raise MotionFileError(
                path, 0, f"expected {out.nbytes} bytes; make the shards again"
            )
        if shard not in self._checked:
            if zlib.crc32(out.data) != int(self._index.shard_sums[shard]):
                raise MotionFileError(path, 0, "is damaged; make the shards again")
            self._checked.add(shard)


def _pieces(index: ShardIndex, window: int, stride: int) -> Pieces:
    """The windows of each stored piece.

    They start at the frames 0, stride, 2 stride, ... of the whole clip; each belongs to
    the one piece whose range its start lies in.
    """
    first = -(-index.start // stride)
    behind = np.minimum(index.next_start, index.clip_frames - window + 1)
    last = -(-behind // stride)
    return Pieces(
        shard=index.shard,
        offset=index.offset + first * stride - index.start,
        windows=np.maximum(0, last - first),
        activity=index.activity,
    )
