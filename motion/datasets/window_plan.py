"""Index arithmetic: positions of windows in shards, and groups of shards in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Ints
from ambulo.motion.datasets.activities import activity_number


@dataclass(frozen=True)
class Pieces:
    """Uninterrupted runs of frames, P of them, sorted by shard and place.

    A piece owns the windows that start at its frames number 0, stride, 2 stride, ...
    """

    shard: Ints
    """Index of the shard that holds the piece. Shape (P,)."""
    offset: Ints
    """Its first frame in the shard. Shape (P,)."""
    windows: Ints
    """Number of windows that it owns. Shape (P,)."""
    activity: Ints
    """Index of its label in `ACTIVITIES`. Shape (P,)."""


@dataclass(frozen=True)
class Group:
    """Shards whose windows are shuffled together, and their windows."""

    number: int
    shards: Ints
    pieces: Ints
    """Indices of its pieces."""
    first: int
    """Index of the group's first window in the epoch."""
    windows: int


def plan_groups(table: Pieces, taken: Ints, members: Sequence[Ints]) -> list[Group]:
    """The groups of an epoch in order.

    Args:
        table: All pieces.
        taken: Indices of the pieces that take part.
        members: The shards of each group; together all shards of these pieces.
    """
    of_shard = table.shard[taken]
    group_of_shard = np.zeros(int(of_shard.max(initial=0)) + 1, dtype=np.int64)
    for number, inside in enumerate(members):
        group_of_shard[inside] = number
    group_of_piece = group_of_shard[of_shard]
    order = np.argsort(group_of_piece, kind="stable")
    borders = np.searchsorted(group_of_piece[order], np.arange(len(members) + 1))
    groups: list[Group] = []
    first = 0
    for number, inside in enumerate(members):
        own = taken[order[borders[number] : borders[number + 1]]]
        windows = int(table.windows[own].sum())
        groups.append(Group(number, inside, own, first, windows))
        first += windows
    return groups


def window_starts(table: Pieces, group: Group, places: Ints, stride: int) -> Ints:
    """Return the first frame of each window of a group in its memory, shape (windows,).

    `places` are the positions of the first frames of its shards in that memory.
    """
    own = group.pieces
    order = np.argsort(group.shards)
    at = order[np.searchsorted(group.shards[order], table.shard[own])]
    counts = table.windows[own]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(places[at] + table.offset[own], counts) + stride * within


def window_counts(frames: Ints, window: int, stride: int) -> Ints:
    """Number of windows in each run of `frames` frames."""
    return np.maximum(0, (frames - window) // max(stride, 1) + 1)


def activity_numbers(activities: Sequence[str]) -> Ints:
    """Indices of labels in `ACTIVITIES`; `MotionError` for a wrong one."""
    return np.array([activity_number(label) for label in activities], dtype=np.int64)
