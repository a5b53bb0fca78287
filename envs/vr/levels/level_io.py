"""Level files: JSON as in `level_file`, with a check that the level can be played."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ambulo.configs.atomic import replace_file
from ambulo.configs.base import error_line, read_json
from ambulo.configs.errors import LevelError
from ambulo.configs.json_text import large_json_value
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_check import level_problem
from ambulo.envs.vr.levels.level_file import LevelFile
from ambulo.envs.vr.levels.moving import Mover, Walker

MAX_FILE_SIZE = 64 * 2**20
"""Largest accepted level file, [bytes]."""


def load_levels(path: str | os.PathLike[str], *, solvable: bool = True) -> list[Level]:
    """Return the level in a file, or in all `*.json` files of a folder, sorted by name.

    Without `solvable`, start and goal need not be connected.

    Raises:
        LevelError: A file cannot be read or breaks a rule, or two levels share a name.
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
    levels: list[Level] = []
    owner: dict[str, Path] = {}
    for file in files:
        data = read_json(file, MAX_FILE_SIZE, large_json_value, LevelError)
        levels.append(parse_level(data, str(file), solvable=solvable))
        name = levels[-1].name
        if name in owner:
            raise LevelError(
                f"{file}: name: {name!r} is also the name of {owner[name]}"
            )
        owner[name] = file
    return levels


def parse_level(data: object, source: str, *, solvable: bool = True) -> Level:
    """Return a checked level from JSON data.

    Without `solvable`, start and goal need not be connected.

    Raises:
        LevelError: The data break a rule, in one line `source: key: rule`.
    """
    try:
        level = LevelFile.model_validate(data).level()
    except ValidationError as error:
        raise LevelError(f"{source}: {error_line(error)}") from None
    problem = level_problem(level, solvable=solvable)
    if problem is not None:
        raise LevelError(f"{source}: {problem}")
    return level


def level_schema() -> dict[str, Any]:
    """Return the JSON schema of level files, for completion and checks in editors."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return dialect | LevelFile.model_json_schema()


def save_level(
    level: Level, path: str | os.PathLike[str], *, compact: bool = False
) -> None:
    """Write `level` as JSON, in one line if `compact`.

    The write is atomic.

    Raises:
        LevelError: The file cannot be written, or a value is not finite.
    """
    path = Path(path)
    layout: dict[str, Any] = {"separators": (",", ":")} if compact else {"indent": 1}
    try:
        text = json.dumps(level_data(level), allow_nan=False, **layout) + "\n"
        replace_file(path, text.encode())
    except ValueError as error:
        raise LevelError(
            f"{path}: {level.name!r} has values that are not finite"
        ) from error
    except OSError as error:
        raise LevelError(f"{path}: cannot be written: {error.strerror}") from error


def level_data(level: Level) -> dict[str, Any]:
    """Return `level` as plain JSON data, without unused features of heights."""
    start, goal, distance = level.start, level.goal, level.goal_distance
    data: dict[str, Any] = {
        "name": level.name,
        "family": level.family,
        "bounds": level.bounds.tolist(),
        "holes": level.holes.tolist(),
        "boxes": [
            {"center": b[:3], "half_size": b[3:6], "yaw": b[6]}
            for b in level.boxes.tolist()
        ],
        "cylinders": [
            {"center": _point(c[:2], c[4]), "radius": c[2], "height": c[3]}
            for c in level.cylinders.tolist()
        ],
        "start": None
        if start is None
        else {
            "position": _point(start[:2].tolist(), level.start_height),
            "yaw": float(start[2]),
        },
        "goal": None if goal is None else _point(goal.tolist(), level.goal_height),
        "goal_distance": None if distance is None else list(distance),
    }
    with_heights: dict[str, Any] = {
        "heights": level.heights,
        "ground": level.ground,
        "ramps": [_ramp(r) for r in level.ramps.tolist()],
        "stairs": [{**_ramp(s), "steps": round(s[8])} for s in level.stairs.tolist()],
        "heightfields": [
            {"origin": f.origin.tolist(), "cell": f.cell, "heights": f.heights.tolist()}
            for f in level.heightfields
        ],
        "meshes": [
            {"vertices": m.vertices.tolist(), "triangles": m.triangles.tolist()}
            for m in level.meshes
        ],
        "starts": [{"position": s[:3], "yaw": s[3]} for s in level.starts.tolist()],
        "goals": level.goals.tolist(),
        "waypoints": level.waypoints.tolist(),
        "movers": [
            {"kind": m.kind, "half_size": m.half_size.tolist(), **_path(m)}
            for m in level.movers
        ],
    }
    usual = {"heights": False, "ground": True}
    data |= {key: v for key, v in with_heights.items() if v != usual.get(key, [])}
    if (people := level.people) is not None:
        data["people"] = {
            "count": people.count,
            "speed": list(people.speed),
            "radius": people.radius,
            "see_agent": people.see_agent,
            "goals": people.goals.tolist(),
            "walkers": [_path(walker) for walker in people.walkers],
        }
    return data


def _point(xy: list[float], height: float) -> list[float]:
    """`xy` with its height unless that is 0."""
    return [*xy, height] if height else xy


def _ramp(row: list[float]) -> dict[str, Any]:
    data = {"from": row[:3], "to": row[3:6], "width": row[6]}
    return data if row[7] == 0 else {**data, "thickness": row[7]}


def _path(thing: Mover | Walker) -> dict[str, Any]:
    loop = {"loop": True, "once": False}.get(thing.loop, thing.loop)
    phase = "random" if thing.phase is None else thing.phase
    return {"path": thing.path.tolist(), "loop": loop, "phase": phase}
