"""Play-tests of levels: agents walk through them, and a report lists their faults."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rich.console import Console

from ambulo.common.console import bars
from ambulo.common.files import write_or_print
from ambulo.common.paths import resolve_path
from ambulo.common.tables import print_rows
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import load_levels
from ambulo.evaluate.playtest.comparison import Comparison, compare, pairs
from ambulo.evaluate.playtest.files import (
    RESULT,
    json_text,
    result_data,
    write_files,
)
from ambulo.evaluate.playtest.flags import PlaytestFlags, is_scene
from ambulo.evaluate.playtest.measures import MEASURES
from ambulo.evaluate.playtest.page import write_page
from ambulo.evaluate.playtest.playing import Walker, make_walker
from ambulo.evaluate.playtest.problems import (
    Problem,
    access_rows,
    find_problems,
)
from ambulo.evaluate.playtest.result import Playtest, common_box, playtest_level
from ambulo.evaluate.playtest.scenes import SceneSource, read_level
from ambulo.evaluate.shared.report import made_folder, output_folder
from ambulo.evaluate.shared.result import Metric

_MOST_LINES = 20
LIMITS = ("min_success", "max_sealed", "max_stuck", "min_coverage")
"""Flags of the faults that a level may have."""
PROBLEMS = 1
"""Exit code when a level fails."""


def playtest(flags: PlaytestFlags) -> int:
    """Play-test levels; return the exit code."""
    levels, scene = _load(flags.levels, flags)
    others: list[Level | None] = [None] * len(levels)
    if flags.compare is not None:
        others = pairs(levels, _load(flags.compare, flags)[0])
    walker = make_walker(flags)
    folder = output_folder(flags.out, None, stem="playtest")
    with made_folder(folder, advice="choose another folder with --out"):
        tests, comparisons = _play(levels, others, scene, walker, flags)
        problems = [find_problems(test) for test in tests]
        limits = {name: getattr(flags, name) for name in LIMITS}
        facts = {"command": flags.command_line, "agent": flags.agent, "agents": flags.agents,
                 "seed": flags.seed, "limits": limits}  # fmt: skip
        data = result_data(tests, problems, comparisons, facts)
        write_files(folder, data, tests)
        shown = {
            "command": flags.command_line, "agent": flags.agent, "levels": flags.levels,
            "journeys": f"{flags.agents} in each level, {flags.journeys}",
            "seed": str(flags.seed), "world": "compiled",
            "limits": f"success at least {flags.min_success:g}, sealed areas at most "
            f"{flags.max_sealed}, stuck spots at most {flags.max_stuck}, coverage at least "
            f"{flags.min_coverage:g}",
        }  # fmt: skip
        page = folder / RESULT
        if not flags.no_report:
            page = write_page(folder, tests, problems, comparisons, shown)
    write_or_print(flags.json, json_text(data))
    console = Console(stderr=flags.json == "-", highlight=False)
    _print(console, tests, problems, comparisons)
    name = "numbers" if flags.no_report else "report"
    console.print(f"{name}: {page}", soft_wrap=True, markup=False)
    return 0 if data["passed"] else PROBLEMS


def _load(named: str, flags: PlaytestFlags) -> tuple[list[Level], SceneSource | None]:
    """The levels of a file or folder, or that of a scene, and that scene."""
    if not is_scene(named):
        return load_levels(resolve_path(named), solvable=False), None
    level, scene = read_level(named, flags)
    return [level], scene


def _play(
    levels: Sequence[Level],
    others: Sequence[Level | None],
    scene: SceneSource | None,
    walker: Walker,
    flags: PlaytestFlags,
) -> tuple[list[Playtest], list[Comparison]]:
    """Play-test `levels` and the other versions that some of them have."""
    tests, comparisons = [], []
    with bars(24) as progress:
        for level, other in zip(levels, others, strict=True):
            versions = [level] if other is None else [level, other]
            space, played = common_box(versions), []
            for version in versions:
                task = progress.add_task(version.name, total=flags.agents)
                played.append(
                    playtest_level(
                        version, walker, flags, box=space,
                        scene=scene if version is level else None,
                        progress=partial(progress.advance, task),
                    )
                )  # fmt: skip
            tests.append(played[0])
            if other is not None:
                comparisons.append(compare(*played))
    return tests, comparisons


def _print(
    console: Console,
    tests: Sequence[Playtest],
    problems: Sequence[Sequence[Problem]],
    comparisons: Sequence[Comparison],
) -> None:
    """Print numbers, problems and differences."""
    for test in tests:
        for warning in test.warnings:
            text = f"warning: {test.level.name}: {warning}"
            console.print(text, soft_wrap=True, markup=False)
    heads = ["level", "reached", "time [s]", "time / shortest", "coverage",
             "sealed areas", "stuck spots", "collisions", "discomfort"]  # fmt: skip
    rows = []
    for test in tests:
        shown = {m.name: m.text(Metric(test.metrics[m.name].value)) for m in MEASURES}
        rows.append(
            [
                test.level.name, shown["success_rate"], shown["time_s"],
                shown["time_ratio"], f"{100 * test.coverage:.1f} %",
                str(len(test.floor.sealed())), str(len(test.spots)),
                shown["collisions"], shown["discomfort"],
            ]
        )  # fmt: skip
    print_rows("", heads, rows, console=console)
    _print_access(console, tests)
    for test, result in zip(tests, problems, strict=True):
        if test.scene is not None:
            _print_scene(console, test.scene)
        for problem in result:
            word = "PROBLEM" if problem.fails else "note"
            console.print(
                f"{test.level.name}: {word}: {problem.text}",
                soft_wrap=True,
                markup=False,
            )
    for comparison in comparisons:
        _print_comparison(console, comparison)
    if comparisons:
        compared = {id(comparison.test) for comparison in comparisons}
        for test in tests:
            if id(test) not in compared:
                name = test.level.name
                console.print(
                    f"{name}: not compared: the other folder has no level of this name",
                    soft_wrap=True, markup=False,
                )  # fmt: skip


def _print_access(console: Console, tests: Sequence[Playtest]) -> None:
    """Print which bodies cannot reach what."""
    notes: dict[str, None] = {}
    rows = []
    for test in tests:
        for number, access in enumerate(access_rows(test.floor)):
            rows.append(["" if number else test.level.name, *access])
        bodies = (body for access in test.floor.access for body in access.bodies)
        notes |= {body.note: None for body in bodies if body.note}
    heads = ["level", "body", "cannot reach"]
    print_rows("", heads, rows, left=len(heads), console=console)
    for note in notes:
        console.print(note, soft_wrap=True, markup=False)


def _print_scene(console: Console, scene: SceneSource) -> None:
    """Print what of a scene the level could not carry."""
    rows = scene.to_data()["not_carried"]
    for row in rows[:_MOST_LINES]:
        text = f"{scene.path}: not carried: {row['path']} ({row['class']}): {row['reason']}"
        console.print(text, soft_wrap=True, markup=False)
    if len(rows) > _MOST_LINES:
        console.print(f"{scene.path}: not carried: {len(rows) - _MOST_LINES} more")


def _print_comparison(console: Console, comparison: Comparison) -> None:
    """Print the differences of two versions."""
    names = comparison.test.level.name, comparison.other.level.name
    title = f"{names[0]} against {names[1]}, {comparison.common} journeys in common"
    rows = [d.cells() for d in comparison.differences]
    heads = ["", "level", "other", "difference [95 % interval]", ""]
    print_rows(title, heads, rows, console=console)
