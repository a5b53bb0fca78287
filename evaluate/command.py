"""Evaluate a model of any kind beside baselines: `ambulo eval MODEL --episodes N`."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from ambulo.common.command_line import Command, arguments_of
from ambulo.common.paths import resolve_path
from ambulo.common.signals import leaving_cleanly
from ambulo.configs.errors import ConfigError, ModelFileError, RenderError
from ambulo.evaluate.flags import EvalFlags, all_eval_flags
from ambulo.evaluate.kinds import all_kinds, eval_kind
from ambulo.evaluate.shared.choices import NONE
from ambulo.evaluate.shared.eval_kind import EvalKind

if TYPE_CHECKING:
    from rich.console import Console

    from ambulo.evaluate.shared.kind import EvalOutcome, EvalRequest

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


def request_of(flags: EvalFlags, command: str, only: str | None = None) -> EvalRequest:
    """Return the evaluation that the flags of `ambulo eval` ask for, checked.

    Args:
        flags: Flags.
        command: How the evaluation was called, for the results.
        only: The one kind of models that is evaluated, and that needs its data.
    """
    from ambulo.common.find_model import find_model
    from ambulo.evaluate.shared.kind import EvalRequest
    from ambulo.evaluate.shared.models import model_kind

    named = DEFAULT_MODEL if flags.model is None else flags.model
    file = None if named == NONE else find_model(named)
    # Without a model, the baselines are those of VR agents.
    name = (only or "vr_navigation") if file is None else model_kind(file)
    if only is not None and name != only:
        raise ModelFileError(f"{file}: kind is {name!r}, expected {only!r}")
    kind = eval_kind(name, str(file))
    _check_flags(flags, kind, file)
    baselines = kind.chosen_baselines(flags.baselines)
    if file is None and not baselines:
        raise ConfigError("nothing to evaluate: no model and no baselines")
    return EvalRequest(kind, file, flags, baselines, command, only is not None)


def evaluate_model(flags: EvalFlags, command: str, only: str | None = None) -> int:
    """Evaluate the model that the flags name; the exit code. See `request_of`."""
    from rich.console import Console

    from ambulo.common.files import check_parent, write_atomic, write_or_print
    from ambulo.evaluate.shared.report import RESULT, made_folder, output_folder
    from ambulo.evaluate.shared.tables import print_tables

    request = request_of(flags, command, only)
    console = Console(stderr=flags.json == "-")
    folder = None if flags.no_report else output_folder(flags.output, request.file)
    with nullcontext() if folder is None else made_folder(folder):
        for written in (flags.json, flags.video):
            check_parent(written)
        outcome: EvalOutcome = request.kind.evaluate(request)
        print_tables(outcome.evaluation, console)
        text = outcome.evaluation.to_json()
        write_or_print(flags.json, text)
        if folder is not None:
            write_atomic(folder / RESULT, text)
        publish(outcome, folder, flags.video, console)
    return 0


main = Command(
    "ambulo eval",
    all_eval_flags(),
    lambda flags: evaluate_model(flags, flags.command_line),
    EPILOG,
)
"""The command."""


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
    from ambulo.evaluate.shared.report import write_report

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


def _check_flags(flags: EvalFlags, kind: EvalKind, file: Path | None) -> None:
    """Refuse flags of other kinds of models."""
    for argument in arguments_of(type(flags)):
        accepting = [k for k in all_kinds() if argument.name in k.accepted]
        is_given = getattr(flags, argument.name) != argument.default
        if kind in accepting or not accepting or not is_given:
            continue
        groups = dict.fromkeys(
            f"{k.name}s" if k.group == kind.group else k.group for k in accepting
        )
        flag = argument.spellings[0]
        from ambulo.evaluate.shared.models import model_kind

        if file is not None and "" in kind.kinds and not model_kind(file):
            raise ModelFileError(
                f"{file}: no ambulo.json inside: no {' or '.join(g[:-1] for g in groups)}"
                f", which {flag} is for"
            )
        raise ConfigError(
            f"{flag}: is for {' and '.join(groups)} only, not for a {kind.name}"
        )


if __name__ == "__main__":
    sys.exit(main())
