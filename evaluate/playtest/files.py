"""Files of a play-test: `playtest.json` for editors, one row per journey as JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.common.files import without_nan, write_atomic
from ambulo.configs.arrays import Floats
from ambulo.envs.vr.survey.bodies import Access
from ambulo.envs.vr.survey.floor import Area, Floor
from ambulo.evaluate.playtest.comparison import Comparison
from ambulo.evaluate.playtest.heatmaps import HeatMap, MapCells
from ambulo.evaluate.playtest.problems import Problem, rounded
from ambulo.evaluate.playtest.result import Playtest
from ambulo.evaluate.playtest.stuck import StuckSpot

FORMAT, VERSION = "ambulo-playtest", 1
RESULT = "playtest.json"
ROWS_JSON, ROWS_CSV = "journeys.json", "journeys.csv"
"""File names of the numbers, and of the rows."""


def write_files(
    folder: Path,
    data: Mapping[str, Any],
    tests: Sequence[Playtest],
) -> None:
    """Write `data` (see `result_data`) and the rows of `tests` into `folder`."""
    write_atomic(folder / RESULT, json_text(data))
    rows = [row for test in tests for row in journey_rows(test)]
    write_atomic(folder / ROWS_JSON, json_text(rows))
    write_atomic(folder / ROWS_CSV, _csv_text(rows))


def json_text(data: object) -> str:
    """`data` as JSON, with null for what is not finite; numbers of a cell on one line."""
    return json.dumps(without_nan(data), allow_nan=False) + "\n"


def result_data(
    tests: Sequence[Playtest],
    problems: Sequence[Sequence[Problem]],
    comparisons: Sequence[Comparison],
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what `playtest.json` holds (docs/playtest.md, "playtest.json").

    Args:
        tests: of all levels.
        problems: of each of them.
        comparisons: with other versions.
        facts: command, agent and settings.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        **facts,
        "passed": not any(p.fails for found in problems for p in found),
        "levels": [
            _level_data(test, found)
            for test, found in zip(tests, problems, strict=True)
        ],
        "comparisons": [comparison.to_data() for comparison in comparisons],
    }


def _level_data(test: Playtest, problems: Sequence[Problem]) -> dict[str, Any]:
    """One level in `playtest.json`."""
    floor = test.floor
    return {
        "name": test.level.name,
        "scene": None if test.scene is None else test.scene.to_data(),
        "bounds": test.level.bounds.tolist(),
        "passed": not any(problem.fails for problem in problems),
        "warnings": test.warnings,
        "problems": [problem.to_data(floor) for problem in problems],
        "floors": [
            {
                "z": round(storey.height, 3),
                "name": storey.title,
                "reachable_area_m2": round(floor.area_of(storey), 3),
                "coverage": test.coverage_of(number),
            }
            for number, storey in enumerate(floor.storeys)
        ],
        "reachable_area_m2": round(floor.reachable_area, 3),
        "coverage": test.coverage,
        "slivers": floor.slivers,
        "sliver_area_m2": round(floor.sliver_area, 3),
        "unlisted_areas": floor.unlisted,
        "tops": floor.tops,
        "areas": [_area_data(area) for area in floor.areas],
        "bodies": [_access_data(access) for access in floor.access],
        "stuck_spots": [_spot_data(spot, floor) for spot in test.spots],
        "metrics": {name: asdict(one) for name, one in test.metrics.items()},
        "heat_maps": [
            *(heat_map.to_data() for heat_map in test.maps),
            _area_map(test).to_data(),
        ],
    }


def _area_data(area: Area) -> dict[str, Any]:
    """An unreachable part of the floor."""
    place = area.opening_position
    return {
        "mark": area.name,
        "kind": area.kind,
        "area_m2": round(area.area, 3),
        "position": rounded(area.position),
        "box": rounded(area.box),
        "width_m": round(area.width, 3),
        "opening_m": area.opening,
        "opening_position": None if place is None else rounded(place),
        "carrier": area.carrier,
    }


def _access_data(access: Access) -> dict[str, Any]:
    """Parts of the floor that some bodies cannot reach, for JSON."""
    return {
        "bodies": [
            {
                "name": body.name,
                "height_m": round(body.height, 3),
                "passage_m": round(2.0 * body.clearance, 3),
                "note": body.note,
            }
            for body in access.bodies
        ],
        "unreachable": [
            {
                "mark": part.name,
                "area_m2": round(part.area, 3),
                "position": rounded(part.position),
            }
            for part in access.parts
        ],
        "places": list(access.places),
    }


def _spot_data(spot: StuckSpot, floor: Floor) -> dict[str, Any]:
    """A stuck spot."""
    return {
        "mark": spot.name,
        "position": rounded(spot.position),
        "floor": floor.name_at(spot.position),
        "radius_m": round(spot.radius, 3),
        "agents": spot.agents,
        "seconds": round(spot.seconds, 2),
        "failures": spot.failures,
    }


def _area_map(test: Playtest) -> HeatMap:
    """Which cells of the heat maps lie in unreachable parts, by their order in `areas`."""
    floor, cells = test.floor, MapCells.of(test.floor)
    values = np.full(cells.heights.shape, np.nan)
    heights = cells.heights.copy()
    for number, area in reversed(list(enumerate(floor.areas))):
        for k, storey in enumerate(floor.storeys):
            places = floor.points(k, storey.owner == area.label)
            at = (np.full(len(places), k), *cells.at(places)[1:])
            values[at] = number
            heights[at] = places[:, 2]
    return HeatMap(
        "unreachable", "Unreachable floor", "1",
        "index in `areas` of the part that the cell belongs to",
        values, replace(cells, heights=heights),
    )  # fmt: skip


def journey_rows(test: Playtest) -> list[dict[str, Any]]:
    """Return one row per journey."""
    rows = []
    for k, (journey, record) in enumerate(
        zip(test.journeys, test.records, strict=True)
    ):
        begin, end = record.trace.position[0], record.trace.position[-1]
        rows.append(
            {
                "level": test.level.name,
                "agent": test.walker.name,
                "episode": k,
                "journey": journey.key,
                "outcome": test.outcome(k),
                "success": record.success,
                **_xyz("start", begin),
                "start_yaw": float(journey.start[2]),
                **_xyz("goal", journey.goal),
                **_xyz("end", end),
                "time_s": record.time,
                "ideal_time_s": test.ideal_time(k),
                "path_m": record.path,
                "shortest_m": record.optimal,
                "stuck_s": float(test.values["stuck_s"][k]),
                "collisions": record.collisions,
                "people_collisions": record.people_collisions,
                "discomfort": float(test.values["discomfort"][k]),
            }
        )
    return [
        {key: round(v, 4) if isinstance(v, float) else v for key, v in row.items()}
        for row in rows
    ]


def _xyz(name: str, place: Floats) -> dict[str, float]:
    """Columns of a place (3,), [m]."""
    return {f"{name}_{axis}": float(v) for axis, v in zip("xyz", place, strict=True)}


def _csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """`rows` as CSV with a line of headings."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
