"""Train a network that answers targets of effectors with full-body poses (neural IK)."""

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
from ambulo.configs.neural_ik import IKRunConfig
from ambulo.train.ik.options import (
    RESUMABLE,
    base_config,
    parse_arguments,
    with_flags,
)
from ambulo.train.ik.run_folder import IKRunFolder
from ambulo.train.shared.command import shareable_arguments, tell_interrupted
from ambulo.train.shared.training_flags import check_resumable

if TYPE_CHECKING:
    from ambulo.policies.files.ik_model import IKModelFile
    from ambulo.train.ik.training import IKTraining


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
        raise ConfigError("no data: name a file of poses with --data FILE")
    if not (args.fresh or args.force or args.init):
        unfinished = _unfinished(config, args.run_name)
        if unfinished is not None:
            print(f"continuing {unfinished.path}; --fresh begins anew", file=sys.stderr)
            return _resume(args, arguments, unfinished.path)
    init = _newest(resolve_path(args.init)) if args.init else None
    label = config.network.kind
    seed = config.training.seed
    folder = IKRunFolder.create(
        config.training.output, args.run_name, label, seed, force=args.force
    )
    return _train(args, arguments, config, folder, None, init)


def _resume(args: argparse.Namespace, arguments: Sequence[str], target: Path) -> int:
    """Go on from the newest whole checkpoint of a run, or from one that is named."""
    from ambulo.policies.files.ik_model import load_ik_model

    folder, checkpoint = _find_run(target)
    old = load_json(IKRunConfig, folder.config)
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
        model = load_ik_model(checkpoint)
        if model.training is None:
            raise RunFolderError(
                f"{checkpoint}: holds no training state; resume a file of checkpoints/"
            )
    return _train(args, arguments, config, folder, model, None)


def _newest(target: Path) -> IKModelFile:
    """The newest whole checkpoint of a run, or the one that is named."""
    from ambulo.policies.files.ik_model import load_ik_model

    checkpoint = _find_run(target)[1] if target.is_dir() else target
    if checkpoint is None:
        raise RunFolderError(f"{target}: no checkpoint yet")
    return load_ik_model(checkpoint)


def _find_run(target: Path) -> tuple[IKRunFolder, Path | None]:
    """The run folder that `target` is or lies in, and the checkpoint to go on from."""
    if target.is_dir():
        folder = IKRunFolder(target)
        if not folder.exists:
            raise RunFolderError(
                f"{target}: not a run folder: no run.json and config.json"
            )
        return folder, folder.newest_checkpoint()
    if not target.exists():
        raise RunFolderError(f"{target}: no such run folder or checkpoint")
    around = IKRunFolder.around(target)
    if around is None:
        raise RunFolderError(f"{target}: lies in no run folder")
    return around, target


def _unfinished(config: IKRunConfig, name: str | None) -> IKRunFolder | None:
    """The newest run of the same settings that has not written its final model."""
    parent = resolve_path(config.training.output)
    found = []
    for path in parent.iterdir() if parent.is_dir() else ():
        folder = IKRunFolder(path)
        if (
            not folder.exists
            or folder.final_model.exists()
            or name not in (None, path.name)
        ):
            continue
        try:
            if load_json(IKRunConfig, folder.config) == config:
                found.append((folder.run.stat().st_mtime, str(path), folder))
        except (AmbuloError, OSError):
            continue  # a run of another kind
    return max(found, key=lambda entry: entry[:2])[2] if found else None


def _train(
    args: argparse.Namespace,
    arguments: Sequence[str],
    config: IKRunConfig,
    folder: IKRunFolder,
    model: IKModelFile | None,
    init: IKModelFile | None,
) -> int:
    """Train in `folder` from `model` (None: from the beginning, or from `init`)."""
    from ambulo.common.console import Words, make_display

    with StopRequest() as stop:
        with folder.starting(config.to_json(), arguments, config.training.seed):
            training = _prepare(arguments, config, folder, model, init)
        words = Words("steps", "joint error", "{:.2f} cm", 1.0)
        display = make_display(training.total_steps, args.progress, words)
        try:
            training.train(display, stop)
        except Interrupted as interrupted:
            return tell_interrupted(interrupted, folder)
    progress = training.progress
    print(
        f"{progress.step} steps, {progress.epoch} epochs, {progress.seconds:.0f} s: "
        f"joint error {progress.best:.2f} cm on people not trained on\n"
        f"best model: {folder.best_model}"
    )
    return 0


def _prepare(
    arguments: Sequence[str],
    config: IKRunConfig,
    folder: IKRunFolder,
    model: IKModelFile | None,
    init: IKModelFile | None,
) -> IKTraining:
    """The training, after everything was checked."""
    from ambulo.evaluate.ik.data import Poses, split_poses
    from ambulo.ik.data.pose_data import check_poses, load_poses
    from ambulo.ik.rig import load_rig
    from ambulo.train.ik.checks import described, judge, kinematics_errors
    from ambulo.train.ik.training import IKTraining

    data = load_poses(config.data)
    rig = load_rig(data.header.rig)
    parts = split_poses(data, config)
    unique = check_poses(parts["train"], rig, config.dataset.least)
    people = {
        name: sorted({record for record in part.subjects.tolist()})
        for name, part in parts.items()
    }
    told = ", ".join(
        f"{name} {len(parts[name])} poses of {', '.join(who)}"
        for name, who in people.items()
    )
    print(f"split by people: {told}; {unique} unique to learn from", file=sys.stderr)
    poses = Poses(parts["train"], rig, config, mirror=config.dataset.mirror)
    validation = Poses(parts["validation"], rig, config, mirror=False)
    training = IKTraining(
        config,
        folder,
        poses,
        validation,
        command=shlex.join(["train_neural_ik", *shareable_arguments(arguments)]),
        extra={"people": people, "poses": {name: len(p) for name, p in parts.items()}},
        checkpoint=model,
        init=init,
    )
    errors = kinematics_errors(poses, training.loss)
    print(described(errors), file=sys.stderr)
    warning = judge(errors)
    if warning:
        print(f"warning: {warning}", file=sys.stderr)
    if init is not None:  # a run that is killed soon begins with the same weights again
        training.save_checkpoint()
    return training


if __name__ == "__main__":
    sys.exit(main())
