"""Journeys of a play-test: where agents start and where they want to go.

Random journeys come from one sequence of candidates that depends on the seed and the
rectangle alone; each level takes the first ones that are possible in it. So two versions of
a level have most journeys in common, and are compared on these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import ndimage

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.errors import LevelError
from ambulo.envs.vr.levels.geodesic import (
    CLEARANCE,
    FINE_RESOLUTION,
    MAX_CELLS,
    RESOLUTION,
    FreeGrid,
    free_grid,
)
from ambulo.evaluate.playtest.floor import Floor

Plan = Literal["auto", "random"]

MIN_DISTANCE = 2.0
"""Least straight distance of a random journey, unless the level says otherwise, [m]."""
JITTER = 0.5
"""Agents begin within this distance of a fixed start, [m]."""
TURN = np.radians(30.0)
"""Agents look at most so far aside from a fixed heading, [rad]."""
_BLOCK = 4096
_BLOCKS = 64


@dataclass(frozen=True, eq=False)
class Journey:
    """One way that an agent is asked to walk."""

    key: str
    """The same journey in another version of the level has the same key."""
    start: Floats
    """x, y, yaw, shape (3,), [m] and [rad]."""
    goal: Floats
    """x, y, shape (2,), [m]."""


@dataclass(frozen=True, eq=False)
class Ground:
    """Where journeys may begin and end, and the cells that ways are measured on."""

    floor: Floor
    """Fine cells."""
    resolution: float
    """Cell size of the ways, [m]."""
    allowed: Bools
    """Cells of `floor.grid` that journeys may begin and end in, shape (ny, nx)."""

    def snapped(self, points: Floats) -> tuple[Floats, Bools]:
        """Centres of the cells that hold `points` (n, 2), and which of them are allowed."""
        grid = self.floor.grid
        at = np.floor((points - [grid.x0, grid.y0]) / grid.resolution).astype(np.int64)
        inside = ((at >= 0) & (at < [grid.nx, grid.ny])).all(axis=1)
        at = np.clip(at, 0, [grid.nx - 1, grid.ny - 1])
        centres = (at + 0.5) * grid.resolution + [grid.x0, grid.y0]
        return centres, inside & self.allowed[at[:, 1], at[:, 0]]

    def near(self, xy: Floats, radius: float) -> Floats:
        """Allowed places within `radius` [m] of `xy` (2,), shape (n, 2), [m]."""
        centres = self.floor.grid.centres(self.allowed)
        return centres[np.hypot(*(centres - xy).T) <= radius]


def ground_of(floor: Floor) -> Ground:
    """The ground of journeys: reachable on the fine cells and on those of the ways."""
    level = floor.level
    x0, y0, x1, y1 = level.bounds
    fits = (x1 - x0) * (y1 - y0) <= MAX_CELLS * FINE_RESOLUTION**2
    coarse = free_grid(level, FINE_RESOLUTION if fits else RESOLUTION, CLEARANCE)
    parts, _ = ndimage.label(coarse.free)
    centres = floor.grid.centres(floor.reachable)
    at = _parts_at(coarse, parts, centres)
    known = at[at > 0]
    if len(known) == 0:
        raise LevelError(f"level {level.name!r}: no floor that a body can walk on")
    main = int(np.bincount(known).argmax())
    allowed = np.zeros_like(floor.grid.free)
    allowed[floor.reachable] = at == main
    return Ground(floor, coarse.resolution, allowed)


def _parts_at(grid: FreeGrid, parts: Ints, points: Floats) -> Ints:
    """The connected part at each of `points` (n, 2), shape (n,)."""
    at = ((points - [grid.x0, grid.y0]) / grid.resolution).astype(np.int64)
    return parts[np.minimum(at[:, 1], grid.ny - 1), np.minimum(at[:, 0], grid.nx - 1)]


@dataclass(frozen=True, eq=False)
class OwnPlaces:
    """Starts and goals that a level names and that a body can be at."""

    starts: list[tuple[Floats, float]]
    """Places around each start, shape (n, 2), [m], and its heading, [rad]."""
    goals: Floats
    """Shape (m, 2), [m]."""
    unreachable: list[str]
    """Keys of the other places in the level file."""


def own_places(ground: Ground) -> OwnPlaces:
    """The starts and goals that the level names."""
    level = ground.floor.level
    starts = [] if level.start is None else [("start", level.start)]
    starts += [(f"starts[{k}]", s[[0, 1, 3]]) for k, s in enumerate(level.starts)]
    goals = [] if level.goal is None else [("goal", level.goal)]
    goals += [(f"goals[{k}]", goal[:2]) for k, goal in enumerate(level.goals)]
    around = [(key, ground.near(s[:2], JITTER), float(s[2])) for key, s in starts]
    ends = [(key, goal, len(ground.near(goal, JITTER)) > 0) for key, goal in goals]
    return OwnPlaces(
        starts=[(places, yaw) for _, places, yaw in around if len(places)],
        goals=np.array([goal for _, goal, fits in ends if fits]).reshape(-1, 2),
        unreachable=[key for key, places, _ in around if len(places) == 0]
        + [key for key, _, fits in ends if not fits],
    )


def draw_journeys(
    ground: Ground,
    count: int,
    seed: int,
    *,
    plan: Plan = "auto",
    box: Floats | None = None,
) -> list[Journey]:
    """Return `count` journeys, between the level's own places where it has some.

    Args:
        ground: of the level.
        count: how many.
        seed: of everything random.
        plan: `random` ignores the places of the level.
        box: rectangle x0, y0, x1, y1 that random places are drawn in; two versions of a
            level need the same one; default: that of the level.

    Raises:
        LevelError: no two places are far enough apart.
    """
    level = ground.floor.level
    own = own_places(ground)
    if plan == "random":
        own = OwnPlaces([], np.zeros((0, 2)), [])
    fixed = len(own.starts) > 0 and len(own.goals) > 0
    low, high = level.goal_distance or (MIN_DISTANCE, np.inf)
    if fixed:
        low, high = 0.0, np.inf
    box = level.bounds if box is None else box
    found: list[Journey] = []
    for block in range(_BLOCKS):
        found += _candidates(ground, own, (block, seed), box, (low, high))
        if len(found) >= count:
            return found[:count]
    if not found:
        raise LevelError(
            f"level {level.name!r}: no two reachable places are {low:g} to {high:g} m "
            "apart; a level needs more floor, or its own goal_distance"
        )
    return [found[k % len(found)] for k in range(count)]


def _candidates(
    ground: Ground,
    own: OwnPlaces,
    draw: tuple[int, int],
    box: Floats,
    distance: tuple[float, float],
) -> list[Journey]:
    """The possible journeys among the candidates of `draw` = (block, seed)."""
    block, seed = draw
    rng = np.random.default_rng([seed, 12, block])
    corner, size = box[:2], box[2:] - box[:2]
    begin, begins = ground.snapped(corner + rng.random((_BLOCK, 2)) * size)
    end, ends = ground.snapped(corner + rng.random((_BLOCK, 2)) * size)
    turn = rng.uniform(-1.0, 1.0, _BLOCK)
    yaw = np.pi * turn
    pick = rng.integers(2**31, size=(_BLOCK, 3))
    if own.starts:
        begins[:] = True
        for k, (which, where, _) in enumerate(pick):
            places, heading = own.starts[which % len(own.starts)]
            begin[k] = places[where % len(places)]
            yaw[k] = heading + TURN * turn[k]
    if len(own.goals):
        ends[:] = True
        end = own.goals[pick[:, 2] % len(own.goals)]
    away = np.hypot(*(end - begin).T)
    fits = begins & ends & (away >= distance[0]) & (away <= distance[1])
    return [
        Journey(f"{block}.{k}", np.array([*begin[k], yaw[k]]), end[k])
        for k in np.flatnonzero(fits)
    ]
