"""Level files: JSON in metres and radians, Z up, checked so that a level can be played.

`{"name", "bounds": [x0, y0, x1, y1], "holes": [[x0, y0, x1, y1]], "boxes": [{"center":
[x, y, z], "half_size": [a, b, c], "yaw"}], "cylinders": [{"center": [x, y], "radius",
"height"}], "start": {"position": [x, y], "yaw"}, "goal": [x, y], "goal_distance": [min,
max], "family"}`; only name and bounds are required. Points of levels with `"heights": true`
may have a third number; their other shapes are read by `level_io_surfaces`, and what moves
by `level_io_moving`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import LevelError
from ambulo.configs.json_text import unique_keys
from ambulo.configs.reading import read_regular_text
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_check import MAX_OBSTACLES, level_problem
from ambulo.envs.vr.levels.level_io_moving import (
    MOVING_KEYS,
    moving_data,
    read_moving,
)
from ambulo.envs.vr.levels.level_io_surfaces import (
    SURFACE_KEYS,
    as_point,
    raised,
    read_surfaces,
    surface_data,
)
from ambulo.envs.vr.levels.level_json import (
    Problem,
    as_list,
    as_name,
    as_number,
    as_numbers,
    as_table,
)

MAX_FILE_SIZE = 64 * 2**20
"""Larger level files are refused unread, [bytes]."""
_KEYS = (
    "name", "bounds", "holes", "boxes", "cylinders", "start", "goal", "goal_distance",
    "family", *SURFACE_KEYS, *MOVING_KEYS,
)  # fmt: skip


def load_levels(path: str | os.PathLike[str], *, solvable: bool = True) -> list[Level]:
    """The level in a file, or in all `*.json` files of a folder, sorted by name.

    Without `solvable`, levels are accepted that have no way from start to goal.
    """
    path = Path(path)
    if path.is_dir():
        files = sorted(path.glob("*.json"))
        if not files:
            raise LevelError(f"{path}: no *.json level file in this folder")
    elif path.is_file():
        files = [path]
    else:
        raise LevelError(f"{path}: no such level file or folder")
    levels = [_load(file, solvable) for file in files]
    owner: dict[str, Path] = {}
    for file, level in zip(files, levels, strict=True):
        if level.name in owner:
            raise LevelError(
                f"{file}: name: {level.name!r} is also the name of {owner[level.name]}"
            )
        owner[level.name] = file
    return levels


def save_level(
    level: Level, path: str | os.PathLike[str], *, compact: bool = False
) -> None:
    """Write `level` as JSON, in one line if `compact`.

    The file appears whole or not at all.
    """
    path = Path(path)
    layout: dict[str, Any] = {"separators": (",", ":")} if compact else {"indent": 1}
    try:
        text = json.dumps(level_data(level), allow_nan=False, **layout) + "\n"
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
            {"center": raised(c[:2], c[4]), "radius": c[2], "height": c[3]}
            for c in level.cylinders.tolist()
        ],
        "start": None
        if start is None
        else {
            "position": raised(start[:2].tolist(), level.start_height),
            "yaw": float(start[2]),
        },
        "goal": None if goal is None else raised(goal.tolist(), level.goal_height),
        "goal_distance": None if distance is None else list(distance),
        **surface_data(level),
        **moving_data(level.movers, level.people),
    }


def parse_level(data: object, source: str, *, solvable: bool = True) -> Level:
    """A checked level from JSON data; errors begin with `source`."""
    try:
        level = _parse(data)
    except Problem as problem:
        raise LevelError(f"{source}: {problem}") from None
    problem_text = level_problem(level, solvable=solvable)
    if problem_text is not None:
        raise LevelError(f"{source}: {problem_text}")
    return level


def _load(file: Path, solvable: bool) -> Level:
    try:
        text = read_regular_text(file, MAX_FILE_SIZE)
    except OSError as error:
        raise LevelError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise LevelError(f"{file}: not JSON: not UTF-8 text") from error
    try:
        data = json.loads(text, object_pairs_hook=unique_keys)
    except RecursionError as error:
        raise LevelError(f"{file}: not JSON: nested too deeply") from error
    except ValueError as error:
        raise LevelError(f"{file}: not JSON: {' '.join(str(error).split())}") from error
    return parse_level(data, str(file), solvable=solvable)


def _parse(data: object) -> Level:
    table = as_table(data, "level", _KEYS, ("name", "bounds"))
    bounds = as_numbers(table["bounds"], "bounds", 4)
    rows = {key: as_list(table, key) for key in ("holes", "boxes", "cylinders")}
    total = sum(len(r) for r in rows.values())
    if total > MAX_OBSTACLES:
        largest = max(rows, key=lambda key: len(rows[key]))
        raise Problem(
            f"{largest}: {total} obstacles and holes, at most {MAX_OBSTACLES} allowed"
        )
    holes = [as_numbers(h, f"holes[{k}]", 4) for k, h in enumerate(rows["holes"])]
    boxes = [_box(b, f"boxes[{k}]") for k, b in enumerate(rows["boxes"])]
    drums = [_cylinder(c, f"cylinders[{k}]") for k, c in enumerate(rows["cylinders"])]
    distance = table.get("goal_distance")
    pair = None if distance is None else as_numbers(distance, "goal_distance", 2)
    start, start_height = _start(table.get("start"))
    goal, goal_height = _goal(table.get("goal"))
    return Level(
        name=as_name(table["name"], "name"),
        bounds=np.array(bounds),
        holes=np.array(holes, np.float64).reshape(-1, 4),
        boxes=np.array(boxes, np.float64).reshape(-1, 7),
        cylinders=np.array(drums, np.float64).reshape(-1, 5),
        start=start,
        start_height=start_height,
        goal=goal,
        goal_height=goal_height,
        goal_distance=None if pair is None else (pair[0], pair[1]),
        family=as_name(table.get("family", "custom"), "family"),
        **read_surfaces(table),
        **read_moving(table),
    )


def _box(data: object, key: str) -> list[float]:
    table = as_table(data, key, ("center", "half_size", "yaw"), ("center", "half_size"))
    centre = as_numbers(table["center"], f"{key}.center", 3)
    half = as_numbers(table["half_size"], f"{key}.half_size", 3)
    return [*centre, *half, as_number(table.get("yaw", 0.0), f"{key}.yaw")]


def _cylinder(data: object, key: str) -> list[float]:
    keys = ("center", "radius", "height")
    table = as_table(data, key, keys, keys)
    centre = as_point(table["center"], f"{key}.center")
    sizes = [as_number(table[name], f"{key}.{name}") for name in keys[1:]]
    return [*centre[:2], *sizes, centre[2]]


def _start(data: object) -> tuple[Floats | None, float]:
    """x, y, yaw of a start, and its height."""
    if data is None:
        return None, 0.0
    table = as_table(data, "start", ("position", "yaw"), ("position",))
    x, y, z = as_point(table["position"], "start.position")
    return np.array([x, y, as_number(table.get("yaw", 0.0), "start.yaw")]), z


def _goal(data: object) -> tuple[Floats | None, float]:
    """x, y of a goal, and its height."""
    if data is None:
        return None, 0.0
    x, y, z = as_point(data, "goal")
    return np.array([x, y]), z
