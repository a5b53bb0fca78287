from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.equal import assert_same_bits

from ambulo.configs.errors import LevelError
from ambulo.envs.vr.families import ALL_FAMILIES, generate
from ambulo.envs.vr.handmade import handmade_levels
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import (
    level_data,
    level_schema,
    load_levels,
    parse_level,
    save_level,
)
from ambulo.envs.vr.levels.sample_levels import sample_level
from ambulo.envs.vr.levels.scene_level import joined
from ambulo.envs.vr.levels.way_check import unjoined, way_problem
from ambulo.envs.vr.task.bank import LevelBank

GOOD: dict[str, Any] = {
    "name": "demo",
    "bounds": [0, 0, 20, 10],
    "holes": [[8, 0, 9, 4]],
    "boxes": [{"center": [5, 5, 1], "half_size": [0.5, 1, 1], "yaw": 0.3}],
    "cylinders": [{"center": [12, 5], "radius": 0.4, "height": 2}],
    "start": {"position": [2, 5], "yaw": 0.0},
    "goal": [18, 5],
    "goal_distance": None,
}


def _with(path: str, value: object) -> dict[str, Any]:
    """`GOOD` with one value replaced, by a path such as `boxes.0.yaw`."""
    data = json.loads(json.dumps(GOOD))
    *parents, last = [int(p) if p.isdigit() else p for p in path.split(".")]
    spot = data
    for key in parents:
        spot = spot[key]
    spot[last] = value
    return data


def _error(data: object) -> str:
    with pytest.raises(LevelError) as caught:
        parse_level(data, "x.json")
    message = str(caught.value)
    assert message.startswith("x.json: ")
    assert "\n" not in message
    return message


def test_a_good_level() -> None:
    level = parse_level(GOOD, "x.json")
    assert level.name == "demo"
    assert level.family == "custom"
    assert level.boxes.tolist() == [[5, 5, 1, 0.5, 1, 1, 0.3]]
    assert level.cylinders.tolist() == [[12, 5, 0.4, 2, 0]]
    assert level.start is not None
    assert level.goal_distance is None


@cache
def level_of(name: str) -> Level:
    if name.startswith("sample"):
        return sample_level(3, moving=name == "sample moving")
    if name.startswith("hand-made"):
        return handmade_levels()[int(name.removeprefix("hand-made "))]
    return generate(name, 4)


LEVELS = [
    *ALL_FAMILIES, *(f"hand-made {k}" for k in range(12)), "sample", "sample moving",
]  # fmt: skip


@pytest.mark.parametrize("name", LEVELS)
def test_levels_are_read_as_they_were_written(tmp_path: Path, name: str) -> None:
    level = level_of(name)
    save_level(level, tmp_path / "a.json")
    (loaded,) = load_levels(tmp_path / "a.json", solvable=False)
    assert_same_bits(loaded, level)
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_defaults_of_heights_are_not_written() -> None:
    flat = ["name", "family", "bounds", "holes", "boxes", "cylinders", "start", "goal",
            "goal_distance"]  # fmt: skip
    assert list(level_data(parse_level(GOOD, "x.json"))) == flat
    level = level_of("sample moving")
    data = level_data(level)
    assert list(data) == [*flat, "heights", "ramps", "stairs", "heightfields", "meshes",
                          "movers", "people"]  # fmt: skip
    solid = [row[7] == 0 for row in level.ramps]
    assert ["thickness" not in ramp for ramp in data["ramps"]] == solid


def test_files_follow_the_published_schema() -> None:
    """Files written by hand and by `save_level`; what the reader refuses breaks it."""
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(level_schema())
    validator.check_schema(validator.schema)
    for entry in files("ambulo.envs.vr.handmade").iterdir():
        if entry.name.endswith(".json"):
            validator.validate(json.loads(entry.read_text(encoding="utf-8")))
    for name in ("open", "pits", "storeys", "lifts", "crowd", "sample moving"):
        validator.validate(level_data(level_of(name)))
    door = {"kind": "door", "hinge": [0, 0], "width": 1, "open": 1.5, "phase": "random"}
    walk = {"route": [[0, 0], [1, 0, 0]], "speed": 1, "loop": True}
    rare = {"$schema": "x.json", "movers": [door], "people": {"walkers": [walk]}}
    validator.validate(GOOD | rare)
    parse_level(GOOD | rare | {"heights": True}, "x.json")
    for path, value in (
        ("gaol", [1, 1]), ("name", "a<b"), ("bounds", [0, 0, 5]), ("heights", 1),
        ("bounds", [0, 0, True, 5]), ("bounds", [0, 0, 2e6, 5]), ("boxes.0.size", 1),
        ("boxes.0.half_size", [1, 0, 1]), ("cylinders.0", {"center": [1, 1]}),
    ):  # fmt: skip
        assert not validator.is_valid(_with(path, value)), path


def test_a_folder_is_sorted_and_names_differ(tmp_path: Path) -> None:
    with pytest.raises(LevelError, match=r"no \*\.json"):
        load_levels(tmp_path)
    for name in ("b", "a"):
        text = json.dumps({"name": name, "bounds": [0, 0, 12, 12]})
        (tmp_path / f"{name}.json").write_text(text)
    (tmp_path / "notes.txt").write_text("not a level")
    assert [level.name for level in load_levels(tmp_path)] == ["a", "b"]
    text = json.dumps({"name": "a", "bounds": [0, 0, 12, 12]})
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(LevelError, match="is also the name of"):
        load_levels(tmp_path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(LevelError, match="no such level file"):
        load_levels(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("name", 3, "name = 3: expected a text"),
        ("name", "a\nb", "expected one line of 1 to 200"),
        ("name", "a" * 201, "expected one line of 1 to 200"),
        ("family", "", 'family = "": expected one line'),
        ("bounds", [0, 0, 5], "bounds = [0, 0, 5]: list should have at least 4"),
        ("bounds", [0, 0, True, 5], "bounds[2] = true: expected a number"),
        ("bounds", [5, 0, 0, 5], "bounds: need x0 < x1"),
        ("bounds", [0, 0, 0, 5], "bounds: need x0 < x1"),
        ("bounds", [0, 0, 2000, 2000], "bounds: more than 1e+06 m^2"),
        ("bounds", [0, 0, 1e6, 0.1], "bounds: more than 1e+06 m^2"),
        ("bounds", [0, 0, 1e300, 1], "less than or equal to 1000000"),
        ("bounds", [0, 0, float("inf"), 1], "must be a finite number"),
        ("bounds", [0, 0, 10**400, 1], "bounds[2] = 1000"),
        ("holes", {}, "holes: expected a list"),
        ("holes.0", [8, 4, 9, 0], "holes[0]: need x0 < x1"),
        ("holes.0", "hole", 'holes[0] = "hole": expected a list'),
        ("boxes.0", 1, "boxes[0] = 1: expected {"),
        ("boxes.0.half_size", [1, 0, 1], "boxes[0].half_size[1] = 0: must be g"),
        ("boxes.0.half_size", [1, 1], "boxes[0].half_size = [1, 1]: list should"),
        ("boxes.0.center", None, "boxes[0].center = null: expected a list"),
        ("boxes.0.yaw", float("nan"), "boxes[0].yaw = NaN: must be a f"),
        ("boxes.0.size", 1, "unknown key 'boxes[0].size' (did you mean"),
        ("cylinders.0.radius", -1, "cylinders[0].radius = -1: must be gr"),
        ("cylinders.0.height", 0, "cylinders[0].height = 0: must be great"),
        ("cylinders.0.radius", "1", 'cylinders[0].radius = "1": expected a number'),
        ("start", [1, 2], "start = [1, 2]: expected {"),
        ("start.position", [-1, 5], "start.position: out of bounds"),
        ("start.position", [8.5, 2], "start.position: in holes[0]"),
        ("start.position", [12.5, 5], "start.position: inside an obstacle"),
        ("start.position", [18, 5], "goal: the same place"),
        ("goal", [5.6, 5], "goal: inside an obstacle"),
        ("goal", [30, 5], "goal: out of bounds"),
        ("goal_distance", [9, 5], "goal_distance: need 0 < min <= max"),
        ("goal_distance", [0, 5], "goal_distance: need 0 < min <= max"),
        ("holes.0", [8, 0, 9, 10], "goal: no way for the body"),
        ("name", "<script>alert(1)</script>", "expected one line of 1 to 200"),
        ("family", "a<b", 'family = "a<b": expected one line of 1 to 200'),
        ("gaol", [1, 1], "unknown key 'gaol' (did you mean 'goal'?)"),
    ],
)
def test_bad_levels_name_key_and_rule(path: str, value: object, expected: str) -> None:
    assert expected in _error(_with(path, value))


POINT = [0, 0, 0]
ROUTE = {"route": [POINT, [1, 0, 0]], "speed": 1}
CART = {"kind": "cart", "half_size": [1, 1, 1], "path": [[0, *POINT, 0]]}
GRID = {"origin": POINT, "cell": 1, "heights": [[0] * 1000] * 501}


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("waypoints", [POINT] * 10_001, "at most 10000"),
        ("starts", [{"position": POINT}] * 10_001, "at most 10000"),
        ("movers", [CART] * 201, "at most 200"),
        ("people", {"count": 1, "walkers": [ROUTE] * 200}, "more than 200 people"),
        ("people", {"walkers": [ROUTE] * 201}, "at most 200"),
        ("people", {"walkers": [ROUTE | {"route": [POINT] * 10_001}]}, "at most 10000"),
        ("heightfields", [GRID], "more than 1000000 triangles"),
        ("$schema", 1, "$schema = 1: expected a text"),
    ],
)
def test_limits(key: str, value: object, expected: str) -> None:
    assert expected in _error({**GOOD, key: value})


def test_missing_keys() -> None:
    assert "bounds: field required" in _error({"name": "a"})
    assert "name: field required" in _error({"bounds": [0, 0, 12, 12]})
    assert "the top level = [1]: expected {" in _error([1])
    data = _with("cylinders.0", {"center": [1, 1], "radius": 1})
    assert "cylinders[0].height: field required" in _error(data)


LEFT, MIDDLE, RIGHT = ({"position": [x, 5]} for x in (2, 10.5, 18))


@pytest.mark.parametrize("heights", [False, True])
@pytest.mark.parametrize(
    ("places", "problem"),
    [
        ({"starts": [RIGHT]}, None),
        ({"starts": [LEFT, RIGHT], "goals": [[4, 5], [18, 8]]}, None),
        ({"starts": [LEFT], "goals": [[18, 5]]}, "goals[0]: {} from any of starts"),
        ({"starts": [LEFT, RIGHT], "goals": [[4, 5]]}, "starts[1]: {} to any of goals"),
        ({"start": LEFT, "goals": [[4, 5], [18, 5]]}, "goals[1]: {} from start"),
        ({"starts": [LEFT, RIGHT], "goal": [4, 5]}, "starts[1]: {} to goal"),
        (
            {"start": LEFT, "goal": [4, 5], "goals": [[18, 5]]},
            "goals[0]: {} from start",
        ),
        ({"goals": [[4, 5], [10.5, 5]]}, "goals[1]: {} from a place 5 to 30 m away"),
        ({"starts": [LEFT, MIDDLE]}, "starts[1]: {} to a place 5 to 30 m away"),
        ({"waypoints": [[4, 5], [18, 5]]}, "waypoints[1]: {} from waypoints[0]"),
    ],
)
def test_places_that_are_sealed_off_are_refused(
    heights: bool, places: dict[str, Any], problem: str | None
) -> None:
    """Two walls across the floor, with a metre and a half between them."""
    walls = [{"center": [x, 5, 1], "half_size": [0.25, 5, 1]} for x in (9.5, 11.5)]
    data = {"name": "a", "bounds": [0, 0, 20, 10], "boxes": walls, "heights": heights}
    level = {**data, **places}
    if problem is None:
        bank = LevelBank([parse_level(level, "x.json")], np.random.default_rng(0))
        assert all(len(bank.own_starts(0, goal)) for goal in range(2))
    else:
        assert problem.format("no way for the body") in _error(level)


@pytest.mark.parametrize("heights", [False, True])
@pytest.mark.parametrize(
    "places",
    [
        {"starts": [{"position": [2, 3]}], "goals": [[8, 3]]},
        {"start": {"position": [2, 2]}, "goal": [2, 5], "waypoints": [[2, 3], [8, 3]]},
    ],
)
def test_places_behind_a_door_of_the_finest_cells_are_played(
    heights: bool, places: dict[str, Any]
) -> None:
    """A door of 0.8 m, which the cells of training do not know."""
    walls = [
        {"center": [5, (low + high) / 2, 1], "half_size": [0.1, (high - low) / 2, 1]}
        for low, high in ((0, 2.6), (3.4, 6))
    ]
    data = {"name": "a", "bounds": [0, 0, 10, 6], "boxes": walls, "heights": heights}
    level = parse_level({**data, **places}, "x.json")
    bank = LevelBank([level], np.random.default_rng(0), own=1)
    last = 2 + len(level.waypoints) - 1
    start = np.array([[2.0, 3.0, 0.0]])
    assert 5.9 < bank.distance(np.array([0]), np.array([last]), start)[0] < 7.0
    walls[0]["half_size"][1] = 1.6
    assert "no way for the body" in _error({**data, **places})


def test_listed_goals_cost_no_more_than_the_parts_of_the_floor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wall = {"center": [10, 5, 1], "half_size": [0.2, 5, 1]}
    goals = [[x, y] for y in np.linspace(1, 9, 30).tolist() for x in (5, 15)]
    data = {"name": "a", "bounds": [0, 0, 20, 10], "boxes": [wall], "goals": goals}
    level = parse_level(data, "x.json", solvable=False)
    cost = {"field": 0, "points": 0, "parts": 0}

    def counted(name: str) -> Callable[..., Any]:
        method = getattr(LayeredGrid, name)

        def call(grid: LayeredGrid, *cells: Any) -> Any:
            cost[name] += 1
            return method(grid, *cells)

        return call

    for name in cost:
        monkeypatch.setattr(LayeredGrid, name, counted(name))
    assert way_problem(level) is None
    assert cost == {"field": 0, "points": 0, "parts": 1}


def test_the_first_place_of_a_list_that_is_alone() -> None:
    """As is found with the distances and all cells of each place."""
    rng, ranks = np.random.default_rng(0), set()
    for _ in range(60):
        free = rng.random((1, 14, 18)) < 0.7
        height = np.zeros(free.shape, np.float32)
        links = joined(height, free, np.zeros_like(free), 0.25)
        grid = LayeredGrid(1.0, -2.0, 0.25, height, free, links).restricted(free)
        low, high = np.sort(rng.uniform(0.3, 3.0, 2)).tolist()
        places = rng.uniform([1, -2, 0], [5.5, 1.5, 0], (6, 3))
        level = Level(
            "a", np.array([1.0, -2, 5.5, 1.5]), goals=places, goal_distance=(low, high)
        )
        alone = []
        for place in places:
            points = grid.points(np.flatnonzero(np.isfinite(grid.field(place))))
            away = np.hypot(*(points - place)[:, :2].T)
            alone.append(not ((away >= low) & (away <= high)).any())
        first = alone.index(True) if any(alone) else None
        problem = unjoined(level, level.places(), grid)
        if first is None:
            assert problem is None
        else:
            assert problem is not None
            assert problem.startswith(
                f"goals[{first}]: no way for the body from a place"
            )
        ranks.add(first)
    assert len(ranks) >= 4


def test_nothing_left_to_chance_in_vain() -> None:
    small = {"name": "a", "bounds": [0, 0, 3, 3]}
    assert "start and goal: left to chance" in _error(small)
    assert parse_level({**small, "goal_distance": [1, 2]}, "x.json")
    rule = "no way for the body {} a place 5 to 30 m away"
    assert f"goal: {rule.format('from')}" in _error({**small, "goal": [1, 1]})
    pose = {"position": [1, 1], "yaw": 0}
    lone = _error({**small, "start": pose})
    assert f"start.position: {rule.format('to')}" in lone
    assert "nowhere can the body stand" in _error({**small, "bounds": [0, 0, 0.4, 30]})
    cut = [[x, 0, x + 1, 12] for x in range(4, 30, 5)]
    striped = {"name": "a", "bounds": [0, 0, 30, 12], "holes": cut}
    assert parse_level(striped, "x.json")
    far = {**striped, "goal_distance": [12, 30]}
    assert "start and goal" in _error(far)


@pytest.mark.integration
def test_too_much_does_not_hang() -> None:
    begin = time.process_time()
    box = {"center": [1, 1, 1], "half_size": [0.1, 0.1, 1], "yaw": 0}
    many = {"name": "a", "bounds": [0, 0, 12, 12], "boxes": [box] * 100_001}
    assert "at most 100000" in _error(many)
    huge = {"center": [500, 500, 1], "half_size": [900, 900, 1], "yaw": 0}
    many = {"name": "a", "bounds": [0, 0, 1000, 1000], "boxes": [huge] * 1000}
    assert "cover more than" in _error(many)
    corners = {"vertices": [[0, 0, 0], [1000, 0, 0], [0, 1000, 1]]}
    faces = corners | {"triangles": [[0, 1, 2]] * 300}
    wide = {**many, "boxes": [], "heights": True}
    assert "cover more than" in _error({**wide, "meshes": [faces]})
    flight = {"from": [0, 0, 0], "to": [5, 0, 20], "width": 1, "steps": 1000}
    assert "more than 100000 obstacles" in _error({**wide, "stairs": [flight] * 101})
    endless = {"center": [6, 6, 1], "half_size": [1e6, 1e6, 1]}
    many = {"name": "a", "bounds": [0, 0, 12, 12], "boxes": [endless] * 200}
    assert "nowhere can the body stand" in _error(many)
    assert parse_level({"name": "a", "bounds": [0, 0, 300, 300]}, "x.json")
    assert time.process_time() - begin < 20


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", "line 1: not valid JSON"),
        (b"{", "line 1: not valid JSON"),
        (b"\xff\xfe", "cannot be read: 'utf-8' codec"),
        (b"[" * 100_000, "not valid JSON: nested more than"),
        (b'{"name": "a", "bounds": [0, 0, NaN, 1]}', "bounds[2] = NaN: must"),
        (b'{"name": "a", "bounds": [0, 0, 1e999, 1]}', "bounds[2] = Infinity: must"),
        (b'{"name": "a", "name": "b"}', "given twice"),
        (b'{"name": "a", "bounds": [' + b"9" * 5000 + b"]}", "not valid JSON"),
    ],
)
def test_bad_files(tmp_path: Path, text: bytes, expected: str) -> None:
    file = tmp_path / "bad.json"
    file.write_bytes(text)
    with pytest.raises(LevelError) as caught:
        load_levels(file)
    message = str(caught.value)
    assert expected in message
    assert message.startswith(str(file))
    assert "\n" not in message


def test_saving_is_whole_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    level = generate("open", 1)
    bad = Level(name="n", bounds=np.array([0, 0, np.nan, 1]))
    with pytest.raises(LevelError, match="not finite"):
        save_level(bad, tmp_path / "a.json")
    with pytest.raises(LevelError, match="cannot be written"):
        save_level(level, tmp_path / "none" / "a.json")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(LevelError, match="No space left"):
        save_level(level, tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_in_a_folder_is_refused_unread(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "endless.json")
    with pytest.raises(
        LevelError, match=r"endless\.json: cannot be read: not a regular"
    ):
        load_levels(tmp_path)
