"""Windows over clips, in batches: shuffled by seed and epoch, resumable, in memory."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np

from ambulo.configs.arrays import Ints
from ambulo.configs.errors import MotionError
from ambulo.motion.datasets.states import N_STATE, States, mirror_states
from ambulo.motion.datasets.window_plan import (
    Group,
    Pieces,
    activity_numbers,
    plan_groups,
    window_counts,
    window_starts,
)

_ORDER, _WITHIN = 1, 2  # purposes of random streams


class WindowBatch(NamedTuple):
    """B windows of W frames with their activities."""

    states: States
    """States as `ambulo.motion.datasets.states` describes them. Shape (B, W, 112)."""
    activities: Ints
    """Indices of their labels in `ACTIVITIES`. Shape (B,)."""


class WindowOptions(TypedDict, total=False):
    """Options on the order of windows, common to all data sets."""

    stride: int
    """Frames from one window's start to the next one's (default: 1)."""
    batch_size: int
    """Windows of a batch; the last one of an epoch may have fewer (default: 256)."""
    seed: int
    """Seed of everything random (default: 0)."""
    shuffle: bool
    """Random order of the windows, a new one in each epoch; otherwise the order of the clips
    (default: True)."""
    mirror: bool
    """Mirror a random half of the windows; needs memory for the mirrored frames (default:
    False)."""
    drop_last: bool
    """Drop a last batch that is not full (default: False)."""
    worker: int
    """Index of this worker among `workers` (default: 0)."""
    workers: int
    """Number of workers that share the batches of each epoch (default: 1)."""


@dataclass
class _Loaded:
    """A group with its frames in memory, and the order of its windows."""

    number: int
    frames: States
    starts: Ints
    activities: Ints


class WindowedDataset(ABC):
    """Batches of windows, epoch after epoch; the base of both data sets.

    Iterating yields the rest of the current epoch and then starts the next one. The order is a
    function of seed, epoch and the data alone. Batch i of an epoch goes to worker i mod
    `workers`: together the workers yield the batches of a single one.
    """

    _pieces: Pieces
    """The windows of each clip, or stored piece of one; set by the data set."""

    def __init__(
        self,
        *,
        window: int,
        stride: int = 1,
        batch_size: int = 256,
        seed: int = 0,
        shuffle: bool = True,
        mirror: bool = False,
        drop_last: bool = False,
        worker: int = 0,
        workers: int = 1,
    ) -> None:
        """Start at epoch 0; see `WindowOptions` for the arguments."""
        if min(window, stride, batch_size, workers) < 1 or not 0 <= worker < workers:
            raise MotionError(
                "window, stride, batch_size and workers must be at least 1 and worker "
                f"below workers; got window={window}, stride={stride}, "
                f"batch_size={batch_size}, worker={worker}, workers={workers}"
            )
        self.window, self.stride, self.batch_size = window, stride, batch_size
        self.seed, self.shuffle, self.mirror = seed, shuffle, mirror
        self.drop_last, self.worker, self.workers = drop_last, worker, workers
        self.epoch = 0
        """The epoch of the next iteration."""
        self._batch = 0
        self._allowed: tuple[str, ...] | None = None
        self._loaded: _Loaded | None = None

    @abstractmethod
    def _groups(self, shards: Ints) -> list[Ints]:
        """Divide `shards`, in the order of an epoch, into groups that fit in memory."""

    @abstractmethod
    def _load(self, shards: Ints) -> tuple[States, Ints]:
        """The frames of some shards, and the position of each shard's first one.

        (N, 112), or with `mirror` (2 N, 112): the mirrored ones after all the others.
        """

    @abstractmethod
    def _content(self) -> str:
        """Fingerprint of the data and of their grouping."""

    def __len__(self) -> int:
        """The number of windows in an epoch."""
        return int(self._pieces.windows[self._taking_part()].sum())

    @property
    def num_batches(self) -> int:
        """Batches of a whole epoch, over all workers."""
        count, size = len(self), self.batch_size
        return count // size if self.drop_last else -(-count // size)

    def set_epoch(
        self, epoch: int, activities: Collection[str] | None = None, *, batch: int = 0
    ) -> None:
        """Continue with batch number `batch` of `epoch`, optionally with some activities only.

        Args:
            epoch: Any number from 0.
            activities: Labels that take part, from now on; None is all.
            batch: First batch, counted over all workers.
        """
        activity_numbers(tuple(activities or ()))
        allowed = None if activities is None else tuple(sorted(set(activities)))
        if allowed != self._allowed or epoch != self.epoch:
            self._loaded = None
        self.epoch, self._batch, self._allowed = epoch, batch, allowed

    def state_dict(self) -> dict[str, Any]:
        """Position of the next batch, ready for JSON."""
        return {
            "epoch": self.epoch,
            "batch": self._batch,
            "activities": None if self._allowed is None else list(self._allowed),
            "data": self._identity(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state of `state_dict`.

        Raises:
            MotionError: The state is of other data or settings.
        """
        if state.get("data") != self._identity():
            raise MotionError(
                "the data set's state belongs to other data or settings: "
                f"expected {self._identity()}, got {state.get('data')}"
            )
        self.set_epoch(state["epoch"], state["activities"], batch=state["batch"])

    def __iter__(self) -> Iterator[WindowBatch]:
        """The remaining batches of the current epoch for this worker."""
        groups = self._plan()
        total = self.num_batches
        while (
            number := self._batch + (self.worker - self._batch) % self.workers
        ) < total:
            batch = self._gather(groups, number)
            self._batch = number + 1
            yield batch
        self.set_epoch(self.epoch + 1, self._allowed)

    def _identity(self) -> dict[str, int | bool | str]:
        """Everything that determines the order of windows."""
        return {
            "content": self._content(),
            "window": self.window,
            "stride": self.stride,
            "batch_size": self.batch_size,
            "seed": self.seed,
            "shuffle": self.shuffle,
            "mirror": self.mirror,
        }

    def _taking_part(self) -> Ints:
        """Indices of the pieces with windows of allowed activities."""
        taken = self._pieces.windows > 0
        if self._allowed is not None:
            taken &= np.isin(self._pieces.activity, activity_numbers(self._allowed))
        return np.flatnonzero(taken)

    def _plan(self) -> list[Group]:
        """The groups of this epoch in order."""
        pieces = self._taking_part()
        shards = np.unique(self._pieces.shard[pieces])
        if self.shuffle:
            shards = self._random(_ORDER).permutation(shards)
        return plan_groups(self._pieces, pieces, self._groups(shards))

    def _gather(self, groups: list[Group], number: int) -> WindowBatch:
        """Batch `number` of the epoch; it may reach over several groups."""
        at = number * self.batch_size
        stop = min(at + self.batch_size, groups[-1].first + groups[-1].windows)
        states = np.empty((stop - at, self.window, N_STATE), dtype=np.float32)
        activities = np.empty(stop - at, dtype=np.int64)
        index = bisect_right(groups, at, key=lambda group: group.first) - 1
        low = at
        while low < stop:
            group = groups[index]
            high = min(stop, group.first + group.windows)
            loaded = self._with_frames(group)
            taken = slice(low - group.first, high - group.first)
            placed = slice(low - at, high - at)
            self._copy(loaded, taken, states[placed])
            activities[placed] = loaded.activities[taken]
            low, index = high, index + 1
        return WindowBatch(states, activities)

    def _copy(self, loaded: _Loaded, taken: slice, out: States) -> None:
        """Write windows of a loaded group to `out` (n, W, 112)."""
        rows = loaded.starts[taken, None] + np.arange(self.window)
        flat = out.reshape(-1, N_STATE)
        # "clip" only avoids a check: every window lies within its clip.
        np.take(loaded.frames, rows.reshape(-1), axis=0, out=flat, mode="clip")

    def _with_frames(self, group: Group) -> _Loaded:
        """The group with its frames; caches the last one."""
        if self._loaded is not None and self._loaded.number == group.number:
            return self._loaded
        self._loaded = None  # before the next one is read: never two in memory
        frames, places = self._load(group.shards)
        starts = window_starts(self._pieces, group, places, self.stride)
        counts = self._pieces.windows[group.pieces]
        activities = np.repeat(self._pieces.activity[group.pieces], counts)
        random = self._random(_WITHIN, group.number)
        if self.shuffle:
            order = random.permutation(len(starts))
            starts, activities = starts[order], activities[order]
        if self.mirror:
            starts = starts + len(frames) // 2 * (random.random(len(starts)) < 0.5)
        self._loaded = _Loaded(group.number, frames, starts, activities)
        return self._loaded

    def _random(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.epoch, *purpose])


class MotionWindows(WindowedDataset):
    """Windows over clips that are all held in memory."""

    def __init__(
        self,
        clips: Sequence[States],
        activities: Sequence[str],
        *,
        window: int,
        **options: Unpack[WindowOptions],
    ) -> None:
        """Load `clips`.

        Args:
            clips: States of each clip, (T, 112); shorter ones than `window` give none.
            activities: The label of each clip.
            window: Frames of a window.
            **options: See `WindowOptions`; `mirror` takes twice the memory.
        """
        super().__init__(window=window, **options)
        if len(clips) != len(activities):
            raise MotionError(f"{len(clips)} clips, but {len(activities)} activities")
        for clip in clips:
            if clip.ndim != 2 or clip.shape[1] != N_STATE:
                raise MotionError(f"expected states (T, {N_STATE}), got {clip.shape}")
        lengths = np.array([len(clip) for clip in clips], dtype=np.int64)
        self._pieces = Pieces(
            shard=np.zeros(len(clips), dtype=np.int64),
            offset=np.cumsum(lengths) - lengths,
            windows=window_counts(lengths, window, self.stride),
            activity=activity_numbers(activities),
        )
        empty = np.zeros((0, N_STATE), dtype=np.float32)
        frames = np.concatenate([empty, *clips]).astype(np.float32, copy=False)
        if self.mirror:
            frames = np.concatenate([frames, mirror_states(frames)])
        self._frames: States = np.ascontiguousarray(frames)
        self._sum: str | None = None

    def _content(self) -> str:
        if self._sum is None:
            table = self._pieces.offset.tobytes() + self._pieces.activity.tobytes()
            self._sum = f"{zlib.crc32(self._frames.data, zlib.crc32(table)):08x}"
        return self._sum

    def _groups(self, shards: Ints) -> list[Ints]:
        return [shards] if len(shards) else []

    def _load(self, shards: Ints) -> tuple[States, Ints]:
        return self._frames, np.zeros(len(shards), dtype=np.int64)
