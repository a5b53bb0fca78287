"""The flags of motion training, and the configuration that they ask for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import get_args

from ambulo.common.errors import Parser
from ambulo.common.paths import resolve_path
from ambulo.configs.base import load_json
from ambulo.configs.errors import ConfigError
from ambulo.configs.motion_nn import Mode, MotionRunConfig
from ambulo.train.shared.training_flags import with_overrides, with_value

RESUMABLE = ("epochs", "patience", "save_every", "device", "output")
"""Training settings that may change when a run is resumed."""

_SHORTCUTS = {
    "mode": ("model.mode",),
    "epochs": ("training.epochs",),
    "batch_size": ("dataset.batch_size",),
    "seed": ("training.seed", "dataset.seed"),
    "device": ("training.device",),
    "output": ("training.output",),
    "test_ratio": ("dataset.test_ratio",),
    "test_subjects": ("dataset.test_subjects",),
}
"""Flags that set keys of the configuration."""

EPILOG = """\
examples:
  train_motion --bvh_dir DIR --activity_split --test_ratio 0.15 --mode transformer_reg
  train_motion --bvh_dir DIR --subject_split --test_subjects 02 12 --mode mlp
  train_motion --resume runs/transformer_reg_0_20260101-120000
"""


def make_parser() -> Parser:
    """The command line of `train_motion`."""
    parser = Parser(
        prog="train_motion",
        description="Train a network that predicts how a body goes on moving.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    data = parser.add_argument_group("data")
    data.add_argument(
        "--bvh_dir", "--bvh-dir", action="append", default=[], metavar="DIR",
        help="folder of motion files: BVH, ASF/AMC, NPZ (repeatable)",
    )  # fmt: skip
    split = data.add_mutually_exclusive_group()
    split.add_argument(
        "--activity_split", "--activity-split", action="store_const", const="activity",
        dest="split_by", help="test on new recordings of each activity",
    )  # fmt: skip
    split.add_argument(
        "--subject_split", "--subject-split", action="store_const", const="subject",
        dest="split_by", help="test on people never seen (default)",
    )  # fmt: skip
    data.add_argument(
        "--test_ratio", "--test-ratio", type=float, metavar="SHARE",
        help="share of the recordings to test on (default: 0.15)",
    )  # fmt: skip
    data.add_argument(
        "--test_subjects", "--test-subjects", nargs="+", metavar="SUBJECT",
        help="people to test on",
    )  # fmt: skip
    data.add_argument(
        "--streaming", action="store_true", default=None,
        help="read windows from disk within a fixed memory",
    )  # fmt: skip
    data.add_argument(
        "--strict", action="store_true", help="a file that cannot be used is an error"
    )
    data.add_argument(
        "--processes", type=int, default=1, metavar="N",
        help="processes that prepare clips (default: 1)",
    )  # fmt: skip

    how = parser.add_argument_group("training")
    how.add_argument("--mode", choices=get_args(Mode), help="kind of network")
    how.add_argument("--epochs", type=int, metavar="N", help="passes over the data")
    how.add_argument(
        "--batch_size", "--batch-size", type=int, metavar="N", help="windows of a step"
    )
    how.add_argument("--seed", type=int, metavar="N", help="seed of everything random")
    how.add_argument(
        "--device", metavar="NAME", help="torch device (default: auto, a GPU if any)"
    )
    how.add_argument("--config", metavar="FILE", help="JSON settings")
    how.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides",
        help="one setting, such as model.width=128 (repeatable)",
    )  # fmt: skip
    how.add_argument("--resume", metavar="PATH", help="continue a run or a checkpoint")
    how.add_argument(
        "--print-config", action="store_true", help="print the settings; no training"
    )

    where = parser.add_argument_group("results")
    where.add_argument(
        "--output", metavar="FOLDER", help="folder of runs (default: runs)"
    )
    where.add_argument("--run-name", metavar="NAME", help="name of the run folder")
    where.add_argument(
        "--force", action="store_true", help="replace a run of that name"
    )
    where.add_argument(
        "--progress", action=argparse.BooleanOptionalAction, default=None,
        help="progress bar (default: on)",
    )  # fmt: skip
    where.add_argument(
        "--verbose", action="store_true", help="more messages, and tracebacks"
    )
    return parser


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The flags; argparse leaves with exit code 2 when they are wrong."""
    parser = make_parser()
    args = parser.parse_args(argv)
    if args.resume and (args.config or args.bvh_dir):
        parser.error(
            "--resume continues with the run's own settings and data: "
            "no --config, no --bvh_dir"
        )
    if not (args.resume or args.bvh_dir or args.print_config):
        parser.error("--bvh_dir DIR: name a folder of motion files")
    if args.processes < 1:
        parser.error(f"--processes {args.processes}: must be at least 1")
    return args


def base_config(args: argparse.Namespace) -> MotionRunConfig:
    """The settings of `--config`, or the defaults, with the data folders."""
    config = MotionRunConfig()
    if args.config:
        config = load_json(MotionRunConfig, resolve_path(args.config))
    folders = tuple(str(resolve_path(folder)) for folder in args.bvh_dir)
    return config.replace(data=folders) if folders else config


def with_flags(config: MotionRunConfig, args: argparse.Namespace) -> MotionRunConfig:
    """`config` with every `--set` and every flag that was given."""
    config = with_overrides(config, args.overrides)
    if args.split_by == "activity" and args.test_subjects:
        raise ConfigError("--test_subjects needs --subject_split, not --activity_split")
    if args.split_by is not None:
        config = with_value(
            config, "dataset.split_by", args.split_by, f"--{args.split_by}_split"
        )
    for name, keys in _SHORTCUTS.items():
        value = getattr(args, name)
        if value is not None:
            for key in keys:
                config = with_value(config, key, value, f"--{name}")
    if args.streaming:
        config = with_value(config, "dataset.streaming", True, "--streaming")
    return config
