import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambulo.envs.vr.navigator.columns import (
    DROP,
    FREE,
    HEADROOM,
    HIT,
    SIDE,
    TIGHT,
    UNIT,
    UNKNOWN,
    VOID,
    Columns,
    add_floor,
    add_hit,
    bits_at,
    cell,
    find,
    in_units,
    keep_around,
    map_of,
)
from ambulo.envs.vr.navigator.navigator import Navigator

places = st.floats(-40.0, 40.0)
heights = st.floats(-100.0, 100.0)
moves = st.one_of(st.floats(-3.0, 3.0), st.floats(-300.0, 300.0))


def empty():
    return map_of(Columns.empty(1), 0)


def at(x, y):
    return cell(y) & (SIDE - 1), cell(x) & (SIDE - 1)


@given(places, places, heights)
@settings(max_examples=50, deadline=None)
def test_a_measured_floor_is_found_at_its_height_and_voids_those_beside(x, y, z):
    columns, h = empty(), in_units(z)
    assert find(columns, *at(x, y), h) == UNKNOWN
    add_floor(columns, x, y, h, 0)
    k = find(columns, *at(x, y), h)
    assert k >= 0
    assert abs(columns.heights[(*at(x, y), k)] * UNIT - z) <= UNIT
    assert find(columns, *at(x, y), h + HEADROOM - 1) == VOID
    assert find(columns, *at(x, y), h + HEADROOM + 1) == UNKNOWN


@given(places, places, st.floats(-40.0, 40.0), st.floats(2.0, 6.0))
@settings(max_examples=50, deadline=None)
def test_floors_of_two_storeys_do_not_mix(x, y, z, storey):
    columns = empty()
    add_floor(columns, x, y, in_units(z), 0)
    add_hit(columns, x, y, in_units(z + storey), HIT)
    assert bits_at(columns, *at(x, y), in_units(z)) & (FREE | HIT) == FREE
    assert bits_at(columns, *at(x, y), in_units(z + storey)) & (FREE | HIT) == HIT


@given(places, places, st.sampled_from([HIT, DROP]))
@settings(max_examples=50, deadline=None)
def test_tight_are_columns_whose_centres_are_near(x, y, bit):
    columns = empty()
    add_hit(columns, x, y, 0, bit)
    for r in range(cell(y) - 3, cell(y) + 4):
        for c in range(cell(x) - 3, cell(x) + 4):
            gap = np.hypot((c + 0.5) / 4 - x, (r + 0.5) / 4 - y)
            tight = bits_at(columns, r & (SIDE - 1), c & (SIDE - 1), 0) & TIGHT
            assert bool(tight) == (gap < 0.27)


@given(st.lists(st.tuples(moves, moves), min_size=1, max_size=8), places, places)
@settings(max_examples=50, deadline=None)
def test_a_map_knows_what_was_seen_in_its_window_and_nothing_else(walk, x, y):
    """Also where a body is carried far away at once, and comes back."""
    columns, half, seen = empty(), SIDE // 2, set()
    for dx, dy in walk:
        x, y = x + dx, y + dy
        keep_around(columns, x, y, 5.0)
        column, row = cell(x), cell(y)
        seen = {
            (r, c) for r, c in seen
            if -half <= r - row < half and -half <= c - column < half
        }  # fmt: skip
        for angle in range(8):
            px, py = x + 5.0 * np.cos(angle), y + 5.0 * np.sin(angle)
            add_floor(columns, px, py, 0, 0)
            seen.add((cell(py), cell(px)))
    known = {(int(r), int(c)) for r, c, _ in np.argwhere(columns.bits)}
    assert known == {(r & (SIDE - 1), c & (SIDE - 1)) for r, c in seen}
    assert len(known) == len(seen)


def test_nothing_is_cleared_in_levels_that_the_window_holds():
    columns = empty()
    for x in np.linspace(0.0, 26.0, 40):  # [m] and 5 m are seen ahead
        keep_around(columns, x, 0.0, 5.0)
        add_floor(columns, x, 0.0, 0, 0)
    before = columns.bits.copy()
    keep_around(columns, 0.0, 0.0, 5.0)
    np.testing.assert_array_equal(columns.bits, before)


@pytest.mark.parametrize("count", [3])
def test_an_env_takes_less_than_a_megabyte(count):
    navigator = Navigator(count)
    parts = navigator.columns, navigator.tracks, navigator.plans, navigator.steering
    size = sum(array.nbytes for part in parts for array in part)
    assert size / count < 1e6
