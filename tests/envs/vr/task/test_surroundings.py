from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import parse_level
from ambulo.envs.vr.task.observation import observation_layout
from ambulo.envs.vr.task.surroundings import FLOOR_AHEAD, RAY_HEIGHTS, Surroundings
from ambulo.envs.vr.world.state import WorldState
from tests.envs.vr.levels.test_surfaces import STOREYS


def _read(level: Level, *position: float) -> tuple[np.ndarray, np.ndarray]:
    state = WorldState.zeros(1, 16)
    state.position[0] = position
    flat = Surroundings(WorldSpec()).read(state, np.zeros(1, np.int64), [level])
    return flat[0, :48].reshape(3, 16), flat[0, 48:]


def test_a_table_is_seen_at_its_height_only() -> None:
    table = {"center": [2, 0, 0.85], "half_size": [0.5, 0.5, 0.1]}
    data = {"name": "t", "bounds": [-9, -9, 9, 9], "boxes": [table]}
    for heights in (False, True):  # a flat level's boxes have heights, too
        level = parse_level({**data, "heights": heights}, "x", solvable=False)
        rays, floor = _read(level, 0.0, 0.0, 0.0)
        assert rays[:, 0] == pytest.approx([5.0, 1.5, 5.0])
        on_table = np.array(FLOOR_AHEAD)[:, 0] >= 1.5
        assert floor == pytest.approx(np.where(on_table, 0.95, 0.0))


def test_the_floor_ahead_of_a_ramp_rises_and_a_hole_is_deep() -> None:
    level = parse_level({**STOREYS, "holes": [[1, -3, 1.8, 3]]}, "x", solvable=False)
    _, floor = _read(level, 1.9, 0.0, 0.0)
    ahead = np.array(FLOOR_AHEAD)
    expected = np.maximum((1.9 + ahead[:, 0] - 2.0) / 2, 0.0)
    assert floor == pytest.approx(expected, abs=1e-6)
    _, floor = _read(level, 0.9, 0.0, 0.0)
    hole = (ahead[:, 0] > 0.1) & (ahead[:, 0] < 0.9)
    assert floor[hole] == pytest.approx(-1.5)


def test_the_layout_grows_only_by_the_option() -> None:
    config = NavigationConfig()
    flat = observation_layout(config)
    more = observation_layout(config.override("observations", surroundings="heights"))
    extra = len(RAY_HEIGHTS) * 16 + len(FLOOR_AHEAD)
    assert more.size == flat.size + extra
    assert more.parts[: len(flat.parts)] == flat.parts


def test_a_replaced_level_is_read_anew() -> None:
    empty = parse_level({"name": "e", "bounds": [-9, -9, 9, 9]}, "x", solvable=False)
    wall = {"center": [2, 0, 1], "half_size": [0.1, 2, 1]}
    data = {"name": "w", "bounds": [-9, -9, 9, 9], "boxes": [wall]}
    full = parse_level(data, "x", solvable=False)
    reader, state = Surroundings(WorldSpec()), WorldState.zeros(1, 16)
    slot = np.zeros(1, np.int64)
    assert reader.read(state, slot, [empty])[0, 0] == 5.0
    assert reader.read(state, slot, [full])[0, 0] == pytest.approx(1.9)
