"""The flags of VR-navigation training, and the configuration that they ask for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ambulo.common.errors import Parser
from ambulo.common.paths import resolve_path
from ambulo.configs.presets.vr import PRESETS, preset
from ambulo.configs.vr import NavigationConfig
from ambulo.evaluate.vr.godot_flags import add_godot_flags
from ambulo.train.shared.training_flags import (
    add_output_flags,
    add_result_flags,
    add_task_flags,
    add_training_flags,
    check_exclusive,
    chosen_config,
    with_shortcuts,
)

_SHORTCUTS = {
    "timesteps": "training.total_timesteps",
    "seed": "training.seed",
    "device": "training.device",
    "output": "training.output",
    "eval_freq": "training.eval_freq",
    "eval_episodes": "training.eval_episodes",
    "save_freq": "training.save_freq",
    "num_envs": "environment.num_environments",
    "world": "environment.world",
    "level_file": "environment.level_file",
    "godot_url": "environment.godot_url",
    "godot_bin": "environment.godot_bin",
    "godot_engines": "environment.godot_engines",
}
"""Flags that set one key of the configuration."""

RESUMABLE = (
    "total_timesteps", "save_freq", "eval_freq", "eval_episodes", "num_workers",
    "device", "output",
)  # fmt: skip
"""Training settings that may change when a run is resumed."""

EPILOG = """\
examples:
  train_vr_navigation --preset quick_test
  train_vr_navigation --preset full_training --seed 1 --run-name first
  train_vr_navigation --resume runs/first
  train_vr_navigation --eval runs/first/best_models/best_model.zip --episodes 50
"""


def make_parser() -> Parser:
    """The command line of `train_vr_navigation`."""
    parser = Parser(
        prog="train_vr_navigation",
        description="Train, resume and evaluate an agent that navigates in VR levels.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_task_flags(parser, PRESETS)
    how = add_training_flags(parser, "decisions", "players")
    how.add_argument(
        "--world", metavar="NAME", help="kernel (compiled), mujoco, or godot"
    )
    how.add_argument("--level-file", metavar="PATH", help="level JSON file or folder")
    add_godot_flags(parser)
    add_result_flags(parser)
    show = add_output_flags(parser)
    show.add_argument(
        "--trust-pickle", action="store_true",
        help="run the pickled code of a Stable-Baselines3 zip; only for your own files",
    )  # fmt: skip
    return parser


def base_config(args: argparse.Namespace) -> NavigationConfig:
    """The preset, or the defaults, with the settings of `--config` over it."""
    return chosen_config(args, NavigationConfig(), preset)


def with_flags(config: NavigationConfig, args: argparse.Namespace) -> NavigationConfig:
    """`config` with every `--set` and every flag that was given."""
    config = with_shortcuts(config, args, _SHORTCUTS)
    if args.level_file is not None:
        path = str(resolve_path(args.level_file))
        config = config.override("environment", level_file=path)
    return config


def label_of(args: argparse.Namespace) -> str:
    """What a run is named after: its preset, or its configuration file."""
    if args.preset:
        return str(args.preset)
    if args.config:
        return resolve_path(args.config).stem or "custom"
    return "vr_navigation"


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The flags; argparse leaves with exit code 2 when they are wrong."""
    parser = make_parser()
    args = parser.parse_args(argv)
    check_exclusive(parser, args)
    return args
