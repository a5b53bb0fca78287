"""The report of a play-test: one page without links, for a level designer."""

from __future__ import annotations

import html
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ambulo.common.files import write_atomic
from ambulo.common.run_folder import provenance
from ambulo.configs.arrays import Floats
from ambulo.evaluate.playtest.comparison import Comparison, Fact
from ambulo.evaluate.playtest.measures import MEASURES, measures_of
from ambulo.evaluate.playtest.page_notes import access_html, notes_html, scene_html
from ambulo.evaluate.playtest.plans import (
    draw_heat_maps,
    draw_paths,
    draw_problems,
    draw_times,
)
from ambulo.evaluate.playtest.problems import Problem
from ambulo.evaluate.playtest.result import Playtest
from ambulo.evaluate.shared.report import REPORT
from ambulo.viz.html_report import (
    facts_table,
    figure_html,
    page_html,
    table_html,
    tiles_html,
)

SLOWEST = 8
"""Journeys in the table of the slowest."""


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
    names = [test.level.name for test in tests]
    title = f"Play-test: {names[0]}" if len(names) == 1 else "Play-test of levels"
    parts = [_STYLE, f"<h1>{html.escape(title)}</h1>", _intro(tests)]
    if len(tests) > 1:
        parts.append(_summary(tests, problems))
    compared = {id(comparison.test): comparison for comparison in comparisons}
    for number, (test, found) in enumerate(zip(tests, problems, strict=True)):
        parts += _level(test, found, compared.get(id(test)), number, len(tests) > 1)
    made = provenance(0)
    shown = {
        **facts,
        "made": time.strftime("%Y-%m-%d %H:%M %Z"),
        "versions": f"ambulo {made['ambulo']}, python {made['python']}",
    }
    parts += ["<h2>What the numbers mean</h2>", notes_html(tests)]
    parts += ["<h2>How this was made</h2>", facts_table(shown)]
    page = folder / REPORT
    write_atomic(page, page_html(title, parts))
    return page


def _intro(tests: Sequence[Playtest]) -> str:
    """Who walked, in one sentence."""
    walker, count = html.escape(tests[0].walker.name), len(tests[0].records)
    each = "" if len(tests) == 1 else " in each level"
    text = (
        f"<p>{count} agents ({walker}) walked{each}, each from one place to another, with "
        f"the body of a player: 0.5 m wide, {tests[0].spec.body_height:.2f} m tall.</p>"
    )
    if any(test.own_journeys for test in tests):
        text += (
            "<p class='note'>Where a level has a start and a goal of its own, they walked "
            "between these: its coverage is that of one way. <code>--journeys random</code> "
            "tests the whole floor.</p>"
        )
    return text


def _summary(tests: Sequence[Playtest], problems: Sequence[Sequence[Problem]]) -> str:
    """One row per level."""
    head = [
        "level", "result", "sealed areas", "reached", "coverage", "stuck spots",
        "time / shortest", "collisions",
    ]  # fmt: skip
    rows = []
    for test, found in zip(tests, problems, strict=True):
        shown = {measure.name: measure for measure in MEASURES}
        rows.append(
            [
                test.level.name,
                "problems" if any(p.fails for p in found) else "fine",
                str(len(test.floor.sealed())),
                shown["success_rate"].text(test.metrics["success_rate"].value),
                f"{100 * test.coverage:.0f} %",
                str(len(test.spots)),
                shown["time_ratio"].text(test.metrics["time_ratio"].value),
                shown["collisions"].text(test.metrics["collisions"].value),
            ]
        )
    return "<h2>All levels</h2>" + table_html(head, rows)


def _level(
    test: Playtest,
    problems: Sequence[Problem],
    comparison: Comparison | None,
    number: int,
    several: bool,
) -> list[str]:
    """The section of one level."""
    parts = []
    if several:
        name = html.escape(test.level.name)
        parts.append(f"<h1 class='level' id='level{number}'>{name}</h1>")
    parts += [f"<p>Warning: {html.escape(text)}.</p>" for text in test.warnings]
    parts += [_verdict(problems), *_problem_parts(problems)]
    parts += [*access_html(test.floor), _tiles(test)]
    storeys = range(len(test.floor.storeys))
    walked = [k for k in storeys if test.floor.storeys[k].reachable.any()]
    parts += [
        figure_html(_title("Plan: what to look at", test, k), draw_problems(test, k))
        for k in storeys
    ]
    parts.append(
        "<p class='note'>Letters: parts of the floor that cannot be reached. Numbers: "
        "places where agents stayed within 0.5 m for more than 3 s.</p>"
    )
    if comparison is not None:
        parts += _comparison(comparison)
    if test.scene is not None:
        parts += scene_html(test.scene)
    parts += [
        figure_html(_title("Heat maps", test, k), draw_heat_maps(test, k))
        for k in walked
    ]
    parts.append(
        "<p class='note'>Sums over all agents. Colours end at the 98th percentile, those of "
        "collisions at the largest value.</p>"
    )
    parts += [
        figure_html(_title("Ways that agents took", test, k), draw_paths(test, k))
        for k in walked
    ]
    parts.append(figure_html("Travel times", draw_times(test)))
    parts += ["<h2>Numbers</h2>", _numbers(test), "<h3>Slowest journeys</h3>"]
    parts.append(_slowest(test))
    return parts


def _title(title: str, test: Playtest, storey: int) -> str:
    """`title`, with the name of the storey if there are several."""
    storeys = test.floor.storeys
    return title if len(storeys) == 1 else f"{title}, {storeys[storey].title}"


def _verdict(problems: Sequence[Problem]) -> str:
    """Whether there are problems, in one line."""
    count = sum(problem.fails for problem in problems)
    if count == 0:
        return "<p class='verdict good'>No problems that fail this level.</p>"
    noun = "problem fails" if count == 1 else "problems fail"
    return f"<p class='verdict bad'>{count} {noun} this level.</p>"


def _problem_parts(problems: Sequence[Problem]) -> list[str]:
    """The problems with what to do next, then what is only noted."""
    parts = []
    failing = [problem for problem in problems if problem.fails]
    if failing:
        parts.append("<h2>Problems, and what to do next</h2>")
        parts += [_card(problem) for problem in failing]
    noted = [problem for problem in problems if not problem.fails]
    if noted:
        parts.append("<h2>Also noted</h2>")
        rows = "".join(
            f"<tr><th>{html.escape(problem.mark)}</th><td>{html.escape(problem.text)} "
            f"{html.escape(problem.advice)}</td></tr>"
            for problem in noted
        )
        parts.append(f"<table class='text'><tbody>{rows}</tbody></table>")
    return parts


def _card(problem: Problem) -> str:
    """One problem."""
    mark = f"<span class='mark {problem.kind}'>{html.escape(problem.mark)}</span>"
    return (
        f"<div class='problem'>{mark if problem.mark else ''}<div>"
        f"<b>{html.escape(problem.text)}</b><br>{html.escape(problem.advice)}</div></div>"
    )


def _tiles(test: Playtest) -> str:
    """The main numbers, large."""
    shown = {measure.name: measure for measure in MEASURES}
    floor = test.floor
    return tiles_html(
        {
            "reached their goal": shown["success_rate"].text(
                test.metrics["success_rate"].value
            ),
            "coverage of the floor": f"{100 * test.coverage:.0f} %",
            "sealed areas": str(len(floor.sealed())),
            "stuck spots": str(len(test.spots)),
            "mean time": shown["time_s"].text(test.metrics["time_s"].value),
            "times the shortest way's time": shown["time_ratio"].text(
                test.metrics["time_ratio"].value
            ),
            "collisions per journey": shown["collisions"].text(
                test.metrics["collisions"].value
            ),
            "reachable floor": f"{floor.reachable_area:.1f} m²",
        }
    )


def _numbers(test: Playtest) -> str:
    """Every measure with its interval, and the floor."""
    rows = []
    for measure in measures_of(test.level):
        m = test.metrics[measure.name]
        ends = "-"
        if m.low is not None and m.high is not None:
            ends = f"{measure.text(m.low)} to {measure.text(m.high)}"
        rows.append([measure.title, measure.text(m.value), ends])
    floor = test.floor
    rows.append(["reachable floor", f"{floor.reachable_area:.1f} m²", "-"])
    if len(floor.storeys) > 1:
        for number, storey in enumerate(floor.storeys):
            near = test.coverage_of(number)
            text = "" if near is None else f", coverage {100 * near:.1f} %"
            area = f"{floor.area_of(storey):.1f} m²{text}"
            rows.append([f"of it {storey.title}", area, "-"])
    rows.append(["coverage of it", f"{100 * test.coverage:.1f} %", "-"])
    slivers = f"{floor.slivers} ({floor.sliver_area:.2f} m²)"
    rows.append(["slivers of floor, ignored", slivers, "-"])
    if test.level.heights:
        rows.append(["tops of tables and the like, ignored", str(floor.tops), "-"])
    return table_html(["", "mean", "95 % interval"], rows)


def _slowest(test: Playtest) -> str:
    """The journeys that took longest beyond their shortest way."""
    lost = np.array(
        [record.time - test.ideal_time(k) for k, record in enumerate(test.records)]
    )
    head = [
        "journey", "from", "to", "shortest way", "time", "time lost",
        "collisions", "ended",
    ]  # fmt: skip
    rows = []
    for k in np.argsort(-lost)[:SLOWEST]:
        journey, record = test.journeys[k], test.records[k]
        rows.append(
            [
                str(k),
                _place(test, journey.start[[0, 1, 3]]),
                _place(test, journey.goal),
                f"{record.optimal:.1f} m",
                f"{record.time:.1f} s",
                f"{test.values['stuck_s'][k]:.1f} s",
                str(record.collisions),
                test.outcome(int(k)),
            ]
        )
    return table_html(head, rows)


def _place(test: Playtest, place: Floats) -> str:
    """A place (3,), with its height in levels that have some."""
    numbers = place if test.level.heights else place[:2]
    return ", ".join(f"{v + 0.0:.1f}" for v in numbers) + " m"


def _comparison(comparison: Comparison) -> list[str]:
    """The differences from another version, and its plan."""
    test, other = comparison.test, comparison.other
    ours, theirs = test.level.name, other.level.name
    if ours == theirs:
        theirs = "other version"
    rows = []
    shown = measures_of(test.level)
    for d in comparison.differences:
        if d.measure not in shown:
            continue
        m, change = d.measure, d.difference
        ends = "-"
        if change.low is not None and change.high is not None:
            low, high = (m.text(v, signed=True) for v in (change.low, change.high))
            ends = f"{low} to {high}"
        rows.append(
            [
                m.title, m.text(d.ours), m.text(d.other),
                m.text(change.value, signed=True), ends, d.verdict, str(d.journeys),
            ]
        )  # fmt: skip
    head = ["", ours, theirs, "difference", "95 % interval", "", "journeys"]
    facts = [
        [f.title, _fact_text(f, f.ours), _fact_text(f, f.other)]
        for f in comparison.facts
    ]
    return [
        f"<h2>Compared with {html.escape(theirs)}</h2>",
        f"<p class='note'>The same {comparison.common} journeys, walked in both. "
        "Intervals: paired bootstrap over journeys.</p>",
        table_html(head, rows),
        "<h3>Whole levels</h3>",
        table_html(["", ours, theirs], facts),
        *(
            figure_html(_title(f"Plan of {theirs}", other, k), draw_problems(other, k))
            for k in range(len(other.floor.storeys))
        ),
    ]


def _fact_text(fact: Fact, value: float) -> str:
    """A fact with its unit."""
    if fact.unit == "%":
        return f"{100 * value:.1f} %"
    return f"{value:.1f} {fact.unit}" if fact.unit else f"{value:g}"


_STYLE = """<style>
h1.level { margin-top: 3.2rem; padding-top: 1.2rem; border-top: 3px solid var(--ink); }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
.verdict { font-size: 1.15rem; font-weight: 600; padding: .6rem 1rem; border-radius: 8px;
  margin: 1rem 0; }
.good { background: #e3f4e6; color: #19692c; } .bad { background: #fde7e7; color: #a01818; }
.problem { display: flex; gap: .9rem; align-items: flex-start; border: 1px solid var(--line);
  border-left: 5px solid #d32f2f; border-radius: 8px; padding: .7rem 1rem; margin: .6rem 0; }
.mark { flex: none; min-width: 1.7rem; height: 1.7rem; line-height: 1.7rem; border-radius: 1rem;
  text-align: center; color: #fff; font-weight: 700; background: #d32f2f; }
.mark.stuck { background: #8e24aa; }
.text th { width: 2rem; }
.tiles { margin: 1.4rem 0; }
figure img { display: block; }
li { margin: .25rem 0; }
</style>"""
