"""The command `ambulo train motion`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ambulo.common.command_line import Arg
from ambulo.common.flag_types import Count
from ambulo.configs.choices import MotionMode
from ambulo.configs.errors import ConfigError
from ambulo.configs.presets import MOTION_PRESETS
from ambulo.train.shared.flags import RunFlags, Sets
from ambulo.train.shared.run_command import RunCommand
from ambulo.train.shared.run_folders import MotionRunFolder
from ambulo.train.shared.run_request import RunRequest

if TYPE_CHECKING:
    from ambulo.configs.motion_nn import MotionRunConfig
    from ambulo.motion.datasets.splits import Split
    from ambulo.motion.datasets.windows import WindowBatch
    from ambulo.train.shared.supervised import SupervisedRun

Request = RunRequest["MotionRunConfig"]


@dataclass(frozen=True, kw_only=True)
class MotionFlags(RunFlags):
    """Train a network that predicts how a body continues to move."""

    title = "flags of ambulo train motion"
    bvh_dir: Annotated[tuple[str, ...], Arg("DIR", ("--bvh_dir",), repeated=True)] = ()
    """folder of motion files: BVH, ASF/AMC, NPZ (repeatable)"""
    mode: Annotated[MotionMode | None, Sets("model.mode")] = None
    """kind of network"""
    activity_split: Annotated[
        bool,
        Arg(names=("--activity_split",)),
        Sets("dataset.split_by", {True: "activity"}.get),
    ] = False
    """test on new recordings of each activity"""
    subject_split: Annotated[
        bool,
        Arg(names=("--subject_split",)),
        Sets("dataset.split_by", {True: "subject"}.get),
    ] = False
    """test on people never seen (default)"""
    strict: bool = False
    """a file that cannot be used is an error"""
    processes: Count = 1
    """processes that prepare clips"""

    def __post_init__(self) -> None:
        """Refuse two kinds of splits."""
        super().__post_init__()
        if self.activity_split and self.subject_split:
            raise ConfigError("--activity_split and --subject_split exclude each other")
        if self.activity_split and getattr(self, "test_subjects", None):
            raise ConfigError(
                "--test_subjects needs --subject_split, not --activity_split"
            )


class MotionCommand(RunCommand["MotionRunConfig", "SupervisedRun[WindowBatch]"]):
    """Training of networks that predict motion."""

    description = "Train a network that predicts how a body continues to move."
    examples = """\
ambulo train motion --bvh_dir DIR --activity_split --test_ratio 0.15 --mode transformer_reg
ambulo train motion --bvh_dir DIR --subject_split --test_subjects 02 12 --mode mlp
ambulo train motion --resume runs/transformer_reg_0_20260101-120000
"""
    folder = MotionRunFolder
    presets = MOTION_PRESETS
    resumable = ("epochs", "patience", "save_every", "device", "output")
    kept_on_resume = ("bvh_dir", "preset", "config")
    progress = ("steps", "joint error", "{:.1f} mm", 1.0)
    flags = MotionFlags
    data = "bvh_dir"
    setting_flags: ClassVar[Mapping[str, str]] = {
        "--epochs": "training.epochs",
        "--batch_size": "dataset.batch_size",
        "--seed": "training.seed dataset.seed",
        "--test_ratio": "dataset.test_ratio",
        "--test_subjects": "dataset.test_subjects",
        "--streaming": "dataset.streaming",
    }

    def label(self, config: MotionRunConfig, args: Any) -> str:
        """Return the kind of network."""
        return config.model.mode

    def check_names(self, config: MotionRunConfig) -> None:
        """Refuse unknown activities of the curriculum."""
        from ambulo.motion.datasets.curriculum import CurriculumProgress

        CurriculumProgress(config.dataset.curriculum)

    def build(self, request: Request) -> SupervisedRun[WindowBatch]:
        """Read the clips and make the training."""
        from ambulo.train.motion.clips import (
            split_of,
            training_windows,
            validation_windows,
        )
        from ambulo.train.motion.training import MotionTask

        config, folder, args = request.config, request.folder, request.args
        strict, processes = bool(args.strict), args.processes
        split = split_of(config, folder, strict=strict)
        print(_described(split), file=sys.stderr)
        windows = training_windows(
            config, split, folder, strict=strict, processes=processes
        )
        held_out = split.validation or split.test
        validation = validation_windows(config, held_out, processes=processes)
        names = {
            part: sorted({clip.name for clip in split.part(part)})
            for part in ("train", "validation", "test")
        }
        checkpoint = request.checkpoint
        task = MotionTask(
            config,
            windows,
            validation,
            command=request.shared_command,
            extra={"split": names},
            state=None if checkpoint is None else checkpoint.training,
        )
        return request.supervised(task)

    def report(self, request: Request, run: SupervisedRun[WindowBatch]) -> None:
        """Evaluate on held-out clips; baselines that are fitted need `ambulo eval`."""
        from ambulo.motion.datasets.splits import load_split
        from ambulo.train.motion.clips import split_file
        from ambulo.train.shared.final_evaluation import finish

        best, file = run.progress.best, split_file(request.folder)
        known = load_split(file, parts=["validation"], check=False).validation
        finish(
            request,
            run,
            f"joint error {best:.1f} mm on validation windows",
            "--baselines",
            "zero_velocity,constant_velocity,constant_velocity_xyz",
            *([] if known else ["--use_test_set"]),
        )


def _described(split: Split) -> str:
    """Return the size of each part of `split`, as one line."""
    from ambulo.motion.datasets.splits import PARTS

    parts = [
        f"{name} {len(split.part(name))} clips of "
        f"{len({clip.subject for clip in split.part(name)})} people"
        for name in PARTS
    ]
    return f"split by {split.by}: {', '.join(parts)}"


COMMAND = MotionCommand()
