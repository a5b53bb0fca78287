"""Buildings of two or three floors, joined by stairs or ramps; levels with heights.

One side of the building is a stairwell: a flight lies between walls, the floor above is open
over it, and both ends have a landing. Flights above one another lie in two lanes and rise in
opposite directions.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.envs.vr.families.draft import MAX_WAY, Draft, Region
from ambulo.envs.vr.families.places.building import OUTER, Style, build, split
from ambulo.envs.vr.families.places.furnished import fill, turned_site, uses
from ambulo.envs.vr.families.places.site import Room, Site
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.level import Level, with_places

RISE, GOING = 0.17, 0.28
"""Highest rise and usual going (depth) of a step, [m]."""
STEEPEST_RAMP = math.radians(25.0)
"""Slope of the steepest ramp, [rad]."""
MAX_PARTS = 400
"""Largest number of boxes and cylinders of a generated building."""
_SLAB = 0.3
"""Thickness of a floor, [m]; more than a step, so that no wall ends within a step of it."""
_LANE_WALL = 0.1
"""Thickness of walls beside a flight, [m]."""
_LANDING = 1.3
"""Depth of landings, [m]."""
_SHORTEST = 6.0
"""Shortest path from start to goal, [m]."""
_OTHER_FLOOR = 0.8
"""Probability that the goal is on another floor than the start."""


@dataclass(frozen=True)
class Stairwell:
    """Layout of the flights, in the axes of the building, [m]."""

    count: int
    """Number of floors."""
    storey: float
    """Height from floor to floor."""
    low: float
    """x of one end of every flight."""
    high: float
    """x of the other end."""
    south: float
    """y of the south edge of the first lane."""
    width: float
    """Width of a flight."""
    steps: int
    """Steps of a flight; 0: a ramp."""

    @property
    def lanes(self) -> int:
        """Number of parallel flights."""
        return min(self.count - 1, 2)

    @property
    def north(self) -> float:
        """Y of the north edge of the last lane's wall."""
        return self.south + self.lanes * (self.width + _LANE_WALL)

    def lane(self, flight: int) -> Region:
        """The rectangle under flight `flight` (0: from the ground)."""
        y = self.south + (flight % 2) * (self.width + _LANE_WALL)
        return (self.low, y, self.high, y + self.width)

    def ends(self, flight: int) -> tuple[float, float]:
        """X of the lower and of the upper end of a flight."""
        return (self.low, self.high) if flight % 2 == 0 else (self.high, self.low)


def storeys(rng: np.random.Generator) -> Level | None:
    """A level of the family `storeys`; None if no start and goal fit."""
    count = 2 if rng.random() < 0.6 else 3
    storey = rng.uniform(2.6, 3.05)
    steps = 0 if rng.random() < 0.35 else math.ceil(storey / RISE)
    slope = rng.uniform(math.radians(17), 0.98 * STEEPEST_RAMP)
    long = steps * GOING if steps else storey / math.tan(slope)
    w = long + 2 * _LANDING + rng.uniform(0.3, 6.0)
    width = rng.uniform(1.0, 1.5)
    lanes = min(count - 1, 2) * (width + _LANE_WALL)
    hall = lanes + rng.uniform(1.3, 2.0)
    h = hall + rng.uniform(3.5, 8.5)
    draft, site = turned_site(rng, w, h, 0.25)
    spare = w - long - 2 * _LANDING
    low = -w / 2 + _LANDING + rng.uniform(0.1, spare - 0.1)
    well = Stairwell(
        count, storey, low, low + long, -h / 2 + OUTER / 2, width, steps
    )  # fmt: skip
    region = (-w / 2, -h / 2, w / 2, h / 2)
    density = rng.uniform(0.3, 0.9)
    for floor in range(count):
        level = Site(draft, site.yaw, floor * storey)
        rooms = _rooms(level, well, region, hall)
        _flight_walls(level, well, floor)
        fill(level, rooms, density)
        if floor > 0:
            _slabs(level, well, floor, region)
    return _placed(rng, _level(draft, site, well))


def _slabs(site: Site, well: Stairwell, floor: int, region: Region) -> None:
    """Build the floor, open above the flight that comes up from below."""
    x0, y0, x1, y1 = region
    a, b, c, d = well.lane(floor - 1)
    b = y0 if floor % 2 == 1 else b
    for piece in ((x0, y0, a, y1), (c, y0, x1, y1), (a, d, c, y1), (a, y0, c, b)):
        if piece[2] - piece[0] > 0.02 and piece[3] - piece[1] > 0.02:
            x, y = site.world((piece[0] + piece[2]) / 2, (piece[1] + piece[3]) / 2)
            half = (piece[2] - piece[0]) / 2, (piece[3] - piece[1]) / 2
            site.draft.box(x, y, *half, site.yaw, _SLAB, site.z - _SLAB)


def _flight_walls(site: Site, well: Stairwell, floor: int) -> None:
    """Walls beside the flights that begin and end on `floor`, and around openings."""
    height = well.storey - _SLAB
    used = [f for f in (floor - 1, floor) if 0 <= f < well.count - 1]
    sides = set()
    for flight in used:
        _, y0, _, y1 = well.lane(flight)
        sides |= {round(y, 6) for y in (y0 - _LANE_WALL, y1) if y > well.south}
        site.solid.add(well.lane(flight))
    for y in sorted(sides):
        site.slab((well.low, y, well.high, y + _LANE_WALL), height)
    if floor > 0:
        foot = well.ends(floor - 1)[0]
        _, y0, _, y1 = well.lane(floor - 1)
        inside = foot if foot == well.low else foot - _LANE_WALL
        site.slab((inside, y0, inside + _LANE_WALL, y1), 1.1)
    for x0, x1 in ((well.low - _LANDING, well.low), (well.high, well.high + _LANDING)):
        site.clear.add((x0, well.south, x1, well.north + 1.0))


def _rooms(site: Site, well: Stairwell, region: Region, hall: float) -> list[Room]:
    """The rooms of one floor; the first is the stairwell with its corridor."""
    x0, y0, x1, y1 = region
    rest = split(site.rng, (x0, y0 + hall, x1, y1), 2.6, 6.5)
    tiles = [(x0, y0, x1, y0 + hall), *rest]
    areas = [(t[2] - t[0]) * (t[3] - t[1]) for t in tiles]
    kinds = uses(["hall", *[""] * len(rest)], areas)
    style = Style(leaves=0.3, height=well.storey - _SLAB)
    site.clear.add((x0, well.north + 0.2, x1, y0 + hall))
    return build(site, tiles, kinds, style)


def _level(draft: Draft, site: Site, well: Stairwell) -> Level:
    """The building as a level with heights."""
    rows = []
    for flight in range(well.count - 1):
        _, y0, _, y1 = well.lane(flight)
        foot, head = (site.world(x, (y0 + y1) / 2) for x in well.ends(flight))
        z = flight * well.storey
        rows.append([*foot, z, *head, z + well.storey, well.width, 0.0])
    flights = np.array(rows)
    level = Level(
        name="",
        bounds=np.array(draft.region),
        boxes=np.array(draft.boxes[:MAX_PARTS]),
        cylinders=np.array(draft.cylinders).reshape(-1, 5),
        heights=True,
    )
    if well.steps == 0:
        return dataclasses.replace(level, ramps=flights)
    counts = np.full((len(flights), 1), float(well.steps))
    return dataclasses.replace(level, stairs=np.hstack([flights, counts]))


def _placed(rng: np.random.Generator, level: Level) -> Level | None:
    """`level` with a start and a goal, mostly on different floors; None: no path."""
    grid = LayeredGrid.of(level)
    cells = np.flatnonzero(grid.free)
    points = grid.points(cells)
    on_floor = _on_floors(level, points)
    if not on_floor.any():
        return None
    cells, points = cells[on_floor], points[on_floor]
    k = int(rng.integers(len(cells)))
    ways = grid.field(points[k]).ravel()[cells]
    fits = np.isfinite(ways) & (ways >= _SHORTEST) & (ways <= MAX_WAY)
    other = fits & (np.abs(points[:, 2] - points[k, 2]) > 1.0)
    if not other.any():
        return None
    wanted = other if rng.random() < _OTHER_FLOOR else fits & ~other
    choice = np.flatnonzero(wanted if wanted.any() else other)
    goal = points[rng.choice(choice)]
    start = np.append(points[k], rng.uniform(-math.pi, math.pi))
    return with_places(level, start[None], goal[None])


def _on_floors(level: Level, points: Floats) -> Bools:
    """Which points are on a floor in the building, not on a flight or furniture, (n,)."""
    flights = np.vstack([level.stairs[:, :6], level.ramps[:, :6]])
    heights = np.unique(np.concatenate([[0.0], flights[:, 5]]))
    inside = np.abs(points[:, 2:] - heights).min(axis=1) < 0.01
    south, north, west, east = level.boxes[
        :4, :2
    ]  # the outer walls of the ground floor
    for span in (north - south, east - west):
        along = np.abs(points[:, :2] @ span)
        inside &= along < (span @ span) / 2
    return inside
