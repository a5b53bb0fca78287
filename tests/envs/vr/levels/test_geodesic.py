from __future__ import annotations

import heapq
import math
from itertools import pairwise

import numpy as np
import pytest
from numba import njit

from ambulo.envs.vr.families import generate
from ambulo.envs.vr.levels.geodesic import field_resolution, path_length
from ambulo.envs.vr.levels.layers import CLEARANCE, LayeredGrid
from ambulo.envs.vr.levels.level import Level

KNIGHT = math.sqrt(5)


def _level(**parts: object) -> Level:
    arrays = {k: np.array(v, np.float64) for k, v in parts.items()}
    return Level(name="t", **{"bounds": np.array([0.0, 0.0, 20.0, 20.0]), **arrays})


def _plain_dijkstra(grid: LayeredGrid, goal: tuple[int, int]) -> np.ndarray:
    """The same 16 moves with a heap, from the goal's cell only."""
    dist = np.full((grid.ny, grid.nx), np.inf)
    dist[goal] = 0.0
    heap = [(0.0, goal)]

    def free(j: int, i: int) -> bool:
        return 0 <= j < grid.ny and 0 <= i < grid.nx and bool(grid.free[j, i])

    while heap:
        d, (j, i) = heapq.heappop(heap)
        if d > dist[j, i]:
            continue
        for dy in range(-2, 3):
            for dx in range(-2, 3):
                ax, ay = abs(dx), abs(dy)
                sx, sy = int(np.sign(dx)), int(np.sign(dy))
                between = {
                    (0, 1): [],
                    (1, 0): [],
                    (1, 1): [(0, sx), (sy, 0)],
                    (2, 1): [(0, sx), (sy, sx)],
                    (1, 2): [(sy, 0), (sy, sx)],
                }.get((ax, ay))
                if between is None or not free(j + dy, i + dx):
                    continue
                if all(free(j + b, i + a) for b, a in between):
                    new = d + math.hypot(dx, dy)
                    if new < dist[j + dy, i + dx]:
                        dist[j + dy, i + dx] = new
                        heapq.heappush(heap, (new, (j + dy, i + dx)))
    return dist * grid.resolution


def test_open_field_is_almost_euclidean() -> None:
    grid = LayeredGrid.of(_level())
    field = distance_field(grid, (7.3, 11.8))
    straight = np.hypot(*(grid.centres() - [7.3, 11.8]).T)
    ratio = field[grid.free] / straight
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
    x, y = grid.centres().T
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


def test_shapes_overhead_and_paint_do_not_block() -> None:
    plain = LayeredGrid.of(_level())
    level = _level(boxes=[[10, 10, 3, 1, 1, 0.5, 0], [5, 5, 0, 1, 1, 0.005, 0]])
    assert (LayeredGrid.of(level).free == plain.free).all()


@pytest.mark.parametrize("family", ["clutter", "maze", "pits"])
def test_field_matches_plain_dijkstra(family: str) -> None:
    level = generate(family, 5)
    grid = LayeredGrid.of(level)
    field = distance_field(grid, level.goal)
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
    field = distance_field(grid, (15, 5))
    assert field[grid.cell((5, 5))] == pytest.approx(by_hand, rel=0.04)


def test_no_way_is_infinite() -> None:
    level = _level(holes=[[9.5, 0, 10.5, 20]])
    assert path_length(level, (5, 5), (15, 5)) == math.inf
    grid = LayeredGrid.of(level)
    field = distance_field(grid, (15, 5))
    assert not np.isfinite(field[:, :30]).any()
    assert shortest_path(grid, field, (5, 5)).shape == (0, 2)
    row = field.reshape(-1)
    shape = (grid.nx, grid.ny, grid.x0, grid.y0, grid.resolution)
    assert field_distance(row, *shape, 5.0, 5.0) == math.inf
    assert field_direction(row, *shape, 5.0, 5.0) == (0.0, 0.0)


def test_goal_near_a_wall_is_snapped_but_not_inside_one() -> None:
    level = _level(boxes=[[10, 10, 1, 3, 3, 1, 0]])
    grid = LayeredGrid.of(level)
    assert np.isfinite(distance_field(grid, (6.9, 10))).any()
    assert not np.isfinite(distance_field(grid, (10, 10))).any()


def test_knight_and_diagonal_moves_do_not_cut_corners() -> None:
    free = np.ones((3, 4), bool)
    free[1, 1] = False
    free[0, 2] = False
    grid = LayeredGrid(0.0, 0.0, 1.0, 4, 3, free)
    field = distance_field(grid, (0.5, 0.5))
    assert field[1, 2] == pytest.approx(2 + KNIGHT + 1 - 0, abs=1.5)
    assert field[1, 2] > 3.4


def test_reading_from_a_padded_row_in_another_kernel() -> None:
    @njit
    def read(rows, k, nx, ny, x, y):  # type: ignore[no-untyped-def]
        d = field_distance(rows[k], nx, ny, 0.0, 0.0, 0.25, x, y)
        return d, field_direction(rows[k], nx, ny, 0.0, 0.0, 0.25, x, y)

    grid = LayeredGrid.of(_level())
    field = distance_field(grid, (5.0, 5.0))
    rows = np.full((2, 7000), np.nan, np.float32)
    rows[1, : field.size] = field.reshape(-1)
    d, (dx, dy) = read(rows, 1, grid.nx, grid.ny, 9.0, 8.0)
    assert d == pytest.approx(5.0, rel=0.03)
    assert (dx, dy) == pytest.approx((-0.8, -0.6), abs=0.35)
    assert math.hypot(dx, dy) == pytest.approx(1.0)
    d, direction = read(rows, 1, grid.nx, grid.ny, 5.0, 5.0)
    assert d < 0.2
    assert direction == (0.0, 0.0)
    d, (dx, dy) = read(rows, 1, grid.nx, grid.ny, 0.05, 5.0)
    assert d == pytest.approx(4.95, rel=0.05)
    assert dx > 0.7


def test_descending_the_direction_reaches_the_goal() -> None:
    level = generate("maze", 11)
    grid = LayeredGrid.of(level)
    field = distance_field(grid, level.goal)
    row = field.reshape(-1)
    shape = (grid.nx, grid.ny, grid.x0, grid.y0, grid.resolution)
    x, y = level.start[:2]
    length, step = field_distance(row, *shape, x, y), 0.1
    for _ in range(int(1.3 * length / step) + 20):
        dx, dy = field_direction(row, *shape, x, y)
        x, y = x + step * dx, y + step * dy
    assert math.hypot(x - level.goal[0], y - level.goal[1]) < 0.5


@pytest.mark.parametrize("family", ["maze", "corridors", "utrap"])
def test_path_is_free_taut_and_no_longer_than_the_field(family: str) -> None:
    level = generate(family, 3)
    grid = LayeredGrid.of(level)
    field = distance_field(grid, level.goal)
    path = shortest_path(grid, field, level.start, level.goal)
    assert path[0] == pytest.approx(level.start[:2])
    assert path[-1] == pytest.approx(level.goal)
    length = np.hypot(*np.diff(path, axis=0).T).sum()
    assert length <= field[grid.cell(level.start)] * 1.005 + 0.05
    assert length >= math.dist(level.start[:2], level.goal) - 1e-6
    for a, b in pairwise(path):
        for t in np.linspace(0, 1, 50):
            assert grid.free[grid.cell(a + t * (b - a))]


def test_narrow_doors_need_fine_cells() -> None:
    pose = {"start": [5.0, 5.0, 0.0], "goal": [15.0, 5.0]}
    walls = [[10, 4.57, 1, 0.1, 4.57, 1, 0], [10, 14.92, 1, 0.1, 5.08, 1, 0]]
    assert field_resolution(_level(boxes=walls, **pose)) == 0.1
    assert field_resolution(_level(boxes=walls[:1], **pose)) == 0.25
    walls[0][4] = walls[0][1] = 4.86
    assert field_resolution(_level(boxes=walls, **pose)) == 0.0


def test_large_floors_are_quick() -> None:
    level = Level(name="big", bounds=np.array([0.0, 0.0, 300.0, 300.0]))
    grid = LayeredGrid.of(level)
    longest = distance_field(grid, (1, 1))[grid.free].max()
    assert 0.9 < longest / math.hypot(300, 300) < 1.03
