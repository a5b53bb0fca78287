"""Train, resume and evaluate a VR-navigation agent."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ambulo.common.errors import front_door
from ambulo.common.files import check_parent
from ambulo.common.gl import import_mujoco
from ambulo.common.signals import Interrupted, StopRequest
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.godot.check import check_engines
from ambulo.evaluate.vr.godot_flags import check_godot_flags
from ambulo.train.shared.command import (
    evaluation_arguments,
    folder_to_continue,
    set_up_logging,
    show_config,
    tell_interrupted,
)
from ambulo.train.shared.training_flags import check_resumable
from ambulo.train.vr.options import (
    RESUMABLE,
    base_config,
    label_of,
    parse_arguments,
    with_flags,
)
from ambulo.train.vr.run_folder import NavigationRunFolder

if TYPE_CHECKING:
    from ambulo.policies.files.vr_model import ModelFile
    from ambulo.train.vr.training_run import TrainingRun


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
    from ambulo.train.vr.training_run import find_resume_point

    point = find_resume_point(args.resume, trust_pickle=args.trust_pickle)
    config = with_flags(point.config, args)
    if point.model is not None:
        check_resumable(point.model.metadata.config, config, RESUMABLE)
    if args.print_config or args.save_config:
        return show_config(args, config)
    folder = folder_to_continue(args, point.folder, begun=point.model is not None)
    return _train(args, arguments, config, folder, point.model)


def _train(
    args: argparse.Namespace,
    arguments: Sequence[str],
    config: NavigationConfig,
    folder: NavigationRunFolder | None,
    model: ModelFile | None,
) -> int:
    """Train in `folder` (None: a new one), from `model` (None: from the beginning)."""
    check_parent(args.json)
    check_godot_flags(args, config.environment)
    check_engines(config.environment)
    if config.environment.world == "mujoco":
        import_mujoco()
    with StopRequest() as stop:
        run = _prepare(args, arguments, config, folder, model)
        try:
            seconds = _train_to_end(args, run, stop)
        except Interrupted as interrupted:
            return tell_interrupted(interrupted, run.folder)
        finally:
            run.close()
    from ambulo.train.vr.results import finish

    return finish(args, run, seconds)


def _prepare(
    args: argparse.Namespace,
    arguments: Sequence[str],
    config: NavigationConfig,
    folder: NavigationRunFolder | None,
    model: ModelFile | None,
) -> TrainingRun:
    """The run and its folder; a new folder goes again if the run cannot start."""
    training = config.training
    if folder is None:
        folder = NavigationRunFolder.create(
            training.output,
            args.run_name,
            label_of(args),
            training.seed,
            force=args.force,
        )
    with folder.starting(config.to_json(), arguments, training.seed):
        from ambulo.train.vr.training_run import TrainingRun

        return TrainingRun(config, folder, arguments, model, _initial(args))


def _initial(args: argparse.Namespace) -> ModelFile | None:
    """The model that `--init-from` names."""
    if args.init_from is None or args.resume:
        return None
    from ambulo.common.find_model import find_model
    from ambulo.policies.files.vr_model import load_model

    return load_model(find_model(args.init_from), trust_pickle=args.trust_pickle)


def _train_to_end(
    args: argparse.Namespace, run: TrainingRun, stop: StopRequest
) -> float:
    """Train; the seconds it took."""
    from ambulo.common.console import make_display
    from ambulo.train.vr.results import Validation

    total = run.config.training.total_timesteps
    display = make_display(total, args.progress)
    validation = Validation(run.config, deterministic=args.deterministic)
    return run.train(display, validation, stop)


def _evaluate(args: argparse.Namespace) -> int:
    """Hand `--eval` over to `ambulo eval`."""
    from ambulo.evaluate.command import main as evaluate

    values = (
        "episodes", "seed", "json", "level_file", "world", "num_envs", "output",
        "godot_url", "godot_bin", "godot_engines",
    )  # fmt: skip
    return evaluate(evaluation_arguments(args, values, ("verbose", "trust_pickle")))


if __name__ == "__main__":
    sys.exit(main())
