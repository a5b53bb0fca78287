from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from ambulo.envs.vr.families import generate
from ambulo.envs.vr.levels.geodesic import field_resolution, path_length, tour_length
from ambulo.envs.vr.levels.layers import CLEARANCE, LayeredGrid
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.task.fields import DistanceFields


def _level(**parts: object) -> Level:
    arrays = {k: np.array(v, np.float64) for k, v in parts.items()}
    return Level(name="t", **{"bounds": np.array([0.0, 0.0, 20.0, 20.0]), **arrays})


def centres(grid: LayeredGrid) -> np.ndarray:
    """x and y of the free cells, shape (n, 2)."""
    return grid.points(np.flatnonzero(grid.free))[:, :2]


def _plain_dijkstra(grid: LayeredGrid, goal: tuple[int, int]) -> np.ndarray:
    """Lengths of the same 16 moves by SciPy, from the goal's cell only."""
    free = np.pad(grid.free[0], 2)
    cells = np.arange(free.size).reshape(free.shape)
    starts, ends, lengths = [], [], []
    for dy, dx in product(range(-2, 3), repeat=2):
        sy, sx = int(np.sign(dy)), int(np.sign(dx))
        between = {
            (0, 1): [], (1, 0): [], (1, 1): [(0, sx), (sy, 0)],
            (1, 2): [(0, sx), (sy, sx)], (2, 1): [(sy, 0), (sy, sx)],
        }.get((abs(dy), abs(dx)))  # fmt: skip
        if between is None:
            continue
        ok = free.copy()
        for step in [(dy, dx), *between]:
            ok &= np.roll(free, (-step[0], -step[1]), (0, 1))
        starts.append(cells[ok])
        ends.append(np.roll(cells, (-dy, -dx), (0, 1))[ok])
        lengths.append(np.full(ok.sum(), math.hypot(dx, dy)))
    edges = np.concatenate(lengths), (np.concatenate(starts), np.concatenate(ends))
    graph = csr_array(edges, shape=(free.size, free.size))
    far = dijkstra(graph, indices=cells[goal[0] + 2, goal[1] + 2])
    return far.reshape(free.shape)[2:-2, 2:-2] * grid.resolution


def test_open_field_is_almost_euclidean() -> None:
    grid = LayeredGrid.of(_level())
    field = grid.field((7.3, 11.8))[0]
    straight = np.hypot(*(centres(grid) - [7.3, 11.8]).T)
    ratio = field[grid.free[0]] / straight
    assert field.dtype == np.float32
    assert field.shape == (80, 80)
    assert ratio.min() > 0.9999
    assert ratio.max() < 1.03


def test_cells_keep_the_clearance() -> None:
    grid = LayeredGrid.of(
        _level(
            boxes=[[10, 10, 1, 2, 1, 1, 0.5]],
            cylinders=[[4, 4, 0.7, 2]],
            holes=[[14, 2, 16, 5]],
        )
    )
    x, y = centres(grid).T
    edge = np.minimum.reduce([x, y, 20 - x, 20 - y])
    drum = np.hypot(x - 4, y - 4) - 0.7
    hole = np.hypot(np.maximum(abs(x - 15) - 1, 0), np.maximum(abs(y - 3.5) - 1.5, 0))
    c, s = math.cos(0.5), math.sin(0.5)
    u, v = c * (x - 10) + s * (y - 10), c * (y - 10) - s * (x - 10)
    box = np.hypot(np.maximum(abs(u) - 2, 0), np.maximum(abs(v) - 1, 0))
    room = np.minimum.reduce([edge, drum, hole, box])
    assert room.min() >= CLEARANCE - 1e-9
    assert room.min() < CLEARANCE + 0.1
    lost = 6400 - len(x)
    area = 4 * 20 * CLEARANCE + 8 + 6 + math.pi * 0.49
    assert lost / 16 == pytest.approx(area + CLEARANCE * (12 + 10 + 4.4), rel=0.1)


@pytest.mark.parametrize("resolution", [0.25, 0.1])
@pytest.mark.parametrize("side", [0.15, 0.5, 2.0])
def test_cells_keep_the_clearance_from_holes_anywhere(
    side: float, resolution: float
) -> None:
    for x, y in np.random.default_rng(3).uniform(4.0, 6.0, (8, 2)):
        level = _level(holes=[[x, y, x + side, y + side]])
        grid = LayeredGrid.of(level, resolution)
        u, v = centres(grid).T
        away = np.hypot(
            np.maximum.reduce([x - u, u - x - side, 0 * u]),
            np.maximum.reduce([y - v, v - y - side, 0 * v]),
        )
        assert away.min() >= CLEARANCE - 1e-9


def test_shapes_overhead_and_paint_do_not_block() -> None:
    plain = LayeredGrid.of(_level())
    level = _level(boxes=[[10, 10, 3, 1, 1, 0.5, 0], [5, 5, 0, 1, 1, 0.005, 0]])
    assert (LayeredGrid.of(level).free == plain.free).all()


@pytest.mark.parametrize("family", ["clutter", "maze", "pits"])
def test_field_matches_plain_dijkstra(family: str) -> None:
    level = generate(family, 5)
    grid = LayeredGrid.of(level)
    field = grid.field(level.goal)[0]
    expected = _plain_dijkstra(grid, grid.cell(level.goal))
    reached = np.isfinite(expected)
    assert (np.isfinite(field) == reached).all()
    assert (field[reached] <= expected[reached] + 1e-3).all()
    far = reached & (expected > 1.0)
    assert (field[far] / expected[far]).min() > 0.93
    assert np.median(field[far] / expected[far]) > 0.98


def test_wall_detour_by_hand() -> None:
    level = _level(boxes=[[10, 8, 1.25, 0.1, 8, 1.25, 0]])
    corner = 16 + CLEARANCE
    by_hand = 2 * math.hypot(5 - 0.1 - CLEARANCE, corner - 5) + 2 * (0.1 + CLEARANCE)
    assert path_length(level, (5, 5), (15, 5)) == pytest.approx(by_hand, rel=0.03)
    grid = LayeredGrid.of(level)
    field = grid.field((15, 5))[0]
    assert field[grid.cell((5, 5))] == pytest.approx(by_hand, rel=0.04)


def test_no_way_is_infinite() -> None:
    level = _level(holes=[[9.5, 0, 10.5, 20]])
    assert path_length(level, (5, 5), (15, 5)) == math.inf
    grid = LayeredGrid.of(level)
    field = grid.field((15, 5))
    assert not np.isfinite(field[0, :, :30]).any()
    assert grid.path(field, (5, 5)).shape == (0, 3)
    assert grid.distance(field, (5, 5)) == math.inf


def test_goal_near_a_wall_is_snapped_but_not_inside_one() -> None:
    level = _level(boxes=[[10, 10, 1, 3, 3, 1, 0]])
    grid = LayeredGrid.of(level)
    assert np.isfinite(grid.field((6.9, 10))[0]).any()
    assert not np.isfinite(grid.field((10, 10))[0]).any()


def test_knight_and_diagonal_moves_do_not_cut_corners() -> None:
    walls = [[1.5, 1.5, 1, 0.05, 0.05, 1, 0], [2.5, 0.5, 1, 0.05, 0.05, 1, 0]]
    level = Level("t", np.array([-1.0, -1.0, 5.0, 4.0]), boxes=np.array(walls))
    grid = LayeredGrid.of(level, 1.0, 0.4)
    field = grid.field((0.5, 0.5))[0]
    assert not grid.free[0, 2, 2]
    assert not grid.free[0, 1, 3]
    assert field[2, 3] > 3.4


def test_distances_and_directions_of_many_levels() -> None:
    grid = LayeredGrid.of(_level())
    fields = DistanceFields(2, 1)
    fields.allocate(0, LayeredGrid.of(_level(holes=[[1, 1, 2, 2]]), 0.5))
    fields.allocate(1, grid)
    fields.view(1, 0)[:] = grid.field((5.0, 5.0)).ravel()
    places = np.array([[9.0, 8.0, 0.0], [5.0, 5.0, 0.0], [0.05, 5.0, 0.0]])
    slots, goals = np.ones(3, np.int64), np.zeros(3, np.int64)
    ways = fields.distance(slots, goals, places)
    directions = fields.direction(slots, goals, places)
    assert ways[0] == pytest.approx(5.0, rel=0.03)
    assert directions[0] == pytest.approx((-0.8, -0.6), abs=0.35)
    assert math.hypot(*directions[0]) == pytest.approx(1.0)
    assert ways[1] < 0.2
    assert (directions[1] == 0.0).all()
    assert ways[2] == pytest.approx(4.95, rel=0.05)
    assert directions[2, 0] > 0.7
    assert np.isinf(fields.distance(slots - 1, goals, places)).all()


def test_descending_the_direction_reaches_the_goal() -> None:
    level = generate("maze", 11)
    grid = LayeredGrid.of(level)
    fields = DistanceFields(1, 1)
    fields.allocate(0, grid)
    fields.view(0, 0)[:] = grid.field(level.goal).ravel()
    zero = np.zeros(1, np.int64)
    place, step = np.append(level.start[:2], 0.0)[None], 0.1
    length = fields.distance(zero, zero, place)[0]
    for _ in range(int(1.3 * length / step) + 20):
        place[0, :2] += step * fields.direction(zero, zero, place)[0]
    assert math.dist(place[0, :2], level.goal) < 0.5


@pytest.mark.parametrize("family", ["maze", "corridors", "utrap"])
def test_path_is_free_taut_and_no_longer_than_the_field(family: str) -> None:
    level = generate(family, 3)
    grid = LayeredGrid.of(level)
    field = grid.field(level.goal)
    path = grid.path(field, level.start[:2], level.goal)[:, :2]
    assert path[0] == pytest.approx(level.start[:2])
    assert path[-1] == pytest.approx(level.goal)
    length = np.hypot(*np.diff(path, axis=0).T).sum()
    assert length <= field[0][grid.cell(level.start)] * 1.005 + 0.05
    assert length >= math.dist(level.start[:2], level.goal) - 1e-6
    for a, b in pairwise(path):
        for t in np.linspace(0, 1, 50):
            assert grid.free[0][grid.cell(a + t * (b - a))]


def test_narrow_doors_need_fine_cells() -> None:
    pose = {"start": [5.0, 5.0, 0.0], "goal": [15.0, 5.0]}
    walls = [[10, 4.57, 1, 0.1, 4.57, 1, 0], [10, 14.92, 1, 0.1, 5.08, 1, 0]]
    assert field_resolution(_level(boxes=walls, **pose)) == 0.1
    assert field_resolution(_level(boxes=walls[:1], **pose)) == 0.25
    walls[0][4] = walls[0][1] = 4.86
    assert field_resolution(_level(boxes=walls, **pose)) == 0.0


BOUNDS = np.array([-10.0, -10.0, 10.0, 10.0])
FLOOR = Level("floor", BOUNDS)


def test_one_stop_is_the_way_there() -> None:
    level = Level("wall", BOUNDS, boxes=np.array([[0, 0, 1.0, 0.1, 5, 1, 0.0]]))
    start, goal = np.array([-4.0, 1.0]), np.array([4.0, -1.0])
    length = tour_length(level, start, goal[None], 1.0)
    assert length == path_length(level, start, goal)
    assert length > 10.0


@pytest.mark.parametrize(
    ("stops", "expected"),
    [
        ([[0, 0], [6, 0]], 11.0),  # straight through the first disc
        ([[0, 0], [-5, 0]], 8.0),  # turns back at the edge of the disc
        ([[0, 1], [6, 0]], 11.0),  # the way touches the disc on the left anyhow
        ([[0, 0], [0, 5]], 8.70),  # around a corner, cut by the disc
        ([[0, 0], [5, 0], [0, 0]], 13.0),  # to the far one and back
    ],
)
def test_a_tour_comes_near_each_stop_and_ends_in_the_last(stops, expected) -> None:
    start = np.array([-5.0, 0.0])
    length = tour_length(FLOOR, start, np.array(stops, np.float64), 1.0)
    assert length == pytest.approx(expected, abs=0.12)


def test_a_stop_that_cannot_be_reached_is_endlessly_far() -> None:
    level = Level("wall", BOUNDS, boxes=np.array([[0, 0, 1.0, 0.1, 10, 1, 0.0]]))
    stops = np.array([[5.0, 0], [-5.0, 0]])
    assert np.isinf(tour_length(level, np.array([-4.0, 0]), stops, 1.0))
