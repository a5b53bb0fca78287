"""Train a network from gait and body parameters to motion (Forward GaitNet)."""

from __future__ import annotations

import argparse
import logging
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ambulo.common.errors import front_door
from ambulo.common.paths import resolve_path
from ambulo.common.signals import Interrupted, StopRequest
from ambulo.configs.base import load_json
from ambulo.configs.errors import AmbuloError, ConfigError, RunFolderError
from ambulo.configs.ref_nn import RefRunConfig
from ambulo.train.gait.options import (
    RESUMABLE,
    base_config,
    parse_arguments,
    with_flags,
)
from ambulo.train.gait.run_folder import GaitRunFolder
from ambulo.train.shared.command import shareable_arguments, tell_interrupted
from ambulo.train.shared.training_flags import check_resumable

if TYPE_CHECKING:
    from ambulo.policies.networks.ref_nn import RefNNFile
    from ambulo.train.gait.training import GaitTraining


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    arguments = list(argv or [])
    args = parse_arguments(arguments)
    logging.basicConfig(
        level="WARNING", format="%(levelname)s %(name)s: %(message)s", force=True
    )
    logging.getLogger("ambulo").setLevel("INFO" if args.verbose else "WARNING")
    if args.resume:
        return _resume(args, arguments, resolve_path(args.resume))
    config = with_flags(base_config(args), args)
    if args.print_config:
        print(config.to_json(), end="")
        return 0
    if not config.data:
        raise ConfigError("no data: name folders of refined sequences with --data DIR")
    if not (args.fresh or args.force):
        unfinished = _unfinished(config, args.run_name)
        if unfinished is not None:
            print(f"continuing {unfinished.path}; --fresh begins anew", file=sys.stderr)
            return _resume(args, arguments, unfinished.path)
    seed = config.training.seed
    folder = GaitRunFolder.create(
        config.training.output, args.run_name, "ref_nn", seed, force=args.force
    )
    return _train(args, arguments, config, folder, None)


def _resume(args: argparse.Namespace, arguments: Sequence[str], target: Path) -> int:
    """Go on from the newest whole checkpoint of a run, or from one that is named."""
    from ambulo.policies.networks.ref_nn import read_ref_nn

    folder, checkpoint = _find_run(target)
    old = load_json(RefRunConfig, folder.config)
    config = with_flags(old, args)
    check_resumable(old, config, RESUMABLE)
    if args.print_config:
        print(config.to_json(), end="")
        return 0
    folder.sweep()
    model = None
    if checkpoint is None:
        print("no checkpoint yet: starting from the beginning", file=sys.stderr)
    else:
        model = read_ref_nn(checkpoint)
        if model.training is None:
            raise RunFolderError(
                f"{checkpoint}: holds no training state; resume a file of checkpoints/"
            )
    return _train(args, arguments, config, folder, model)


def _find_run(target: Path) -> tuple[GaitRunFolder, Path | None]:
    """The run folder that `target` is or lies in, and the checkpoint to go on from."""
    if target.is_dir():
        folder = GaitRunFolder(target)
        if not folder.exists:
            raise RunFolderError(
                f"{target}: not a run folder: no run.json and config.json"
            )
        return folder, folder.newest_checkpoint()
    if not target.exists():
        raise RunFolderError(f"{target}: no such run folder or checkpoint")
    around = GaitRunFolder.around(target)
    if around is None:
        raise RunFolderError(f"{target}: lies in no run folder")
    return around, target


def _unfinished(config: RefRunConfig, name: str | None) -> GaitRunFolder | None:
    """The newest run of the same settings that has not written its final model."""
    parent = resolve_path(config.training.output)
    found = []
    for path in parent.iterdir() if parent.is_dir() else ():
        folder = GaitRunFolder(path)
        if not folder.exists or name not in (None, path.name):
            continue
        if folder.final_model.exists():
            continue
        try:
            if load_json(RefRunConfig, folder.config) == config:
                found.append((folder.run.stat().st_mtime, str(path), folder))
        except (AmbuloError, OSError):
            continue  # a run of another kind
    return max(found, key=lambda entry: entry[:2])[2] if found else None


def _train(
    args: argparse.Namespace,
    arguments: Sequence[str],
    config: RefRunConfig,
    folder: GaitRunFolder,
    model: RefNNFile | None,
) -> int:
    """Train in `folder` from `model` (None: from the beginning)."""
    from ambulo.common.console import Words, make_display

    with StopRequest() as stop:
        with folder.starting(config.to_json(), arguments, config.training.seed):
            training = _prepare(arguments, config, folder, model)
        words = Words("steps", "error", "{:.2f}", 1.0)
        display = make_display(training.total_steps, args.progress, words)
        try:
            training.train(display, stop)
        except Interrupted as interrupted:
            return tell_interrupted(interrupted, folder)
    progress = training.progress
    told = "no validation part"
    if progress.scores:
        told = (
            f"legs {progress.scores['legs_deg']:.2f} deg, speed "
            f"{progress.scores['speed_percent']:.2f} % on gaits not trained on"
        )
    print(
        f"{progress.step} steps, {progress.epoch} epochs, {progress.seconds:.0f} s, "
        f"{progress.rows / max(progress.seconds, 1e-9):,.0f} frames/s: {told}\n"
        f"best model: {folder.best_model}"
    )
    return 0


def _prepare(
    arguments: Sequence[str],
    config: RefRunConfig,
    folder: GaitRunFolder,
    model: RefNNFile | None,
) -> GaitTraining:
    """The training, after everything was checked."""
    from ambulo.evaluate.gait.data import PARTS, open_data
    from ambulo.train.gait.training import GaitTraining

    logging.getLogger("ambulo.motion.gaits.shards").setLevel("ERROR")
    space = None if model is None else model.metadata.gait_space()
    data = open_data(config.data, config.dataset, config.training.seed, space)
    for error in data.errors:
        print(f"not used: {error}", file=sys.stderr)
    counts = ", ".join(f"{name} {data.count(name)}" for name in PARTS)
    print(
        f"sequences: {counts}; {len(data.heads)} files, {len(data.errors)} passed over; "
        f"{data.space.size} parameters of {data.space.name}",
        file=sys.stderr,
    )
    return GaitTraining(
        config,
        folder,
        data,
        command=shlex.join(["train_forward_gaitnet", *shareable_arguments(arguments)]),
        checkpoint=model,
    )


if __name__ == "__main__":
    sys.exit(main())
