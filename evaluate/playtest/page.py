"""The report of a play-test: one page without links, for a level designer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.evaluate.playtest.comparison import Comparison
from ambulo.evaluate.playtest.measures import MEASURES, measures_of
from ambulo.evaluate.playtest.plans import (
    draw_heat_maps,
    draw_paths,
    draw_problems,
    draw_times,
)
from ambulo.evaluate.playtest.problems import STUCK_SHARE, Problem, access_rows
from ambulo.evaluate.playtest.result import Playtest
from ambulo.evaluate.playtest.scenes import SceneSource
from ambulo.evaluate.playtest.stuck import SPOT_SHARE
from ambulo.evaluate.shared.report import REPORT
from ambulo.evaluate.shared.result import Metric
from ambulo.viz.html_report import write_html

SLOWEST = 8
"""Journeys in the table of the slowest."""
_MOST_LOST = 40
"""Nodes of a scene that could not be carried, in the table of them."""
_LISTS = (
    ("not_carried", "not carried"), ("approximated", "approximated"), ("notes", "note")
)  # fmt: skip
_SHOWN = {measure.name: measure for measure in MEASURES}
_UNITS = {"time_s": " s"}

Drawing = Callable[[Playtest, int], bytes]
Rows = list[list[str]]


def write_page(
    folder: Path,
    tests: Sequence[Playtest],
    problems: Sequence[Sequence[Problem]],
    comparisons: Sequence[Comparison],
    facts: Mapping[str, str],
) -> Path:
    """Write the report into the existing `folder`; return the page.

    Args:
        folder: where to.
        tests: of all levels.
        problems: of each of them.
        comparisons: with other versions.
        facts: command and settings.
    """
    first, names = tests[0], [test.level.name for test in tests]
    compared = {id(comparison.test): comparison for comparison in comparisons}
    return write_html(
        folder / REPORT,
        Path(__file__).with_name("page.html"),
        f"Play-test: {names[0]}" if len(names) == 1 else "Play-test of levels",
        facts,
        first=first,
        own_journeys=any(test.own_journeys for test in tests),
        summary=[_summary(*pair) for pair in zip(tests, problems, strict=True)],
        levels=[
            _level(test, found, compared.get(id(test)))
            for test, found in zip(tests, problems, strict=True)
        ],
        goal_radius=first.walker.subject.config.environment.goal_radius,
        spot_share=SPOT_SHARE,
        stuck_share=STUCK_SHARE,
        most_lost=_MOST_LOST,
    )


def _mean(test: Playtest, name: str) -> str:
    """The mean of a measure, with its unit."""
    return _SHOWN[name].text(Metric(test.metrics[name].value)) + _UNITS.get(name, "")


def _summary(test: Playtest, problems: Sequence[Problem]) -> list[str]:
    """The row of a level in the table of all levels."""
    return [
        test.level.name,
        "problems" if any(p.fails for p in problems) else "fine",
        str(len(test.floor.sealed())),
        _mean(test, "success_rate"),
        f"{100 * test.coverage:.0f} %",
        str(len(test.spots)),
        _mean(test, "time_ratio"),
        _mean(test, "collisions"),
    ]


def _level(
    test: Playtest, problems: Sequence[Problem], comparison: Comparison | None
) -> dict[str, Any]:
    """Variables of the template for one level."""
    storeys = range(len(test.floor.storeys))
    walked = [k for k in storeys if test.floor.storeys[k].reachable.any()]
    return {
        "test": test,
        "problems": problems,
        "access": dict(access_rows(test.floor)),
        "tiles": {
            "reached their goal": _mean(test, "success_rate"),
            "coverage of the floor": f"{100 * test.coverage:.0f} %",
            "sealed areas": str(len(test.floor.sealed())),
            "stuck spots": str(len(test.spots)),
            "mean time": _mean(test, "time_s"),
            "times the shortest way's time": _mean(test, "time_ratio"),
            "collisions per journey": _mean(test, "collisions"),
            "reachable floor": f"{test.floor.reachable_area:.1f} m²",
        },
        "plans": _drawn("Plan: what to look at", test, draw_problems, storeys),
        "comparison": None if comparison is None else _comparison(comparison),
        "lost": [] if test.scene is None else _lost(test.scene),
        "maps": _drawn("Heat maps", test, draw_heat_maps, walked),
        "paths": _drawn("Ways that agents took", test, draw_paths, walked),
        "times": draw_times(test),
        "numbers": _numbers(test),
        "slowest": _slowest(test),
    }


def _drawn(
    title: str, test: Playtest, draw: Drawing, storeys: Iterable[int]
) -> list[tuple[str, bytes]]:
    """Captions, with the storey where there are several, and pictures."""
    names = [storey.title for storey in test.floor.storeys]
    return [
        (title if len(names) == 1 else f"{title}, {names[k]}", draw(test, k))
        for k in storeys
    ]


def _lost(scene: SceneSource) -> Rows:
    """Parts of a scene that are missing in the level."""
    data = scene.to_data()
    return [
        [row["path"], row["class"], what, row["reason"]]
        for key, what in _LISTS
        for row in data[key]
    ]


def _numbers(test: Playtest) -> Rows:
    """Every measure with its interval, and the floor."""
    rows = [
        [m.heading(test.metrics[m.name].unit), m.text(test.metrics[m.name])]
        for m in measures_of(test.level)
    ]
    floor = test.floor
    rows.append(["reachable floor", f"{floor.reachable_area:.1f} m²"])
    if len(floor.storeys) > 1:
        for number, storey in enumerate(floor.storeys):
            near = test.coverage_of(number)
            text = "" if near is None else f", coverage {100 * near:.1f} %"
            area = f"{floor.area_of(storey):.1f} m²{text}"
            rows.append([f"of it {storey.title}", area])
    rows.append(["coverage of it", f"{100 * test.coverage:.1f} %"])
    slivers = f"{floor.slivers} ({floor.sliver_area:.2f} m²)"
    rows.append(["slivers of floor, ignored", slivers])
    if test.level.heights:
        rows.append(["tops of tables and the like, ignored", str(floor.tops)])
    return rows


def _slowest(test: Playtest) -> Rows:
    """The journeys that took longest beyond their shortest way."""
    lost = np.array(
        [record.time - test.ideal_time(k) for k, record in enumerate(test.records)]
    )
    return [
        [
            str(k),
            _place(test, test.journeys[k].start[[0, 1, 3]]),
            _place(test, test.journeys[k].goal),
            f"{test.records[k].optimal:.1f} m",
            f"{test.records[k].time:.1f} s",
            f"{test.values['stuck_s'][k]:.1f} s",
            str(test.records[k].collisions),
            test.outcome(int(k)),
        ]
        for k in np.argsort(-lost)[:SLOWEST]
    ]


def _place(test: Playtest, place: Floats) -> str:
    """A place (3,), with its height in levels that have some."""
    numbers = place if test.level.heights else place[:2]
    return ", ".join(f"{v + 0.0:.1f}" for v in numbers) + " m"


def _comparison(comparison: Comparison) -> dict[str, Any]:
    """Variables of the template for the differences from another version."""
    test, other = comparison.test, comparison.other
    ours, theirs = test.level.name, other.level.name
    theirs = "other version" if ours == theirs else theirs
    shown = measures_of(test.level)
    rows = [
        [*d.cells(), str(d.journeys)]
        for d in comparison.differences
        if d.measure in shown
    ]
    storeys = range(len(other.floor.storeys))
    return {
        "ours": ours,
        "other": theirs,
        "common": comparison.common,
        "rows": rows,
        "facts": comparison.fact_cells(),
        "plans": _drawn(f"Plan of {theirs}", other, draw_problems, storeys),
    }
