"""Journeys of a play-test: where agents start, where they want to go, and ways on from a spot.

Random journeys come from one sequence of candidates that depends on the seed and the
rectangle alone; each level takes the first ones that are possible in it. So two versions of
a level have most journeys in common, and are compared on these.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.errors import LevelError
from ambulo.envs.vr.body.ground_floor import open_ground_floor
from ambulo.envs.vr.levels.geodesic import FINE_RESOLUTION, RESOLUTION, has_few_cells
from ambulo.envs.vr.levels.layer_field_kernels import SAME_FLOOR
from ambulo.envs.vr.levels.layers import CLEARANCE, SNAP, Field, LayeredGrid
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.survey.access import NEAR_PLACE
from ambulo.envs.vr.survey.bodies import LEGS
from ambulo.envs.vr.survey.floor import Floor
from ambulo.envs.vr.survey.movers import (
    clear_of_doors,
    judged_level,
    never_blocked,
)
from ambulo.envs.vr.survey.nodes import parts_at

Plan = Literal["auto", "random"]

MIN_DISTANCE = 2.0
"""Least straight distance of a random journey, unless the level says otherwise, [m]."""
TURN = np.radians(30.0)
"""Agents look at most so far aside from a fixed heading, [rad]."""
ROOMY = 0.8
"""Width of a comfortable door, [m]."""
_BLOCK = 4096
_BLOCKS = 64


@dataclass(frozen=True, eq=False)
class Journey:
    """One way that an agent is asked to walk."""

    key: str
    """The same journey in another version of the level has the same key."""
    start: Floats
    """x, y, yaw, height of the floor, shape (4,), [m] and [rad]."""
    goal: Floats
    """x, y, height of the floor, shape (3,), [m]."""


@dataclass(frozen=True, eq=False)
class Ground:
    """Where journeys may begin and end, and the cells that ways are measured on."""

    floor: Floor
    """Fine cells."""
    level: Level
    """The level as the agents meet it: of bodies with legs its ground floor."""
    grid: LayeredGrid
    """Cells of the ways."""
    allowed: Bools
    """Cells of `floor` that journeys may begin and end in, shape (storeys, ny, nx)."""

    @cached_property
    def roomy(self) -> LayeredGrid:
        """The cells of the ways that pass through openings of `ROOMY`, and larger, alone.

        They are all cells where these are too coarse to tell.
        """
        cell = self.grid.resolution
        return self.grid.narrowed((0.5 * ROOMY - CLEARANCE) // cell * cell)

    def snapped(self, points: Floats, pick: Floats) -> tuple[Floats, Bools]:
        """Centres of allowed cells at `points` (n, 2), and whether there are any.

        `pick` (n,), each in [0, 1), chooses a floor: of as many as lie above one another
        anywhere, so that all floors are chosen as often. Centres: x, y, z, shape (n, 3).
        """
        floor = self.floor
        rows, columns = floor.shape
        at = np.floor((points - [floor.x0, floor.y0]) / floor.resolution)
        inside = ((at >= 0) & (at < [columns, rows])).all(axis=1)
        i, j = np.clip(at.astype(np.int64), 0, [columns - 1, rows - 1]).T
        above = self.allowed[:, j, i].cumsum(axis=0)
        most = int(self.allowed.sum(axis=0).max())
        number = (pick * most).astype(np.int64) + 1
        storey = (above == number).argmax(axis=0)
        found = inside & (above[-1] >= number)
        z = np.stack([storey.z for storey in floor.storeys])[storey, j, i]
        x, y = (np.stack([i, j]) + 0.5) * floor.resolution
        centres = np.column_stack([x + floor.x0, y + floor.y0, np.nan_to_num(z)])
        return centres, found

    def near(self, place: Floats, radius: float) -> Floats:
        """Allowed places within `radius` [m] of `place` (3,), shape (n, 3), [m]."""
        floor = self.floor
        centres = np.vstack(
            [floor.points(k, mask) for k, mask in enumerate(self.allowed)]
        )
        away = centres - place
        beside = np.abs(away[:, 2]) < SAME_FLOOR
        return centres[beside & (np.hypot(*away[:, :2].T) <= radius)]


def ground_of(floor: Floor, *, legs: bool = False) -> Ground:
    """The ground of journeys: reachable on the fine cells and on those of the ways.

    Raises:
        LevelError: no floor, or none that a body with `legs` can walk on.
    """
    level = open_ground_floor(floor.level) if legs else floor.level
    fits = has_few_cells(
        level, 0.5 * FINE_RESOLUTION
    )  # here a cell costs four times as much
    resolution = FINE_RESOLUTION if fits else RESOLUTION
    judged, body = judged_level(level), LEGS if legs else floor.body
    grid = LayeredGrid.of(judged, resolution, body.clearance, body.height)
    grid = never_blocked(judged, grid, body.height)
    parts = grid.parts()
    points = np.vstack(
        [floor.points(k, storey.reachable) for k, storey in enumerate(floor.storeys)]
    )
    at = parts_at(grid, parts, points)
    known = at[at > 0]
    if len(known) == 0:
        raise LevelError(f"level {level.name!r}: no floor that a body can walk on")
    main = int(np.bincount(known).argmax())
    allowed = floor.reachable
    fits = at == main
    clear = fits & clear_of_doors(level, points)
    allowed[allowed] = clear if clear.any() else fits
    return Ground(floor, level, grid, allowed)


@dataclass(frozen=True, eq=False)
class OwnPlaces:
    """Starts and goals that a level names and that a body can be at."""

    starts: list[tuple[Floats, float]]
    """Places around each start, shape (n, 3), [m], and its heading, [rad]."""
    goals: Floats
    """Shape (m, 3), [m]."""
    unreachable: list[str]
    """Keys of the other places in the level file."""


def own_places(ground: Ground) -> OwnPlaces:
    """The starts and goals that the level names."""
    level = ground.floor.level
    starts, goals = [], []
    if level.start is not None:
        x, y, yaw = level.start
        starts.append(("start", np.array([x, y, level.start_height, yaw])))
    starts += [(f"starts[{k}]", s) for k, s in enumerate(level.starts)]
    if level.goal_place is not None:
        goals.append(("goal", level.goal_place))
    goals += [(f"goals[{k}]", goal) for k, goal in enumerate(level.goals)]
    around = [(key, ground.near(s[:3], NEAR_PLACE), float(s[3])) for key, s in starts]
    ends = [(key, goal, len(ground.near(goal, NEAR_PLACE)) > 0) for key, goal in goals]
    return OwnPlaces(
        starts=[(places, yaw) for _, places, yaw in around if len(places)],
        goals=np.array([goal for _, goal, fits in ends if fits]).reshape(-1, 3),
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
        own = OwnPlaces([], np.zeros((0, 3)), [])
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
    places = [corner + rng.random((_BLOCK, 2)) * size for _ in range(2)]
    turn = rng.uniform(-1.0, 1.0, _BLOCK)
    yaw = np.pi * turn
    pick = rng.integers(2**31, size=(_BLOCK, 3))
    floors = rng.random((2, _BLOCK))
    begin, begins = ground.snapped(places[0], floors[0])
    end, ends = ground.snapped(places[1], floors[1])
    if own.starts:
        begins[:] = True
        for k, (which, where, _) in enumerate(pick):
            places, heading = own.starts[which % len(own.starts)]
            begin[k] = places[where % len(places)]
            yaw[k] = heading + TURN * turn[k]
    if len(own.goals):
        ends[:] = True
        end = own.goals[pick[:, 2] % len(own.goals)]
    away = np.hypot(*(end - begin)[:, :2].T)
    fits = begins & ends & (away >= distance[0]) & (away <= distance[1])
    return [
        Journey(f"{block}.{k}", np.array([*begin[k, :2], yaw[k], begin[k, 2]]), end[k])
        for k in np.flatnonzero(fits)
    ]


Obstacle = Literal["no way", "gap", "floor", "detour", "none"]
_MOST_GOALS = 12
"""Goals of a spot that ways are measured to."""
_LONGER, _MORE = 1.25, 1.0
"""A way of a wide body is the shortest one too if it is at most this many times as long [1],
and this much longer, [m]; a straight way is measured by the same numbers."""
_STEP = 0.1
"""Distance of the points of a way that are looked at, [m]."""


@dataclass(frozen=True, eq=False)
class WayOn:
    """The shortest way from a stuck spot to a goal."""

    obstacle: Obstacle
    """`no way`; `gap`: it is narrower than `ROOMY`; `floor`: the goal is on another floor, of
    which the agent knows nothing; `detour`: it leads round something; `none`."""
    length: float
    """Length of the way, [m]; inf: there is none."""
    straight: float
    """Horizontal distance of the goal, [m]."""
    place: Floats
    """Where a gap begins, else the goal, shape (3,), [m]."""


def way_on(
    ground: Ground, spot: Floats, journeys: list[Journey], *, reads_heights: bool
) -> WayOn:
    """The commonest way from `spot` (3,) to the goals of the `journeys` that end there.

    Args:
        ground: of the level.
        spot: where agents were stuck, [m].
        journeys: of these agents; `_MOST_GOALS` goals are looked at.
        reads_heights: whether the agents see other floors than their own.
    """
    goals = np.unique(np.array([journey.goal for journey in journeys]), axis=0)
    chosen = np.unique(np.linspace(0, len(goals) - 1, _MOST_GOALS).round().astype(int))
    ways = [_way(ground, spot, goal, reads_heights) for goal in goals[chosen]]
    [(most, _)] = Counter(way.obstacle for way in ways).most_common(1)
    return next(way for way in ways if way.obstacle == most)


def _way(ground: Ground, spot: Floats, goal: Floats, reads_heights: bool) -> WayOn:
    """The way from `spot` to one `goal`, both (3,)."""
    grid, roomy = ground.grid, ground.roomy
    field, wide = grid.field(goal), roomy.field(goal)
    length, straight = _left(grid, field, spot), float(np.hypot(*(goal - spot)[:2]))
    if not np.isfinite(length):
        return WayOn("no way", length, straight, goal)
    more = _left(roomy, wide, spot) - length
    if more > (_LONGER - 1.0) * length + _MORE:
        points = _along(grid.path(field, spot))
        extra = (_left(roomy, wide, p) - _left(grid, field, p) for p in points)
        passed = (p for p, e in zip(points, extra, strict=True) if e < 0.5 * more)
        return WayOn("gap", length, straight, next(passed, goal))
    if abs(goal[2] - spot[2]) > SAME_FLOOR and not reads_heights:
        return WayOn("floor", length, straight, goal)
    detour = length > _LONGER * straight + _MORE
    return WayOn("detour" if detour else "none", length, straight, goal)


def _left(grid: LayeredGrid, field: Field, place: Floats) -> float:
    """Way that is left at `place` (3,), [m]; inf: no cell near it, or no way."""
    cell = grid.nearest(place, SNAP)
    return np.inf if cell is None else float(field.ravel()[cell])


def _along(path: Floats) -> Floats:
    """Points of `path` (n, 3), close together, shape (m, 3), [m]."""
    rows = [path[:1]]
    for begin, end in pairwise(path):
        parts = max(1, int(np.ceil(np.hypot(*(end - begin)[:2]) / _STEP)))
        rows.append(begin + np.linspace(0.0, 1.0, parts + 1)[1:, None] * (end - begin))
    return np.vstack(rows)
