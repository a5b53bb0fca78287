"""Plans of levels with heights: as few as show at most one floor at each place."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.evaluate.playtest.floor import Storey, make_storey, storey_numbers
from ambulo.evaluate.playtest.nodes import Nodes

_BIN = 0.05
"""Heights are told apart this finely, [m]."""


def split(
    nodes: Nodes,
    label: Ints,
    ground: Nodes,
    owner: Ints,
    main: int,
    shown: list[int],
    listed: list[int],
) -> tuple[Floats, tuple[Storey, ...]]:
    """Return the heights between the storeys (k,), and the k + 1 storeys.

    Args:
        nodes: cells on which the axis of a body can be.
        label: part of each, shape (n,).
        ground: cells of all floor.
        owner: part whose people cover each, 0: none, shape (m,).
        main: the part that people are in.
        shown: parts of which no two floors may lie above one another in one plan.
        listed: all parts that plans show.
    """
    counted = np.isin(label, shown)
    limits = _limits(nodes.flat[counted], nodes.z[counted])
    storey = storey_numbers(limits, nodes.z)
    covered = np.isin(owner, [*shown, *listed])
    # What people are in is written last, so that nothing else hides it.
    rank = np.where(owner == main, 2, np.where(np.isin(owner, shown), 1, 0))
    order = np.lexsort((ground.z, rank))
    order = order[covered[order]]
    of_ground = storey_numbers(limits, ground.z[order])
    reachable = label == main
    found = []
    for k in range(len(limits) + 1):
        here, mine = order[of_ground == k], reachable & (storey == k)
        found.append(
            make_storey(
                (nodes.grid.ny, nodes.grid.nx),
                (np.stack([ground.flat[here], owner[here]]), ground.z[here]),
                nodes.flat[mine],
                nodes.z[mine],
            )
        )
    return limits, tuple(found)


def _limits(column: Ints, z: Floats) -> Floats:
    """Heights that separate floors at the same place, as few as there can be, shape (k,).

    Of the heights that do, the one with the least floor is taken.
    """
    order = np.lexsort((z, column))
    column, z = column[order], z[order]
    above = np.flatnonzero(column[1:] == column[:-1])
    pairs = np.column_stack([z[above], z[above + 1]])
    if len(pairs) == 0:
        return np.zeros(0)
    pairs = np.unique(np.round(pairs / _BIN), axis=0) * _BIN
    pairs = pairs[np.argsort(pairs[:, 1], kind="stable")]
    limits, low, high = [], pairs[0, 0], pairs[0, 1]
    for floor, ceiling in pairs[1:]:
        if floor >= high - _BIN / 2:
            limits.append(_emptiest(z, low, high))
            low, high = floor, ceiling
        else:
            low = max(low, floor)
    limits.append(_emptiest(z, low, high))
    return np.array(limits)


def _emptiest(z: Floats, low: float, high: float) -> float:
    """The height above `low` and up to `high` with the least of the floor `z` (n,) around."""
    steps = np.arange(high - _BIN, low + _BIN / 2, -_BIN)
    if len(steps) == 0:
        return 0.5 * (low + high)
    sorted_z = np.sort(z)
    ends = np.searchsorted(sorted_z, [steps - 2 * _BIN, steps + _BIN / 2])
    return float(steps[int(np.argmin(ends[1] - ends[0]))])
