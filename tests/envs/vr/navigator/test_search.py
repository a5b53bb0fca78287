import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from ambulo.envs.vr.navigator.columns import (
    CLOSED,
    FREE,
    HIT,
    SIDE,
    Columns,
    in_units,
    map_of,
)
from ambulo.envs.vr.navigator.frontiers import DX, DY, LENGTH
from ambulo.envs.vr.navigator.heap import END, LIFTS, Nodes
from ambulo.envs.vr.navigator.search import (
    GOAL_RADIUS,
    NO_JUMPS,
    POINT,
    Prices,
    Query,
    search,
)
from ambulo.envs.vr.navigator.search_movers import Movers
from ambulo.envs.vr.navigator.tracks import STOPS

SIZE = 40


def no_movers():
    return Movers(
        np.zeros((LIFTS, 8 + STOPS)),
        np.zeros((SIDE, SIDE), np.float32),
        np.zeros((SIDE, SIDE), np.uint16),
    )


def known_map(rng, walls):
    """A known square whose cells are floors, the fraction `walls` of them closed."""
    columns = map_of(Columns.empty(1), 0)
    closed = rng.random((SIZE, SIZE)) < walls
    closed[0], closed[-1], closed[:, 0], closed[:, -1] = True, True, True, True
    closed[5, 5] = closed[30, 32] = False
    columns.bits[:SIZE, :SIZE, 0] = np.where(closed, HIT, FREE)
    return columns, closed


def shortest(closed, start, goal):
    """Shortest way from cell `start` to within the radius of point `goal`, [m]."""
    rows, ends, lengths = [], [], []
    for r, c in zip(*np.nonzero(~closed), strict=True):
        for q in range(8):
            if not closed[r + DY[q], c + DX[q]]:
                rows.append(r * SIZE + c)
                ends.append((r + DY[q]) * SIZE + c + DX[q])
                lengths.append(LENGTH[q])
    graph = csr_array((lengths, (rows, ends)), shape=(SIZE**2, SIZE**2))
    far = dijkstra(graph, indices=start[0] * SIZE + start[1]).reshape(SIZE, SIZE)
    y, x = (np.indices((SIZE, SIZE)) + 0.5) / 4
    return far[np.hypot(x - goal[0], y - goal[1]) <= GOAL_RADIUS].min()


@pytest.mark.integration
@pytest.mark.parametrize("seed", range(20))
def test_on_a_known_map_the_path_is_a_shortest_one(seed):
    rng = np.random.default_rng(seed)
    columns, closed = known_map(rng, rng.uniform(0.05, 0.45))
    start, goal = (5, 5), (32.5 / 4, 30.5 / 4)
    nodes, path = Nodes.empty(), np.zeros((300, POINT), np.float32)
    prices = Prices(walls=1.0, tight=1.0, tight_away=1.0, tight_slope=1.0)
    query = Query(
        5.5 / 4, 5.5 / 4, 0.0, *goal, 0.0, -1, CLOSED, NO_JUMPS, 1e9, 1e9, 1e9
    )
    count = search(columns, nodes, no_movers(), query, prices, path)
    least = shortest(closed, start, goal)
    if not np.isfinite(least):
        assert count == 0
        return
    assert nodes.cost[END] == pytest.approx(least, abs=1e-3)
    walked = np.hypot(*np.diff(path[: count - 1, :2], axis=0).T)
    assert walked.sum() == pytest.approx(least, abs=1e-3)
    np.testing.assert_allclose(path[count - 1, :3], (*goal, 0.0), rtol=1e-6)
    at = np.floor(path[: count - 1, :2] * 4).astype(int)
    assert not closed[at[:, 1], at[:, 0]].any()


@pytest.mark.integration
def test_a_path_leads_over_a_slope_to_the_floor_above():
    columns = map_of(Columns.empty(1), 0)
    for c in range(4, 60):
        z = min(max((c - 16) * 0.1, 0.0), 2.5)
        columns.bits[8:11, c, 0] = FREE
        columns.heights[8:11, c, 0] = in_units(z)
    nodes, path = Nodes.empty(), np.zeros((300, POINT), np.float32)
    query = Query(
        5.5 / 4,
        9.5 / 4,
        0.0,
        55.5 / 4,
        9.5 / 4,
        2.5,
        -1,
        CLOSED,
        NO_JUMPS,
        1e9,
        1e9,
        1e9,
    )
    count = search(columns, nodes, no_movers(), query, Prices(), path)
    assert count > 40
    assert path[count - 1, 2] == pytest.approx(2.5, abs=0.01)
    assert (np.diff(path[:count, 2]) >= 0.0).all()
