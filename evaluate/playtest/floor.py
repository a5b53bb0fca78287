"""The walkable floor of a level: its parts, and one plan for each storey."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.vr.levels.level import Level
from ambulo.evaluate.playtest.areas import Area
from ambulo.evaluate.playtest.bodies import Access, Body

MIN_AREA = 0.3
"""Unreachable parts with less floor are slivers: counted, not listed, [m^2]."""
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
    """Of which level."""
    body: Body
    """For whom."""
    access: tuple[Access, ...]
    """What it and other bodies cannot reach."""
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


def make_storey(
    shape: tuple[int, int],
    cover: tuple[Ints, Floats],
    reachable: Ints,
    heights: Floats | None = None,
) -> Storey:
    """A storey of the cells that are given by their flat indices.

    Args:
        shape: rows and columns.
        cover: flat index, and number of the part, of each covered cell; shapes (2, n) as
            integers, and their heights (n,), [m].
        reachable: flat indices of cells that the axis of a body reaches.
        heights: of these, [m]; None: 0.
    """
    (cells, owners), z = cover
    owner = np.zeros(shape, np.int64)
    height = np.full(shape, np.nan)
    owner.ravel()[cells] = owners
    height.ravel()[cells] = z
    mask = np.zeros(shape, np.bool_)
    mask.ravel()[reachable] = True
    height.ravel()[reachable] = 0.0 if heights is None else heights
    walked = height[mask] if mask.any() else height[np.isfinite(height)]
    return Storey(*_named(walked), mask, owner, height)


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
