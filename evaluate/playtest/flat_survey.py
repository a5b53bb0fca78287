"""The survey of a flat level: its floor, and every part of it that cannot be reached."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.errors import LevelError
from ambulo.envs.vr.contract import BODY_RADIUS
from ambulo.envs.vr.levels.geodesic import CLEARANCE, FreeGrid, free_grid
from ambulo.envs.vr.levels.level import Level
from ambulo.evaluate.playtest.areas import Area, AreaKind, letters
from ambulo.evaluate.playtest.floor import MAX_AREAS, Floor, make_storey
from ambulo.evaluate.playtest.openings import with_openings

CELL_SIZES = (0.05, 0.1, 0.25)
"""Cell sizes of the floor grid; the first with at most `_MAX_CELLS` cells is used, [m]."""
_MAX_CELLS = 4e6
GAP_WIDTH = 0.8
"""A part that is nowhere wider, and small, is a gap between things, [m]."""
GAP_AREA = 2.0
"""Larger parts are never gaps, [m^2]."""


def survey_flat(level: Level, min_area: float) -> Floor:
    """Return the floor of a flat `level`, and every part that cannot be reached.

    Raises:
        LevelError: no place for a body.
    """
    grid = free_grid(level, cell_size(level, _MAX_CELLS))
    labels, count = ndimage.label(grid.free)
    if count == 0:
        raise LevelError(f"level {level.name!r}: no free floor for the body")
    clear = _clearance(level, grid)
    owner = _owners(grid, labels, clear > 0.0)
    cells = np.bincount(owner.ravel(), minlength=count + 1).astype(np.float64)
    sizes: Floats = cells * grid.resolution**2
    sizes[0] = 0.0
    main = _main_part(level, grid, labels, sizes)
    others = [k for k in np.argsort(-sizes) if k not in (0, main)]
    large = [int(k) for k in others if sizes[k] >= min_area]
    small = [int(k) for k in others if sizes[k] < min_area]
    measured = _measured(grid, labels, clear, sizes, large[:MAX_AREAS], main)
    cover = np.flatnonzero(owner)
    storey = make_storey(
        owner.shape,
        (np.stack([cover, owner.ravel()[cover]]), np.zeros(len(cover))),
        np.flatnonzero(labels == main),
    )
    return Floor(
        level=level,
        x0=grid.x0,
        y0=grid.y0,
        resolution=grid.resolution,
        main=main,
        storeys=(storey,),
        limits=np.zeros(0),
        areas=tuple(with_openings(level, grid, labels, main, measured)),
        slivers=len(small),
        sliver_area=float(sizes[small].sum()),
        unlisted=max(len(large) - MAX_AREAS, 0),
    )


def cell_size(level: Level, most: float) -> float:
    """The finest cell size with at most `most` cells in `level`, [m]."""
    x0, y0, x1, y1 = level.bounds
    area = float((x1 - x0) * (y1 - y0))
    fits = [size for size in CELL_SIZES if area <= most * size**2]
    return fits[0] if fits else CELL_SIZES[-1]


def _clearance(level: Level, grid: FreeGrid) -> Floats:
    """Distance of every cell from the nearest obstacle or edge, about, shape (ny, nx), [m]."""
    floor = np.pad(free_grid(level, grid.resolution, 0.0).free, 1)
    inside = ndimage.distance_transform_edt(floor)[1:-1, 1:-1]
    return np.asarray(np.maximum(inside - 0.5, 0.0) * grid.resolution, np.float64)


def _owners(grid: FreeGrid, labels: Ints, floor: Bools) -> Ints:
    """The part whose people cover each cell of `floor`, 0: none. Shape (ny, nx)."""
    distance, nearest = ndimage.distance_transform_edt(labels == 0, return_indices=True)
    near = distance * grid.resolution <= CLEARANCE + grid.resolution
    return np.asarray(np.where(floor & near, labels[tuple(nearest)], 0))


def _main_part(level: Level, grid: FreeGrid, labels: Ints, sizes: Floats) -> int:
    """The part that holds the level's starts; the largest where it has none."""
    starts = [] if level.start is None else [level.start[:2]]
    starts += list(level.starts[:, :2])
    found = [_label_near(grid, labels, xy) for xy in starts]
    known = [label for label in found if label > 0]
    if known:
        return int(np.bincount(known).argmax())
    return int(np.argmax(sizes))


def _label_near(grid: FreeGrid, labels: Ints, xy: Floats) -> int:
    """The part nearest to `xy` (2,) within the body's radius, 0: none."""
    cell = grid.nearest_free(xy, BODY_RADIUS)
    return 0 if cell is None else int(labels[cell])


def _measured(
    grid: FreeGrid,
    labels: Ints,
    clear: Floats,
    sizes: Floats,
    parts: list[int],
    main: int,
) -> list[Area]:
    """The unreachable `parts`, without their openings."""
    if not parts:
        return []
    slices = ndimage.find_objects(labels)
    main_at_rim = at_rim(slices[main - 1], labels, grid)
    areas = []
    for k, part in enumerate(parts):
        rows, columns = slices[part - 1]
        inside = np.where(labels[rows, columns] == part, clear[rows, columns], -1.0)
        row, column = np.unravel_index(int(np.argmax(inside)), inside.shape)
        width, area = 2.0 * float(inside[row, column]), float(sizes[part])
        kind: AreaKind = "sealed"
        if width < GAP_WIDTH and area < GAP_AREA:
            kind = "gap"
        elif not main_at_rim and at_rim(slices[part - 1], labels, grid):
            kind = "outside"
        corner = np.array([grid.x0, grid.y0, grid.x0, grid.y0])
        edges = np.array([columns.start, rows.start, columns.stop, rows.stop])
        place = np.array([columns.start + column + 0.5, rows.start + row + 0.5])
        areas.append(
            Area(
                name=letters(k),
                kind=kind,
                label=part,
                area=area,
                position=np.append(corner[:2] + place * grid.resolution, 0.0),
                box=corner
                + edges * grid.resolution
                + CLEARANCE * np.array([-1, -1, 1, 1]),
                width=width,
            )
        )
    return areas


def at_rim(
    window: tuple[slice, slice], labels: NDArray[np.integer], grid: FreeGrid
) -> bool:
    """Whether a part comes as near to the edge of the level as a body can."""
    rows, columns = window
    reach = int(np.ceil(CLEARANCE / grid.resolution)) + 1
    return bool(
        rows.start <= reach
        or columns.start <= reach
        or rows.stop >= labels.shape[0] - reach
        or columns.stop >= labels.shape[1] - reach
    )
