"""`ambulo playtest`: let agents walk through levels, and say what is wrong with these."""

from __future__ import annotations

import argparse
import math
import shlex
import sys
from collections.abc import Sequence
from functools import partial

from rich.console import Console

from ambulo.common.console import bars
from ambulo.common.errors import Parser, front_door
from ambulo.common.files import check_parent, write_or_print
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import load_levels
from ambulo.evaluate.playtest.comparison import Comparison, compare, pairs
from ambulo.evaluate.playtest.files import (
    RESULT,
    json_text,
    result_data,
    write_files,
)
from ambulo.evaluate.playtest.floor import MIN_AREA
from ambulo.evaluate.playtest.measures import MEASURES
from ambulo.evaluate.playtest.page import write_page
from ambulo.evaluate.playtest.playing import Walker, make_walker
from ambulo.evaluate.playtest.problems import (
    Limits,
    Problem,
    access_rows,
    find_problems,
)
from ambulo.evaluate.playtest.result import (
    Playtest,
    PlaytestSettings,
    common_box,
    playtest_level,
)
from ambulo.evaluate.playtest.scenes import (
    SceneSettings,
    SceneSource,
    is_scene,
    read_level,
)
from ambulo.evaluate.shared.report import made_folder, output_folder
from ambulo.evaluate.shared.result import Metric
from ambulo.evaluate.shared.tables import print_cells

_MOST_LINES = 20
PROBLEMS = 1
"""Exit code when a level fails."""
EPILOG = """\
exit codes: 0 fine; 1 a level has problems; 2 bad input

examples:
  ambulo playtest my_level.json                   200 agents, report in playtest_1/
  ambulo playtest my_levels/ --agents 500 --out report
  ambulo playtest new.json --compare old.json     is the new version better?
  ambulo playtest my_level.json --agent oracle    an agent that knows the level
  ambulo playtest my_level.json --min-success 0.9 --max-stuck 2
  ambulo playtest res://rooms/hall.tscn --godot-project my_game
"""


def _parser() -> Parser:
    parser = Parser(
        prog="ambulo playtest",
        description="Let agents walk through levels: sealed areas, coverage, stuck spots, "
        "travel times, collisions and discomfort, as a report for a level designer.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "levels", metavar="LEVEL_OR_SCENE",
        help="level file, folder of level files, or scene of a Godot project (res://x.tscn, "
        "its file, or what the editor has exported)",
    )  # fmt: skip
    add("--agents", type=int, default=200, metavar="N", help="journeys in each level")
    add(
        "--agent", default="vr_navigation", metavar="NAME",
        help="shipped model, model file, or a planner: planner, dwa, potential, straight, "
        "random, oracle (default: vr_navigation)",
    )  # fmt: skip
    add(
        "--out", metavar="FOLDER",
        help="folder of the report and the numbers; an earlier report stays (default: "
        "playtest_1, playtest_2, ...)",
    )  # fmt: skip
    add("--compare", metavar="OTHER", help="another version: level, folder or scene")
    add("--godot-project", metavar="FOLDER", help="of a scene (default: around it)")
    add("--godot-bin", metavar="PROGRAM", help="the Godot program")
    add(
        "--obstacle-mask", type=int, default=SceneSettings.mask, metavar="N",
        help="collision layers of a scene's floors and obstacles, a bit each (default: 1)",
    )  # fmt: skip
    add(
        "--ignore-script-errors", action="store_true",
        help="go on when a script of a scene fails",
    )  # fmt: skip
    add(
        "--eye-height", type=float, metavar="M",
        help="of the agents, [m]; their bodies scale with it (default: 1.6, or the model's)",
    )  # fmt: skip
    add("--seed", type=int, default=0, metavar="N", help="seed of everything random")
    add(
        "--journeys", choices=("auto", "random"), default="auto",
        help="auto: between the level's own starts and goals where it has some (default); "
        "random: between random places",
    )  # fmt: skip
    add("--seconds", type=float, metavar="S", help="time for a journey, [s]")
    add(
        "--min-success", "--fail-below", type=float, default=Limits.min_success,
        metavar="P", dest="min_success",
        help="problem if a smaller fraction of journeys succeeds (default: 0.8)",
    )  # fmt: skip
    add(
        "--max-sealed", type=int, default=Limits.max_sealed, metavar="N",
        help="problem if there are more sealed areas (default: 0)",
    )  # fmt: skip
    add(
        "--max-stuck", type=int, default=Limits.max_stuck, metavar="N",
        help="problem if there are more places where 10 %% of the agents are stuck "
        "(default: 0)",
    )  # fmt: skip
    add(
        "--min-coverage", type=float, default=Limits.min_coverage, metavar="P",
        help="problem if paths come near to a smaller fraction of the floor (default: 0)",
    )  # fmt: skip
    add(
        "--min-area", type=float, default=MIN_AREA, metavar="M2",
        help="smaller unreachable parts of the floor are ignored, [m^2] (default: 0.3)",
    )  # fmt: skip
    add("--no-report", action="store_true", help="write the numbers without the page")
    add("--num-envs", type=int, default=64, metavar="N", help="agents at once")
    add(
        "--json", nargs="?", const="-", metavar="FILE",
        help="what playtest.json holds, to FILE or to standard output",
    )  # fmt: skip
    add(
        "--trust-pickle", action="store_true",
        help="let a Stable-Baselines3 zip run its pickle; only for files of your own",
    )  # fmt: skip
    add("--verbose", action="store_true", help="show tracebacks")
    return parser


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Play-test levels; return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    args = _parser().parse_args(arguments)
    _check(args)
    check_parent(args.json)
    levels, scene = _load(args.levels, args)
    others: list[Level | None] = [None] * len(levels)
    if args.compare is not None:
        others = pairs(levels, _load(args.compare, args)[0])
    walker = make_walker(
        args.agent,
        args.seed,
        eye_height=args.eye_height,
        trust_pickle=args.trust_pickle,
    )
    limits = Limits(
        args.min_success, args.max_sealed, args.max_stuck, args.min_coverage
    )
    command = shlex.join(["ambulo", "playtest", *arguments])
    folder = output_folder(args.out, None, stem="playtest")
    with made_folder(folder, advice="choose another folder with --out"):
        tests, comparisons = _play(levels, others, scene, walker, _settings(args))
        problems = [find_problems(test, limits) for test in tests]
        facts = {"command": command, "agent": args.agent, "agents": args.agents,
                 "seed": args.seed, "limits": vars(limits)}  # fmt: skip
        data = result_data(tests, problems, comparisons, facts)
        write_files(folder, data, tests)
        shown = {
            "command": command, "agent": args.agent, "levels": args.levels,
            "journeys": f"{args.agents} in each level, {args.journeys}",
            "seed": str(args.seed), "world": "compiled",
            "limits": f"success at least {limits.min_success:g}, sealed areas at most "
            f"{limits.max_sealed}, stuck spots at most {limits.max_stuck}, coverage at least "
            f"{limits.min_coverage:g}",
        }  # fmt: skip
        page = folder / RESULT
        if not args.no_report:
            page = write_page(folder, tests, problems, comparisons, shown)
    write_or_print(args.json, json_text(data))
    console = Console(stderr=args.json == "-", highlight=False)
    _print(console, tests, problems, comparisons)
    name = "numbers" if args.no_report else "report"
    console.print(f"{name}: {page}", soft_wrap=True, markup=False)
    return 0 if data["passed"] else PROBLEMS


def _check(args: argparse.Namespace) -> None:
    """Refuse values out of range.

    Raises:
        ConfigError: there is one.
    """
    counts = (("agents", 1), ("num_envs", 1), ("seed", 0), ("max_stuck", 0),
              ("max_sealed", 0))  # fmt: skip
    for name, least in counts:
        if getattr(args, name) < least:
            flag = f"--{name.replace('_', '-')}"
            raise ConfigError(f"{flag} {getattr(args, name)}: must be at least {least}")
    for name in ("min_success", "min_coverage"):
        if not 0.0 <= getattr(args, name) <= 1.0:
            flag = f"--{name.replace('_', '-')}"
            raise ConfigError(f"{flag} {getattr(args, name):g}: must be within 0 and 1")
    scenes = any(is_scene(named) for named in (args.levels, args.compare or ""))
    usual = SceneSettings()
    for flag, changed in (
        ("--godot-project", args.godot_project is not None),
        ("--obstacle-mask", args.obstacle_mask != usual.mask),
        ("--ignore-script-errors", args.ignore_script_errors),
    ):
        if changed and not scenes:
            raise ConfigError(
                f"{flag}: is for scenes of a Godot project, not for levels"
            )
    if not 0 < args.obstacle_mask < 2**32:
        raise ConfigError(
            f"--obstacle-mask {args.obstacle_mask}: must be from 1 to 2^32-1"
        )
    if not 0.0 <= args.min_area < math.inf:
        raise ConfigError(f"--min-area {args.min_area:g}: must be at least 0")
    if args.seconds is not None and not 0.0 < args.seconds <= 3600.0:
        raise ConfigError(f"--seconds {args.seconds:g}: must be above 0, at most 3600")


def _load(
    named: str, args: argparse.Namespace
) -> tuple[list[Level], SceneSource | None]:
    """The levels of a file or folder, or that of a scene, and that scene."""
    if not is_scene(named):
        return load_levels(resolve_path(named), solvable=False), None
    settings = SceneSettings(
        project=args.godot_project,
        engine=args.godot_bin,
        mask=args.obstacle_mask,
        lenient=args.ignore_script_errors,
    )
    level, scene = read_level(named, settings)
    return [level], scene


def _settings(args: argparse.Namespace) -> PlaytestSettings:
    return PlaytestSettings(
        agents=args.agents,
        seed=args.seed,
        plan=args.journeys,
        min_area=args.min_area,
        seconds=args.seconds,
        num_envs=args.num_envs,
    )


def _play(
    levels: Sequence[Level],
    others: Sequence[Level | None],
    scene: SceneSource | None,
    walker: Walker,
    settings: PlaytestSettings,
) -> tuple[list[Playtest], list[Comparison]]:
    """Play-test `levels` and the other versions that some of them have."""
    tests, comparisons = [], []
    with bars(24) as progress:
        for level, other in zip(levels, others, strict=True):
            versions = [level] if other is None else [level, other]
            space, played = common_box(versions), []
            for version in versions:
                task = progress.add_task(version.name, total=settings.agents)
                played.append(
                    playtest_level(
                        version, walker, settings, box=space,
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
    print_cells(console, "", heads, rows)
    _print_access(console, tests)
    for test, found in zip(tests, problems, strict=True):
        if test.scene is not None:
            _print_scene(console, test.scene)
        for problem in found:
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
    print_cells(console, "", ["level", "body", "cannot reach"], rows, words=True)
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
    print_cells(console, title, heads, rows)


if __name__ == "__main__":
    sys.exit(main())
