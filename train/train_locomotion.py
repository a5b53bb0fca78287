"""Train, resume and evaluate a policy that moves a simulated body."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ambulo.common.errors import front_door
from ambulo.common.files import check_parent
from ambulo.common.gl import import_mujoco
from ambulo.common.signals import Interrupted, StopRequest
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.train.locomotion.options import (
    RESUMABLE,
    base_config,
    label_of,
    parse_arguments,
    with_flags,
)
from ambulo.train.shared.command import (
    evaluation_arguments,
    folder_to_continue,
    set_up_logging,
    show_config,
    tell_interrupted,
)
from ambulo.train.shared.training_flags import check_resumable

if TYPE_CHECKING:
    from ambulo.policies.files.locomotion_model import LocomotionModel
    from ambulo.train.locomotion.run import LocomotionRun, LocomotionRunFolder


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    arguments = list(argv or [])
    args = parse_arguments(arguments)
    set_up_logging(args)
    if args.eval:
        return _evaluate(args)
    if args.resume:
        return _resume(args, arguments)
    config = with_flags(base_config(args), args)
    if args.print_config or args.save_config:
        return show_config(args, config)
    return _train(args, arguments, config, None, None)


def _resume(args: argparse.Namespace, arguments: Sequence[str]) -> int:
    """Continue a run in its folder, or in a new one when `--run-name` is given."""
    import_mujoco()
    from ambulo.train.locomotion.run import find_resume_point

    point = find_resume_point(args.resume)
    config = with_flags(point.config, args)
    if point.model is not None:
        check_resumable(point.config, config, RESUMABLE)
    if args.print_config or args.save_config:
        return show_config(args, config)
    folder = folder_to_continue(args, point.folder, begun=point.model is not None)
    return _train(args, arguments, config, folder, point.model)


def _train(
    args: argparse.Namespace,
    arguments: Sequence[str],
    config: LocomotionConfig,
    folder: LocomotionRunFolder | None,
    model: LocomotionModel | None,
) -> int:
    """Train in `folder` (None: a new one), from `model` (None: from the beginning)."""
    check_parent(args.json)
    import_mujoco()
    from ambulo.common.console import Words, make_display
    from ambulo.train.locomotion.results import finish
    from ambulo.train.locomotion.validation import LocomotionValidation

    if model is None and config.gait.base is not None:
        from ambulo.common.find_model import find_model

        config = config.override(
            "gait", base=str(find_model(config.gait.base).resolve())
        )
    with StopRequest() as stop:
        run = _prepare(args, arguments, config, folder, model)
        words = Words("control steps", "on their feet")
        display = make_display(config.training.total_timesteps, args.progress, words)
        validation = LocomotionValidation(
            config, run.references, deterministic=args.deterministic
        )
        try:
            seconds = run.train(display, validation, stop)
        except Interrupted as interrupted:
            return tell_interrupted(interrupted, run.folder)
        finally:
            run.close()
    return finish(args, run, seconds)


def _prepare(
    args: argparse.Namespace,
    arguments: Sequence[str],
    config: LocomotionConfig,
    folder: LocomotionRunFolder | None,
    model: LocomotionModel | None,
) -> LocomotionRun:
    """The run and its folder; a new folder goes again if the run cannot start."""
    from ambulo.train.locomotion.run import LocomotionRun, LocomotionRunFolder

    training = config.training
    if folder is None:
        folder = LocomotionRunFolder.create(
            training.output,
            args.run_name,
            label_of(args),
            training.seed,
            force=args.force,
        )
    with folder.starting(config.to_json(), arguments, training.seed):
        return LocomotionRun(config, folder, arguments, model, _initial(args))


def _initial(args: argparse.Namespace) -> LocomotionModel | None:
    """The model that `--init-from` names."""
    if args.init_from is None or args.resume:
        return None
    from ambulo.common.find_model import find_model
    from ambulo.policies.files.locomotion_model import load_locomotion

    return load_locomotion(find_model(args.init_from))


def _evaluate(args: argparse.Namespace) -> int:
    """Hand `--eval` over to `ambulo eval`."""
    from ambulo.evaluate.command import main as evaluate

    values = ("episodes", "seed", "json", "num_envs", "output")
    return evaluate(evaluation_arguments(args, values, ("verbose",)))


if __name__ == "__main__":
    sys.exit(main())
