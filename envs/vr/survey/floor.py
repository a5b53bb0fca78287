"""The walkable floor of a level: parts out of reach, and one plan for each storey."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.survey.bodies import Access, Body
from ambulo.envs.vr.survey.parts import Parts

MAX_AREAS = 50
"""Unreachable parts that are listed, the largest first."""
_SAME_STOREY = 0.02
"""Heights this near to a limit between storeys count as above it, [m]."""
_MOSTLY = 0.6
"""A storey with this fraction of its floor near one height is named after that height."""


@dataclass(frozen=True, eq=False)
class Storey:
    """The floors of a level that one plan shows: at most one at each place."""

    height: float
    """Most common height of its floor, [m]."""
    title: str
    """For people."""
    reachable: Bools
    """Cells of the floor grid that the axis of a body reaches, shape (ny, nx)."""
    owner: Ints
    """Part of the floor that people on it cover in each cell, 0: none, shape (ny, nx)."""
    z: Floats
    """Height of the floor where `owner` is not 0, else NaN, shape (ny, nx), [m]."""


@dataclass(frozen=True, eq=False)
class Floor:
    """Free floor of a level on fine cells, and its parts.

    A flat level has one storey. Cell (row, column) of all storeys lies at the same x, y.
    """

    level: Level
    """Level of the floor."""
    body: Body
    """For whom."""
    access: tuple[Access, ...]
    """Parts that it and other bodies cannot reach."""
    x0: float
    """Lower x of the cells, [m]."""
    y0: float
    """Lower y of the cells, [m]."""
    resolution: float
    """Cell size, [m]."""
    main: int
    """Number of the part that people are in."""
    storeys: tuple[Storey, ...]
    """From below."""
    limits: Floats
    """Heights between storeys, ascending, shape (storeys - 1,), [m]."""
    areas: tuple[Area, ...]
    """Unreachable parts, the largest first."""
    slivers: int
    """Unreachable parts with less than the least area of floor."""
    sliver_area: float
    """Floor of all slivers, [m^2]."""
    unlisted: int = 0
    """Unreachable parts beyond `MAX_AREAS`, all smaller than those in `areas`; with heights
    the sealed ones."""
    tops: int = 0
    """Tops of tables, beds and other things that are not listed."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of a storey."""
        rows, columns = self.storeys[0].owner.shape
        return rows, columns

    @property
    def reachable(self) -> Bools:
        """Cells that the axis of a body reaches, shape (storeys, ny, nx)."""
        return np.stack([storey.reachable for storey in self.storeys])

    @property
    def reachable_area(self) -> float:
        """Floor that people can cover, [m^2]."""
        return sum(self.area_of(storey) for storey in self.storeys)

    @property
    def rise(self) -> float:
        """Height of the highest reachable floor above the lowest, [m]."""
        z = np.concatenate([storey.z[storey.reachable] for storey in self.storeys])
        return float(np.ptp(z))

    def name_at(self, position: Floats) -> str:
        """The storey of `position` (3,) as its plan is called."""
        return self.storeys[int(self.storey_at(position[2:])[0])].title

    def area_of(self, storey: Storey) -> float:
        """Floor of `storey` that people can cover, [m^2]."""
        return float((storey.owner == self.main).sum()) * self.resolution**2

    def sealed(self) -> list[Area]:
        """The parts that are a fault of the level."""
        return [area for area in self.areas if area.kind == "sealed"]

    def storey_at(self, z: Floats) -> Ints:
        """The storey of the heights `z` (n,), shape (n,)."""
        return storey_numbers(self.limits, z)

    def cells_at(self, points: Floats) -> tuple[Ints, Ints, Ints]:
        """Storey, row and column of `points` (n, 3), clipped to the cells."""
        rows, columns = self.shape
        i, j = np.floor((points[:, :2] - [self.x0, self.y0]) / self.resolution).T
        row = np.clip(j.astype(np.int64), 0, rows - 1)
        column = np.clip(i.astype(np.int64), 0, columns - 1)
        return self.storey_at(points[:, 2]), row, column

    def points(self, storey: int, mask: Bools) -> Floats:
        """Centres of the cells in `mask` (ny, nx) of a storey: x, y, z, shape (n, 3), [m]."""
        rows, columns = np.nonzero(mask)
        x = self.x0 + (columns + 0.5) * self.resolution
        y = self.y0 + (rows + 0.5) * self.resolution
        z = np.nan_to_num(self.storeys[storey].z[rows, columns])
        return np.column_stack([x, y, z])


def storey_numbers(limits: Floats, z: Floats) -> Ints:
    """How many of the `limits` (k,) lie below each of `z` (n,), shape (n,)."""
    return np.searchsorted(limits, np.asarray(z) + _SAME_STOREY, side="right")


def _named(height: Floats) -> tuple[float, str]:
    """The most common height of a floor (n,), and its name."""
    z = np.sort(height)
    if len(z) == 0:
        return 0.0, "no floor"
    last = np.searchsorted(z, z + 0.3, side="right")
    first = int(np.argmax(last - np.arange(len(z))))
    usual = float(np.median(z[first : last[first]]))
    if last[first] - first >= _MOSTLY * len(z):
        return usual, f"floor at {usual + 0.0:.1f} m".replace("-0.0", "0.0")
    return usual, f"floors from {z[0]:.1f} to {z[-1]:.1f} m"


GAP_AREA = 2.0
"""Larger parts are never gaps, [m^2]."""
AreaKind = Literal["sealed", "tight", "ride", "gap", "top", "outside"]


@dataclass(frozen=True, eq=False)
class Area:
    """A part of the floor on which a person fits but which cannot be reached."""

    name: str
    """Letter on the plan."""
    kind: AreaKind
    """`sealed`; `tight`: only an exactly centred body gets in; `ride`: only a moving platform
    leads there; `gap`: between furniture; `top`: on top of things; `outside`: beyond the
    outer walls."""
    label: int
    """Its number in `Storey.owner`."""
    area: float
    """Floor area, [m^2]."""
    position: Floats
    """The place in it that is farthest from everything, shape (3,), [m]."""
    box: Floats
    """Bounding rectangle x0, y0, x1, y1, shape (4,), [m]."""
    width: float
    """Diameter of the largest circle of free floor in it, [m]."""
    opening: float | None = None
    """Width of the widest way in, about, [m]; None: less than 0.1 m."""
    opening_position: Floats | None = None
    """The narrowest place of that way, shape (3,), [m]."""
    carrier: str = ""
    """Key of the platform of a `ride` in the level file."""
    cause: str = ""
    """Reason why bodies cannot get in, if it is known."""


def letters(index: int) -> str:
    """A, B, ... Z, AA, AB, ..."""
    head, tail = divmod(index, 26)
    return ("" if head == 0 else letters(head - 1)) + chr(ord("A") + tail)


_BIN = 0.05
"""Resolution of heights, [m]."""


def split(
    parts: Parts, main: int, shown: list[int], listed: list[int]
) -> tuple[Floats, tuple[Storey, ...]]:
    """Return the heights between the storeys (k,), and the k + 1 storeys.

    Args:
        parts: of the floor.
        main: the part that people are in.
        shown: parts of which no two floors may lie above one another in one plan.
        listed: all parts that plans show.
    """
    nodes, label, ground, owner = parts.nodes, parts.label, parts.ground, parts.owner
    counted = np.isin(label, shown)
    limits = _limits(nodes.flat[counted], nodes.z[counted])
    storey = storey_numbers(limits, nodes.z)
    covered = np.isin(owner, [*shown, *listed])
    # What people are in is written last, so that nothing else hides it.
    rank = np.where(owner == main, 2, np.where(np.isin(owner, shown), 1, 0))
    order = np.lexsort((ground.z, rank))
    order = order[covered[order]]
    of_ground = storey_numbers(limits, ground.z[order])
    reachable, shape = label == main, (nodes.grid.ny, nodes.grid.nx)
    found = []
    for k in range(len(limits) + 1):
        here, mine = order[of_ground == k], reachable & (storey == k)
        cover, mask = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
        height = np.full(shape, np.nan)
        cover.ravel()[ground.flat[here]] = owner[here]
        height.ravel()[ground.flat[here]] = ground.z[here]
        mask.ravel()[nodes.flat[mine]] = True
        height.ravel()[nodes.flat[mine]] = nodes.z[mine]
        walked = height[mask] if mask.any() else height[np.isfinite(height)]
        found.append(Storey(*_named(walked), mask, cover, height))
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
