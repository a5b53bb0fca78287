"""Level files: JSON in metres and radians, Z up, checked so that a level can be played.

`{"name", "bounds": [x0, y0, x1, y1], "holes": [[x0, y0, x1, y1]], "boxes": [{"center":
[x, y, z], "half_size": [a, b, c], "yaw"}], "cylinders": [{"center": [x, y], "radius",
"height"}], "start": {"position": [x, y], "yaw"}, "goal": [x, y], "goal_distance": [min,
max], "family"}`; only name and bounds are required.
"""

from __future__ import annotations

import json
import math
import os
import reprlib
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import LevelError, nearest
from ambulo.configs.reading import read_regular_text
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_check import (
    MAX_COORDINATE,
    MAX_OBSTACLES,
    level_problem,
)

MAX_FILE_SIZE = 64 * 2**20
"""Larger level files are refused unread, [bytes]."""
MAX_NAME = 200
"""Longest level name, [characters]."""

_KEYS = tuple(field.name for field in fields(Level))


class _Problem(Exception):
    """`key: rule`, still without the file."""


def load_levels(path: str | os.PathLike[str]) -> list[Level]:
    """The level in a file, or in all `*.json` files of a folder, sorted by name."""
    path = Path(path)
    if path.is_dir():
        files = sorted(path.glob("*.json"))
        if not files:
            raise LevelError(f"{path}: no *.json level file in this folder")
    elif path.is_file():
        files = [path]
    else:
        raise LevelError(f"{path}: no such level file or folder")
    levels = [_load(file) for file in files]
    owner: dict[str, Path] = {}
    for file, level in zip(files, levels, strict=True):
        if level.name in owner:
            raise LevelError(
                f"{file}: name: {level.name!r} is also the name of {owner[level.name]}"
            )
        owner[level.name] = file
    return levels


def save_level(level: Level, path: str | os.PathLike[str]) -> None:
    """Write `level` as JSON; the file appears whole or not at all."""
    path = Path(path)
    try:
        text = json.dumps(level_data(level), indent=1, allow_nan=False) + "\n"
    except ValueError as error:
        raise LevelError(
            f"{path}: {level.name!r} has values that are not finite"
        ) from error
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise LevelError(f"{path}: cannot be written: {error.strerror}") from error


def level_data(level: Level) -> dict[str, Any]:
    """`level` as plain JSON data."""
    start, goal, distance = level.start, level.goal, level.goal_distance
    return {
        "name": level.name,
        "family": level.family,
        "bounds": level.bounds.tolist(),
        "holes": level.holes.tolist(),
        "boxes": [
            {"center": b[:3], "half_size": b[3:6], "yaw": b[6]}
            for b in level.boxes.tolist()
        ],
        "cylinders": [
            {"center": c[:2], "radius": c[2], "height": c[3]}
            for c in level.cylinders.tolist()
        ],
        "start": None
        if start is None
        else {"position": start[:2].tolist(), "yaw": float(start[2])},
        "goal": None if goal is None else goal.tolist(),
        "goal_distance": None if distance is None else list(distance),
    }


def parse_level(data: object, source: str) -> Level:
    """A checked level from JSON data; errors begin with `source`."""
    try:
        level = _parse(data)
    except _Problem as problem:
        raise LevelError(f"{source}: {problem}") from None
    problem_text = level_problem(level)
    if problem_text is not None:
        raise LevelError(f"{source}: {problem_text}")
    return level


def _load(file: Path) -> Level:
    try:
        text = read_regular_text(file, MAX_FILE_SIZE)
    except OSError as error:
        raise LevelError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise LevelError(f"{file}: not JSON: not UTF-8 text") from error
    try:
        data = json.loads(text, object_pairs_hook=_unique)
    except _Problem as problem:
        raise LevelError(f"{file}: {problem}") from None
    except RecursionError as error:
        raise LevelError(f"{file}: not JSON: nested too deeply") from error
    except ValueError as error:
        raise LevelError(f"{file}: not JSON: {' '.join(str(error).split())}") from error
    return parse_level(data, str(file))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Problem(f"{_short(key)}: given twice in one object")
            seen.add(key)
    return data


def _short(value: object) -> str:
    return " ".join(reprlib.repr(value).split())


def _parse(data: object) -> Level:
    table = _table(data, "level", _KEYS, ("name", "bounds"))
    bounds = _numbers(table["bounds"], "bounds", 4)
    rows = {key: _list(table, key) for key in ("holes", "boxes", "cylinders")}
    total = sum(len(r) for r in rows.values())
    if total > MAX_OBSTACLES:
        largest = max(rows, key=lambda key: len(rows[key]))
        raise _Problem(
            f"{largest}: {total} obstacles and holes, at most {MAX_OBSTACLES} allowed"
        )
    holes = [_numbers(h, f"holes[{k}]", 4) for k, h in enumerate(rows["holes"])]
    boxes = [_box(b, f"boxes[{k}]") for k, b in enumerate(rows["boxes"])]
    drums = [_cylinder(c, f"cylinders[{k}]") for k, c in enumerate(rows["cylinders"])]
    goal, distance = table.get("goal"), table.get("goal_distance")
    pair = None if distance is None else _numbers(distance, "goal_distance", 2)
    return Level(
        name=_text(table["name"], "name"),
        bounds=np.array(bounds),
        holes=np.array(holes, np.float64).reshape(-1, 4),
        boxes=np.array(boxes, np.float64).reshape(-1, 7),
        cylinders=np.array(drums, np.float64).reshape(-1, 4),
        start=_start(table.get("start")),
        goal=None if goal is None else np.array(_numbers(goal, "goal", 2)),
        goal_distance=None if pair is None else (pair[0], pair[1]),
        family=_text(table.get("family", "custom"), "family"),
    )


def _box(data: object, key: str) -> list[float]:
    table = _table(data, key, ("center", "half_size", "yaw"), ("center", "half_size"))
    centre = _numbers(table["center"], f"{key}.center", 3)
    half = _numbers(table["half_size"], f"{key}.half_size", 3)
    return [*centre, *half, _number(table.get("yaw", 0.0), f"{key}.yaw")]


def _cylinder(data: object, key: str) -> list[float]:
    keys = ("center", "radius", "height")
    table = _table(data, key, keys, keys)
    centre = _numbers(table["center"], f"{key}.center", 2)
    sizes = [_number(table[name], f"{key}.{name}") for name in keys[1:]]
    return [*centre, *sizes]


def _start(data: object) -> Floats | None:
    if data is None:
        return None
    table = _table(data, "start", ("position", "yaw"), ("position",))
    position = _numbers(table["position"], "start.position", 2)
    return np.array([*position, _number(table.get("yaw", 0.0), "start.yaw")])


def _table(
    data: object, key: str, allowed: tuple[str, ...], required: tuple[str, ...]
) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise _Problem(f"{key}: expected an object, got {_short(data)}")
    prefix = "" if key == "level" else f"{key}."
    for name in data:
        if name not in allowed:
            shown = name if name.isprintable() else ascii(name)
            hint = nearest(name, allowed)
            raise _Problem(f"{prefix}{shown[:MAX_NAME]}: unknown key{hint}")
    for name in required:
        if name not in data:
            raise _Problem(f"{prefix}{name}: missing")
    return data


def _list(table: dict[str, Any], key: str) -> list[Any]:
    value = table.get(key, [])
    if not isinstance(value, list):
        raise _Problem(f"{key}: expected a list, got {_short(value)}")
    return value


def _text(value: object, key: str) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise _Problem(f"{key}: expected one line of text, got {_short(value)}")
    if len(value) > MAX_NAME:
        raise _Problem(f"{key}: longer than {MAX_NAME} characters")
    return value


def _number(value: object, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Problem(f"{key}: expected a number, got {_short(value)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise _Problem(f"{key}: must be finite, got {value}")
    if abs(value) > MAX_COORDINATE:
        raise _Problem(f"{key}: beyond {MAX_COORDINATE:g}, got {_short(value)}")
    return float(value)


def _numbers(value: object, key: str, count: int) -> list[float]:
    if not isinstance(value, list) or len(value) != count:
        raise _Problem(f"{key}: expected {count} numbers, got {_short(value)}")
    return [_number(item, key) for item in value]
