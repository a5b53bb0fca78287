"""The flags of locomotion training, and the configuration that they ask for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ambulo.common.errors import Parser
from ambulo.common.find_model import find_model
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, ModelFileError, nearest
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.presets.locomotion import PRESETS, preset
from ambulo.configs.simulation_nn import TeacherConfig
from ambulo.train.shared.training_flags import (
    add_output_flags,
    add_result_flags,
    add_task_flags,
    add_training_flags,
    check_exclusive,
    chosen_config,
    with_shortcuts,
)

RESUMABLE = (
    "total_timesteps", "save_freq", "eval_freq", "eval_episodes", "eval_seconds",
    "num_workers", "num_threads", "device", "output",
)  # fmt: skip
"""Training settings that may change when a run is resumed."""
TEACHERS = ("law", "none")
"""What `--teacher` may be, besides a model."""

_SHORTCUTS = {
    "timesteps": "training.total_timesteps",
    "seed": "training.seed",
    "device": "training.device",
    "output": "training.output",
    "eval_freq": "training.eval_freq",
    "eval_episodes": "training.eval_episodes",
    "save_freq": "training.save_freq",
    "threads": "training.num_threads",
    "num_envs": "environment.num_environments",
    "task": "environment.task",
    "character": "environment.character",
    "actuation": "environment.actuation",
}
"""Flags that set one key of the configuration."""

EPILOG = """\
examples:
  train_locomotion --preset imitate_walk --reference 02_01.amc
  train_locomotion --preset imitate_walk_network --reference 02_01.amc --seed 1
  train_locomotion --resume runs/imitate_walk_0_20260101-120000
  train_locomotion --eval runs/first/best_models/best_model.zip --episodes 100
"""


def make_parser() -> Parser:
    """The command line of `train_locomotion`."""
    parser = Parser(
        prog="train_locomotion",
        description="Train, resume and evaluate a policy that moves a simulated body.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_task_flags(parser, PRESETS)
    how = add_training_flags(parser, "control steps", "bodies")
    how.add_argument(
        "--reference",
        metavar="FILE",
        help="motion clip or prepared reference to follow",
    )
    how.add_argument("--task", metavar="NAME", help="imitate, locomote, stand or gait")
    how.add_argument("--character", metavar="NAME", help="the body (default: human23)")
    how.add_argument("--actuation", metavar="NAME", help="torque or muscle")
    how.add_argument(
        "--teacher", metavar="NAME",
        help="begin as an apprentice: law, of the balance law; a trained model; none",
    )  # fmt: skip
    how.add_argument("--threads", type=int, metavar="N", help="threads of the physics")
    add_result_flags(parser)
    add_output_flags(parser)
    return parser


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The flags; argparse leaves with exit code 2 when they are wrong."""
    parser = make_parser()
    args = parser.parse_args(argv)
    check_exclusive(parser, args)
    return args


def base_config(args: argparse.Namespace) -> LocomotionConfig:
    """The preset, or the defaults, with the settings of `--config` over it."""
    return chosen_config(args, LocomotionConfig(), preset)


def with_flags(config: LocomotionConfig, args: argparse.Namespace) -> LocomotionConfig:
    """`config` with every `--set` and every flag that was given."""
    config = with_shortcuts(config, args, _SHORTCUTS)
    if args.reference is not None:
        path = resolve_path(args.reference)
        config = config.override("environment", reference=str(path.absolute()))
    if args.teacher is not None:
        teacher = None
        if args.teacher != "none":
            model = None if args.teacher == "law" else _teacher_model(args.teacher)
            teacher = config.training.teacher or TeacherConfig()
            teacher = teacher.replace(model=model)
        config = config.override("training", teacher=teacher)
        if teacher is not None:  # what the network is to do must not be done for it
            config = config.override("environment", balance_law=False)
    return config


def _teacher_model(name: str) -> str:
    """The file of the model that `--teacher` names."""
    try:
        return str(find_model(name).absolute())
    except ModelFileError as error:
        hint = nearest(name, TEACHERS)
        raise ConfigError(f"--teacher: neither law nor none{hint}; {error}") from error


def label_of(args: argparse.Namespace) -> str:
    """What a run is named after: its preset, or its configuration file."""
    if args.preset:
        return str(args.preset)
    if args.config:
        return resolve_path(args.config).stem or "custom"
    return "locomotion"
