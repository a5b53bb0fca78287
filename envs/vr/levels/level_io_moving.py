"""The keys of level files for what moves.

`{"movers": [{"kind", "half_size": [a, b, c], "path": [[t, x, y, z, yaw], ...], "loop",
"phase"}], "people": {"count", "speed": [min, max], "radius", "see_agent", "goals": [[x, y,
z]], "walkers": [{"route": [[x, y, z], ...], "speed", "loop", "phase"} or {"path": [[t, x, y,
z], ...], "loop", "phase"}]}}`. A door may be `{"kind": "door", "hinge": [x, y, z], "width",
"thickness", "height", "yaw", "open", "period", "phase"}`.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import nearest
from ambulo.envs.vr.levels.level_io_surfaces import as_point
from ambulo.envs.vr.levels.level_json import (
    Problem,
    as_list,
    as_number,
    as_numbers,
    as_table,
    flag,
    short,
)
from ambulo.envs.vr.levels.moving import (
    KINDS,
    Mover,
    People,
    Walker,
    hinged_door,
    route_keyframes,
)

MOVING_KEYS = ("movers", "people")
MAX_MOVERS = 200
"""Most moving things of a level."""
MAX_PEOPLE = 200
"""Most people of a level."""
MAX_KEYFRAMES = 10_000
"""Most keyframes of one path."""

_LOOPS: dict[object, str] = {True: "loop", False: "once"}
_DOOR = ("hinge", "width", "thickness", "height", "yaw", "open", "period")
_PEOPLE = ("count", "speed", "radius", "see_agent", "goals", "walkers")


def read_moving(table: dict[str, Any]) -> dict[str, Any]:
    """The values of `MOVING_KEYS` in `table` by the names of `Level`.

    Raises:
        Problem: a value of another kind.
    """
    rows = as_list(table, "movers")
    if len(rows) > MAX_MOVERS:
        raise Problem(f"movers: more than {MAX_MOVERS}")
    movers = tuple(_mover(m, f"movers[{k}]") for k, m in enumerate(rows))
    people = table.get("people")
    return {"movers": movers, "people": None if people is None else _people(people)}


def moving_data(movers: tuple[Mover, ...], people: People | None) -> dict[str, Any]:
    """`movers` and `people` as plain JSON data; without those that are not there."""
    data: dict[str, Any] = {}
    if movers:
        data["movers"] = [
            {"kind": m.kind, "half_size": m.half_size.tolist(), **_path_data(m)}
            for m in movers
        ]
    if people is not None:
        data["people"] = {
            "count": people.count,
            "speed": list(people.speed),
            "radius": people.radius,
            "see_agent": people.see_agent,
            "goals": people.goals.tolist(),
            "walkers": [_path_data(w) for w in people.walkers],
        }
    return data


def _path_data(thing: Mover | Walker) -> dict[str, Any]:
    loop = {"loop": True, "once": False}.get(thing.loop, thing.loop)
    phase = "random" if thing.phase is None else thing.phase
    return {"path": thing.path.tolist(), "loop": loop, "phase": phase}


def _mover(data: object, key: str) -> Mover:
    hinged = isinstance(data, dict) and "hinge" in data
    own = _DOOR if hinged else ("half_size", "path", "loop")
    needed = ("hinge", "width", "open") if hinged else ("half_size", "path")
    table = as_table(data, key, ("kind", *own, "phase"), ("kind", *needed))
    kind = table["kind"]
    if kind not in KINDS:
        hint = nearest(kind, KINDS) if isinstance(kind, str) else ""
        raise Problem(f"{key}.kind: unknown kind {short(kind)}{hint}")
    phase = _phase(table, key)
    if hinged:
        half, path = _door(table, key)
        return Mover(kind, half, path, "loop", phase)
    half = np.array(as_numbers(table["half_size"], f"{key}.half_size", 3))
    path = _keyframes(table["path"], f"{key}.path", 5)
    return Mover(kind, half, path, _loop(table, key), phase)


def _door(table: dict[str, Any], key: str) -> tuple[Floats, Floats]:
    usual = {"thickness": 0.06, "height": 2.1, "yaw": 0.0, "period": 8.0}
    values = {
        name: as_number(table.get(name, usual.get(name)), f"{key}.{name}")
        for name in _DOOR[1:]
    }
    for name in ("width", "thickness", "height", "period"):
        if values[name] <= 0:
            raise Problem(f"{key}.{name}: must be > 0")
    if not 0 < abs(values["open"]) <= 2 * math.pi:
        raise Problem(f"{key}.open: must be an angle of at most 2 pi, not 0")
    size = (values["width"], values["thickness"], values["height"])
    hinge = np.array(as_point(table["hinge"], f"{key}.hinge"))
    return hinged_door(hinge, size, values["yaw"], values["open"], values["period"])


def _people(data: object) -> People:
    table = as_table(data, "people", _PEOPLE, ())
    count = as_number(table.get("count", 0), "people.count")
    walkers = as_list(table, "walkers")
    if not (count >= 0 and count == round(count)):
        raise Problem(f"people.count: expected a whole number >= 0, got {short(count)}")
    if count + len(walkers) > MAX_PEOPLE:
        raise Problem(f"people.count: more than {MAX_PEOPLE} people")
    low, high = as_numbers(table.get("speed", [0.8, 1.6]), "people.speed", 2)
    goals = [as_point(g, f"people.goals[{k}]") for k, g in enumerate(_goals(table))]
    return People(
        count=round(count),
        speed=(low, high),
        radius=as_number(table.get("radius", 0.25), "people.radius"),
        see_agent=flag(table.get("see_agent", True), "people.see_agent"),
        goals=np.array(goals, np.float64).reshape(-1, 3),
        walkers=tuple(
            _walker(w, f"people.walkers[{k}]") for k, w in enumerate(walkers)
        ),
    )


def _goals(table: dict[str, Any]) -> list[Any]:
    goals = as_list(table, "goals")
    if len(goals) > MAX_PEOPLE or len(goals) == 1:
        raise Problem(f"people.goals: expected 2 to {MAX_PEOPLE} places, or none")
    return goals


def _walker(data: object, key: str) -> Walker:
    routed = isinstance(data, dict) and "route" in data
    own = ("route", "speed") if routed else ("path",)
    table = as_table(data, key, (*own, "loop", "phase"), own)
    if not routed:
        path = _keyframes(table["path"], f"{key}.path", 4)
        return Walker(path, _loop(table, key), _phase(table, key))
    rows = as_list(table, "route")
    if not 2 <= len(rows) <= MAX_KEYFRAMES:
        raise Problem(f"{key}.route: expected 2 to {MAX_KEYFRAMES} points")
    points = [as_point(p, f"{key}.route[{k}]") for k, p in enumerate(rows)]
    speed = as_number(table["speed"], f"{key}.speed")
    if speed <= 0:
        raise Problem(f"{key}.speed: must be > 0")
    loop = _loop(table, key)
    if loop == "loop" and points[0] != points[-1]:
        points.append(points[0])
    for k, (a, b) in enumerate(pairwise(points)):
        if a == b:
            raise Problem(f"{key}.route[{k + 1}]: the same place as the one before")
    path = route_keyframes(np.array(points), speed)
    return Walker(path, loop, _phase(table, key))


def _keyframes(value: object, key: str, columns: int) -> Floats:
    """Rows t and what follows; walkers may leave the height out. Shape (K, columns)."""
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_KEYFRAMES:
        raise Problem(f"{key}: expected 1 to {MAX_KEYFRAMES} keyframes")
    rows = []
    for k, row in enumerate(value):
        if columns == 4 and isinstance(row, list) and len(row) == 3:
            row = [*row, 0.0]  # noqa: PLW2901 - on the ground
        rows.append(as_numbers(row, f"{key}[{k}]", columns))
    path = np.array(rows, np.float64)
    if path[0, 0] != 0:
        raise Problem(f"{key}[0]: t must begin at 0")
    late = np.flatnonzero(np.diff(path[:, 0]) <= 0)
    if len(late):
        raise Problem(f"{key}[{late[0] + 1}]: t must ascend")
    return path


def _loop(table: dict[str, Any], key: str) -> str:
    loop = table.get("loop", "back_and_forth")
    if loop == "back_and_forth" or isinstance(loop, bool):
        return _LOOPS.get(loop, "back_and_forth")
    raise Problem(
        f'{key}.loop: expected true, false or "back_and_forth", got {short(loop)}'
    )


def _phase(table: dict[str, Any], key: str) -> float | None:
    phase = table.get("phase", 0.0)
    if phase == "random":
        return None
    if isinstance(phase, str):
        raise Problem(f'{key}.phase: expected seconds or "random", got {short(phase)}')
    seconds = as_number(phase, f"{key}.phase")
    if seconds < 0:
        raise Problem(f"{key}.phase: must be >= 0")
    return seconds
