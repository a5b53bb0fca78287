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
    map_of,
)
from ambulo.envs.vr.navigator.navigator import Navigator

places = st.floats(-40.0, 40.0)
heights = st.floats(-100.0, 100.0)


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


def test_maps_wrap_around():
    columns = empty()
    add_floor(columns, 1.1, 2.1, 0, 0)
    assert find(columns, *at(1.1 + SIDE / 4, 2.1 - SIDE / 4), 0) >= 0


@pytest.mark.parametrize("count", [3])
def test_an_env_takes_less_than_a_megabyte(count):
    navigator = Navigator(count)
    parts = navigator.columns, navigator.tracks, navigator.plans, navigator.steering
    size = sum(array.nbytes for part in parts for array in part)
    assert size / count < 1e6
