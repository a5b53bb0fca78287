"""Evaluate a model of any kind beside baselines: `ambulo eval MODEL --episodes N`."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import get_args

from rich.console import Console

from ambulo.common.errors import Parser, front_door
from ambulo.common.files import check_parent, write_atomic, write_or_print
from ambulo.common.find_model import find_model
from ambulo.common.paths import resolve_path
from ambulo.common.signals import leaving_cleanly
from ambulo.configs.errors import ConfigError, ModelFileError, RenderError
from ambulo.configs.locomotion import Backend
from ambulo.evaluate.kinds import all_kinds, eval_kind
from ambulo.evaluate.shared.choices import NONE
from ambulo.evaluate.shared.kind import EvalKind, EvalOutcome, EvalRequest
from ambulo.evaluate.shared.models import model_kind
from ambulo.evaluate.shared.report import (
    RESULT,
    made_folder,
    output_folder,
    write_report,
)
from ambulo.evaluate.shared.tables import print_tables

DEFAULT_MODEL = "vr_navigation"
EPILOG = """\
examples:
  ambulo eval                                  the shipped VR agent on held-out levels
  ambulo eval imitate_walk                     a shipped model by its name, of any kind
  ambulo eval runs/first --episodes 300        the best model of a run
  ambulo eval MODEL.zip --level-file my_levels --json scores.json
  ambulo eval none --level-set maze,pits       only the baselines
  ambulo eval WALK.zip --episodes 100 --video walk.mp4
                                               a locomotion model, pushed too
  ambulo eval motion_nn --data CLIPS           a motion network on captured clips
"""


def make_parser() -> Parser:
    """Return the command line of `ambulo eval`."""
    defaults = [f"{k.episodes or 'all'} of a {k.name}" for k in all_kinds()]
    parser = Parser(
        prog="ambulo eval",
        description="Evaluate a model of any kind beside baselines.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "model", nargs="?", metavar="MODEL",
        help="model file, run folder, name of a shipped model, or 'none' "
        "(default: the shipped VR agent)",
    )  # fmt: skip
    add(
        "--episodes", type=int, metavar="N",
        help="episodes, windows, poses or gaits, by the kind of the model (default: "
        f"{', '.join(defaults)})",
    )  # fmt: skip
    add(
        "--baselines", metavar="NAMES",
        help="baselines of this kind of model, with commas between, all, or none "
        "(default: all)",
    )  # fmt: skip
    add("--seed", type=int, default=0, metavar="N", help="seed of everything random")
    add(
        "--json", nargs="?", const="-", metavar="FILE",
        help="scores and episodes as JSON, to FILE or to standard output",
    )  # fmt: skip
    add(
        "--output", metavar="FOLDER",
        help="folder of report, numbers and pictures; a report that lies there stays, "
        "and the new one goes to FOLDER/evaluation_2 and so on (default: evaluation_1, "
        "evaluation_2, ... in the model's run folder or here)",
    )  # fmt: skip
    add("--no-report", action="store_true", help="no report, no pictures")
    add("--verbose", action="store_true", help="show tracebacks")
    _add_shared_flags(parser)
    for kind in all_kinds():
        if kind.own:
            group = parser.add_argument_group(f"for {kind.group}")
            for flag in kind.own:
                group.add_argument(*flag.names, **flag.options)
    return parser


def _add_shared_flags(parser: Parser) -> None:
    """Add the flags of more than one kind."""
    add = parser.add_argument_group("for some kinds of models").add_argument
    add(
        "--data", action="append", metavar="FOLDER",
        help="networks of motion, gait and IK: data that are not shipped (repeatable)",
    )  # fmt: skip
    add("--no-video", action="store_true", help="networks: no film in the report")
    add(
        "--deterministic", action="store_true", dest="deterministic", default=True,
        help="act with the mean action (default)",
    )  # fmt: skip
    add(
        "--stochastic", action="store_false", dest="deterministic",
        help="act with sampled actions",
    )  # fmt: skip
    add(
        "--video", "--record", metavar="FILE",
        help="film of one episode, .mp4 or .gif; of a VR agent see --views and --film-with",
    )  # fmt: skip
    add("--num-envs", type=int, metavar="N", help="environments at once (default: 64)")
    add(
        "--seconds", type=float, metavar="S",
        help="walkers: length of an episode (default: 20; of a gait policy 10)",
    )  # fmt: skip
    add(
        "--push-episodes", type=int, metavar="N",
        help="walkers and gait policies: pushes of each impulse; 0 leaves them out (default: "
        "as many as episodes, at most 100)",
    )  # fmt: skip
    add(
        "--impulses", metavar="LIST",
        help="walkers and trackers: impulses of the pushes, [N s], with commas between "
        "(default: walkers 0 to 90; trackers only the 20 of the main table)",
    )  # fmt: skip
    add(
        "--perturb", nargs="?", const="all", metavar="NAMES",
        help="walkers and trackers: also under perturbations, with commas between: "
        "friction, mass, delay, steps, slopes, start (default: all of them)",
    )  # fmt: skip
    add(
        "--backend", choices=get_args(Backend),
        help="walkers: what computes the physics: MuJoCo (default) or MuJoCo Warp",
    )  # fmt: skip
    add(
        "--trust-pickle", action="store_true",
        help="let a Stable-Baselines3 zip run its pickle; only for files of your own",
    )  # fmt: skip


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return evaluate_model(arguments, shlex.join(["ambulo", "eval", *arguments]))


def request_of(
    arguments: Sequence[str], command: str, only: str | None = None
) -> EvalRequest:
    """Return the evaluation that the `arguments` of `ambulo eval` ask for, checked.

    Args:
        arguments: Command line.
        command: How the evaluation was called, for the results.
        only: The one kind of models that is evaluated, and that needs its data.
    """
    parser = make_parser()
    args = parser.parse_args(arguments)
    args.require_data = only is not None
    named = DEFAULT_MODEL if args.model is None else args.model
    file = None if named == NONE else find_model(named)
    # Without a model, the baselines are those of VR agents.
    name = (only or "vr_navigation") if file is None else model_kind(file)
    if only is not None and name != only:
        raise ModelFileError(f"{file}: kind is {name!r}, expected {only!r}")
    kind = eval_kind(name, str(file))
    _check_flags(args, parser, kind, file)
    baselines = kind.chosen_baselines(args.baselines)
    if file is None and not baselines:
        raise ConfigError("nothing to evaluate: no model and no baselines")
    return EvalRequest(kind, file, args, baselines, command)


def evaluate_model(
    arguments: Sequence[str], command: str, only: str | None = None
) -> int:
    """Evaluate the model that the `arguments` of `ambulo eval` name; the exit code.

    See `request_of`.
    """
    request = request_of(arguments, command, only)
    args = request.args
    console = Console(stderr=args.json == "-")
    folder = None if args.no_report else output_folder(args.output, request.file)
    with nullcontext() if folder is None else made_folder(folder):
        for written in (args.json, args.video):
            check_parent(written)
        outcome = request.kind.evaluate(request)
        print_tables(outcome.evaluation, console)
        text = outcome.evaluation.to_json()
        write_or_print(args.json, text)
        if folder is not None:
            write_atomic(folder / RESULT, text)
        publish(outcome, folder, args.video, console)
    return 0


def publish(
    outcome: EvalOutcome,
    folder: Path | None,
    video: str | None,
    console: Console,
    *,
    title: str = "",
) -> None:
    """Write the report, then the films, which take longest, then the report with them.

    Args:
        outcome: Finished evaluation.
        folder: Existing folder of the report; None: no report.
        video: File of a film in place of those that belong to every report.
        console: Shows what was written.
        title: Title of the report; default: the kind of the model.
    """
    pictures = () if folder is None else outcome.pictures()
    if folder is not None:
        page = write_report(
            folder, outcome.evaluation, pictures, outcome.facts, title=title
        )
        console.print(f"report: {page}", soft_wrap=True, markup=False)
    files = [] if video is None else [resolve_path(video)]
    if folder is not None and not files:
        files = [folder / name for name in outcome.films]
    if outcome.film is None or not files:
        return
    films: list[Path] = []
    try:
        for file in files:
            with leaving_cleanly():
                outcome.film(file, console)
            films.append(file)
            console.print(f"video: {file}", soft_wrap=True, markup=False)
    except RenderError as error:
        console.print(f"no video: {error}", soft_wrap=True, markup=False)
    if folder is not None and films:
        shown = list({film.stem: film for film in films}.values())
        write_report(
            folder, outcome.evaluation, pictures, outcome.facts,
            title=title, videos=shown,
        )  # fmt: skip


def _check_flags(
    args: argparse.Namespace, parser: Parser, kind: EvalKind, file: Path | None
) -> None:
    """Refuse flags of other kinds of models, and values out of range."""
    for dest in sorted(frozenset().union(*(k.flags for k in all_kinds()))):
        if dest in kind.flags or getattr(args, dest) == parser.get_default(dest):
            continue
        accepting = [k for k in all_kinds() if dest in k.flags]
        groups = dict.fromkeys(
            f"{k.name}s" if k.group == kind.group else k.group for k in accepting
        )
        flag = "--stochastic" if dest == "deterministic" else _flag(dest)
        if file is not None and "" in kind.kinds and not model_kind(file):
            raise ModelFileError(
                f"{file}: no ambulo.json inside: no {' or '.join(g[:-1] for g in groups)}"
                f", which {flag} is for"
            )
        raise ConfigError(
            f"{flag}: is for {' and '.join(groups)} only, not for a {kind.name}"
        )
    for dest in ("episodes", "num_envs", "godot_engines"):
        value = getattr(args, dest)
        if value is not None and value < 1:
            raise ConfigError(f"{_flag(dest)} {value}: must be at least 1")
    for dest in ("seed", "push_episodes"):
        value = getattr(args, dest)
        if value is not None and value < 0:
            raise ConfigError(f"{_flag(dest)} {value}: must be >= 0")
    if args.seconds is not None and not 0.0 < args.seconds <= 3600.0:
        raise ConfigError(f"--seconds {args.seconds:g}: must be above 0, at most 3600")
    if args.video is not None and Path(args.video).suffix not in (".mp4", ".gif"):
        raise ConfigError(f"--video {args.video}: must end in .mp4 or .gif")


def _flag(dest: str) -> str:
    return f"--{dest.replace('_', '-')}"


if __name__ == "__main__":
    sys.exit(main())
