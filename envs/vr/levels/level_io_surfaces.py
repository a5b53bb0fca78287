"""The keys of level files that only levels with heights or several places have.

`{"heights": true, "ground": true, "ramps": [{"from": [x, y, z], "to": [x, y, z], "width",
"thickness"}], "stairs": [{..., "steps"}], "heightfields": [{"origin": [x, y, z], "cell",
"heights": [[z, ...], ...]}], "meshes": [{"vertices": [[x, y, z], ...], "triangles": [[i, j,
k], ...]}], "starts": [{"position": [x, y, z], "yaw"}], "goals": [[x, y, z]], "waypoints":
[[x, y, z]]}`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_json import (
    Problem,
    as_list,
    as_number,
    as_numbers,
    as_table,
    flag,
    short,
)
from ambulo.envs.vr.levels.surfaces import (
    RAMP_COLUMNS,
    STAIR_COLUMNS,
    HeightField,
    Mesh,
)

SURFACE_KEYS = (
    "heights", "ground", "ramps", "stairs", "heightfields", "meshes", "starts", "goals",
    "waypoints",
)  # fmt: skip
MAX_TRIANGLES = 1_000_000
"""Most triangles of all meshes and height fields of a level together."""
MAX_PLACES = 10_000
"""Most starts, goals or waypoints of a level."""

_RAMP = ("from", "to", "width", "thickness")


def read_surfaces(table: dict[str, Any]) -> dict[str, Any]:
    """The values of `SURFACE_KEYS` in `table` by the names of `Level`.

    Raises:
        Problem: a value of another kind.
    """
    ramps = [_ramp(r, f"ramps[{k}]") for k, r in enumerate(as_list(table, "ramps"))]
    stairs = [
        _ramp(s, f"stairs[{k}]", steps=True)
        for k, s in enumerate(as_list(table, "stairs"))
    ]
    fields = tuple(
        _heightfield(f, f"heightfields[{k}]")
        for k, f in enumerate(as_list(table, "heightfields"))
    )
    meshes = tuple(
        _mesh(m, f"meshes[{k}]") for k, m in enumerate(as_list(table, "meshes"))
    )
    starts = [_start(s, f"starts[{k}]") for k, s in enumerate(_places(table, "starts"))]
    return {
        "heights": flag(table.get("heights", False), "heights"),
        "ground": flag(table.get("ground", True), "ground"),
        "ramps": np.array(ramps, np.float64).reshape(-1, RAMP_COLUMNS),
        "stairs": np.array(stairs, np.float64).reshape(-1, STAIR_COLUMNS),
        "heightfields": fields,
        "meshes": meshes,
        "starts": np.array(starts, np.float64).reshape(-1, 4),
        "goals": _points(table, "goals"),
        "waypoints": _points(table, "waypoints"),
    }


def surface_data(level: Level) -> dict[str, Any]:
    """Those of `SURFACE_KEYS` that `level` uses, as plain JSON data."""
    data: dict[str, Any] = {
        "heights": level.heights,
        "ground": level.ground,
        "ramps": [_ramp_data(row) for row in level.ramps.tolist()],
        "stairs": [
            {**_ramp_data(row), "steps": round(row[8])} for row in level.stairs.tolist()
        ],
        "heightfields": [
            {
                "origin": f.origin.tolist(),
                "cell": f.cell,
                "heights": f.heights.tolist(),
            }
            for f in level.heightfields
        ],
        "meshes": [
            {"vertices": m.vertices.tolist(), "triangles": m.triangles.tolist()}
            for m in level.meshes
        ],
        "starts": [{"position": s[:3], "yaw": s[3]} for s in level.starts.tolist()],
        "goals": level.goals.tolist(),
        "waypoints": level.waypoints.tolist(),
    }
    usual = {"heights": False, "ground": True}
    return {k: v for k, v in data.items() if v != usual.get(k, [])}


def as_point(value: object, key: str) -> list[float]:
    """x, y, z of two or three numbers; z is 0 without a third."""
    if isinstance(value, list) and len(value) == 2:
        return [*as_numbers(value, key, 2), 0.0]
    if isinstance(value, list) and len(value) == 3:
        return as_numbers(value, key, 3)
    raise Problem(f"{key}: expected 2 or 3 numbers, got {short(value)}")


def raised(xy: list[float], height: float) -> list[float]:
    """`xy` as a level file has it: with its height unless that is 0."""
    return [*xy, height] if height else xy


def _ramp(data: object, key: str, *, steps: bool = False) -> list[float]:
    allowed = (*_RAMP, "steps") if steps else _RAMP
    required = ("from", "to", "width", "steps") if steps else ("from", "to", "width")
    table = as_table(data, key, allowed, required)
    low = as_numbers(table["from"], f"{key}.from", 3)
    high = as_numbers(table["to"], f"{key}.to", 3)
    width = as_number(table["width"], f"{key}.width")
    thickness = table.get("thickness")
    thick = 0.0 if thickness is None else as_number(thickness, f"{key}.thickness")
    if width <= 0 or thick < 0 or (thickness is not None and thick == 0):
        raise Problem(f"{key}: width and thickness must be > 0")
    if low[:2] == high[:2]:
        raise Problem(f"{key}: from and to are one above the other")
    if low[2] > high[2]:
        low, high = high, low
    row = [*low, *high, width, thick]
    if not steps:
        return row
    count = as_number(table["steps"], f"{key}.steps")
    if not (1 <= count <= 1000 and count == round(count)):
        raise Problem(f"{key}.steps: expected a whole number from 1 to 1000")
    if high[2] <= low[2]:
        raise Problem(f"{key}: must rise")
    return [*row, count]


def _ramp_data(row: list[float]) -> dict[str, Any]:
    data = {"from": row[:3], "to": row[3:6], "width": row[6]}
    return data if row[7] == 0 else {**data, "thickness": row[7]}


def _heightfield(data: object, key: str) -> HeightField:
    keys = ("origin", "cell", "heights")
    table = as_table(data, key, keys, keys)
    cell = as_number(table["cell"], f"{key}.cell")
    if cell <= 0:
        raise Problem(f"{key}.cell: must be > 0")
    rows = as_list(table, "heights")
    width = len(rows[0]) if rows and isinstance(rows[0], list) else 0
    if len(rows) < 2 or width < 2:
        raise Problem(f"{key}.heights: expected at least 2 rows of 2 numbers")
    if len(rows) * width * 2 > MAX_TRIANGLES:
        raise Problem(f"{key}.heights: more than {MAX_TRIANGLES} triangles")
    heights = [as_numbers(r, f"{key}.heights[{k}]", width) for k, r in enumerate(rows)]
    origin = np.array(as_numbers(table["origin"], f"{key}.origin", 3))
    return HeightField(origin, cell, np.array(heights, np.float64))


def _mesh(data: object, key: str) -> Mesh:
    keys = ("vertices", "triangles")
    table = as_table(data, key, keys, keys)
    points, faces = as_list(table, "vertices"), as_list(table, "triangles")
    if len(faces) > MAX_TRIANGLES or len(points) > 3 * MAX_TRIANGLES:
        raise Problem(f"{key}.triangles: more than {MAX_TRIANGLES}")
    vertices = [as_numbers(p, f"{key}.vertices[{k}]", 3) for k, p in enumerate(points)]
    triangles = [as_numbers(t, f"{key}.triangles[{k}]", 3) for k, t in enumerate(faces)]
    corners = np.array(triangles, np.float64).reshape(-1, 3)
    bad = (corners != np.round(corners)) | (corners < 0) | (corners >= len(points))
    if bad.any():
        k = int(np.argmax(bad.any(axis=1)))
        raise Problem(
            f"{key}.triangles[{k}]: expected numbers of vertices, 0 to {len(points) - 1}"
        )
    return Mesh(np.array(vertices, np.float64).reshape(-1, 3), corners.astype(np.int64))


def _start(data: object, key: str) -> list[float]:
    table = as_table(data, key, ("position", "yaw"), ("position",))
    place = as_point(table["position"], f"{key}.position")
    return [*place, as_number(table.get("yaw", 0.0), f"{key}.yaw")]


def _places(table: dict[str, Any], key: str) -> list[Any]:
    places = as_list(table, key)
    if len(places) > MAX_PLACES:
        raise Problem(f"{key}: more than {MAX_PLACES}")
    return places


def _points(table: dict[str, Any], key: str) -> Floats:
    places = _places(table, key)
    points = [as_point(p, f"{key}[{k}]") for k, p in enumerate(places)]
    return np.array(points, np.float64).reshape(-1, 3)
