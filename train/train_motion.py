"""Train a network that predicts how a body goes on moving (MotionNN)."""

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
from ambulo.configs.errors import RunFolderError
from ambulo.configs.motion_nn import MotionRunConfig
from ambulo.motion.datasets.splits import PARTS, Split
from ambulo.train.motion.options import (
    RESUMABLE,
    base_config,
    parse_arguments,
    with_flags,
)
from ambulo.train.motion.run_folder import MotionRunFolder
from ambulo.train.shared.command import shareable_arguments, tell_interrupted
from ambulo.train.shared.training_flags import check_resumable

if TYPE_CHECKING:
    from ambulo.policies.files.motion_model import MotionModelFile
    from ambulo.train.motion.training import MotionTraining


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    arguments = list(argv or [])
    args = parse_arguments(arguments)
    level = "INFO" if args.verbose else "WARNING"
    logging.basicConfig(
        level="WARNING", format="%(levelname)s %(name)s: %(message)s", force=True
    )
    logging.getLogger("ambulo").setLevel(level)
    if args.resume:
        return _resume(args, arguments)
    config = with_flags(base_config(args), args)
    if args.print_config:
        print(config.to_json(), end="")
        return 0
    folder = MotionRunFolder.create(
        config.training.output,
        args.run_name,
        config.model.mode,
        config.training.seed,
        force=args.force,
    )
    return _train(args, arguments, config, folder, None)


def _resume(args: argparse.Namespace, arguments: Sequence[str]) -> int:
    """Go on from the newest whole checkpoint of a run, or from one that is named."""
    from ambulo.policies.files.motion_model import load_motion_file

    target = resolve_path(args.resume)
    folder, checkpoint = _find_run(target)
    old = load_json(MotionRunConfig, folder.config)
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
        model = load_motion_file(checkpoint)
        if model.training is None:
            raise RunFolderError(
                f"{checkpoint}: holds no training state; resume a file of checkpoints/"
            )
    return _train(args, arguments, config, folder, model)


def _find_run(target: Path) -> tuple[MotionRunFolder, Path | None]:
    """The run folder that `target` is or lies in, and the checkpoint to go on from."""
    if target.is_dir():
        folder = MotionRunFolder(target)
        if not folder.exists:
            raise RunFolderError(
                f"{target}: not a run folder: no run.json and config.json"
            )
        return folder, folder.newest_checkpoint()
    if not target.exists():
        raise RunFolderError(f"{target}: no such run folder or checkpoint")
    around = MotionRunFolder.around(target)
    if around is not None:
        return around, target
    raise RunFolderError(f"{target}: lies in no run folder, whose split it needs")


def _train(
    args: argparse.Namespace,
    arguments: Sequence[str],
    config: MotionRunConfig,
    folder: MotionRunFolder,
    model: MotionModelFile | None,
) -> int:
    """Train in `folder` from `model` (None: from the beginning)."""
    from ambulo.common.console import Words, make_display

    with StopRequest() as stop:
        training = _prepare(args, arguments, config, folder, model)
        words = Words("steps", "joint error", "{:.1f} mm", 1.0)
        display = make_display(training.total_steps, args.progress, words)
        try:
            training.train(display, stop)
        except Interrupted as interrupted:
            return tell_interrupted(interrupted, folder)
    progress = training.progress
    print(
        f"{progress.step} steps, {progress.epoch} epochs, {progress.seconds:.0f} s: "
        f"joint error {progress.best:.1f} mm on validation windows\n"
        f"best model: {folder.best_model}\n"
        f"evaluate:   eval_motion --model {folder.path} --use_test_set"
    )
    return 0


def _prepare(
    args: argparse.Namespace,
    arguments: Sequence[str],
    config: MotionRunConfig,
    folder: MotionRunFolder,
    model: MotionModelFile | None,
) -> MotionTraining:
    """The training and its folder; a new folder goes again if it cannot start."""
    from ambulo.train.motion.clips import (
        split_of,
        training_windows,
        validation_windows,
    )
    from ambulo.train.motion.training import MotionTraining

    try:
        split = split_of(config, folder, strict=args.strict)
        print(_described(split), file=sys.stderr)
        windows = training_windows(
            config, split, folder, strict=args.strict, processes=args.processes
        )
        held_out = split.validation or split.test
        validation = validation_windows(config, held_out, processes=args.processes)
        training = MotionTraining(
            config,
            folder,
            windows,
            validation,
            command=shlex.join(["train_motion", *shareable_arguments(arguments)]),
            extra={
                "split": {
                    name: sorted({clip.name for clip in split.part(name)})
                    for name in ("train", "validation", "test")
                }
            },
            checkpoint=model,
        )
        folder.describe(config.to_json(), arguments, config.training.seed)
    except BaseException:
        folder.discard()
        raise
    folder.keep()
    return training


def _described(split: Split) -> str:
    """What is trained and tested on, as one line."""
    parts = [
        f"{name} {len(split.part(name))} clips of "
        f"{len({clip.subject for clip in split.part(name)})} people"
        for name in PARTS
    ]
    return f"split by {split.by}: {', '.join(parts)}"


if __name__ == "__main__":
    sys.exit(main())
