"""The flags of VR-navigation training, and the configuration that they ask for."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ambulo.configs.base import load_json, parse
from ambulo.configs.errors import ConfigError, nearest
from ambulo.configs.presets import PRESETS, preset
from ambulo.configs.vr import ENGINE_PLACES, EnvironmentConfig, RLConfig
from ambulo.train.errors import Parser
from ambulo.train.paths import resolve_path

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
MACHINE = "godot_"
"""Settings of this prefix tell where engines are; they may always change."""

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
    what = parser.add_argument_group("what to do")
    what.add_argument("--preset", metavar="NAME", help=f"one of {', '.join(PRESETS)}")
    what.add_argument("--config", metavar="FILE", help="JSON settings, over the preset")
    what.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides",
        help="one setting, such as ppo.learning_rate=1e-4 (repeatable)",
    )  # fmt: skip
    what.add_argument(
        "--resume", metavar="PATH", help="continue a run folder or a checkpoint file"
    )
    what.add_argument(
        "--init-from", metavar="MODEL", help="begin with the policy of another model"
    )
    what.add_argument("--eval", metavar="MODEL", help="evaluate a model; no training")
    what.add_argument(
        "--save-config", metavar="FILE", help="write the settings to FILE; no training"
    )
    what.add_argument(
        "--print-config", action="store_true", help="print the settings; no training"
    )

    how = parser.add_argument_group("training")
    how.add_argument("--timesteps", type=int, metavar="N", help="decisions in all")
    how.add_argument("--seed", type=int, metavar="N", help="seed of everything random")
    how.add_argument("--num-envs", type=int, metavar="N", help="players at once")
    how.add_argument("--device", metavar="NAME", help="torch device (default: cpu)")
    how.add_argument(
        "--world", metavar="NAME", help="kernel (compiled), mujoco, or godot"
    )
    how.add_argument("--level-file", metavar="PATH", help="level JSON file or folder")
    how.add_argument("--save-freq", type=int, metavar="N", help="between checkpoints")
    how.add_argument("--eval-freq", type=int, metavar="N", help="between evaluations")
    how.add_argument(
        "--eval-episodes", type=int, metavar="N", help="episodes of each evaluation"
    )

    add_godot_flags(parser)

    where = parser.add_argument_group("results")
    where.add_argument(
        "--output", metavar="FOLDER", help="folder of runs; user:// works"
    )
    where.add_argument("--run-name", metavar="NAME", help="name of the run folder")
    where.add_argument(
        "--force", action="store_true", help="replace a run of that name"
    )
    where.add_argument(
        "--episodes", type=int, metavar="N", help="episodes of the final evaluation"
    )
    where.add_argument(
        "--deterministic", action="store_true", dest="deterministic", default=True,
        help="evaluate with the mean action (default)",
    )  # fmt: skip
    where.add_argument(
        "--stochastic", action="store_false", dest="deterministic",
        help="evaluate with sampled actions",
    )  # fmt: skip
    where.add_argument(
        "--json", nargs="?", const="-", metavar="FILE",
        help="results as JSON, to FILE or to standard output",
    )  # fmt: skip

    show = parser.add_argument_group("output")
    show.add_argument(
        "--progress", action=argparse.BooleanOptionalAction, default=None,
        help="progress bar (default: on)",
    )  # fmt: skip
    show.add_argument(
        "--verbose", action="store_true", help="more messages, and tracebacks"
    )
    show.add_argument(
        "--log-level", default=None, metavar="LEVEL",
        help="debug, info, warning or error (default: warning)",
    )  # fmt: skip
    show.add_argument(
        "--trust-pickle", action="store_true",
        help="run the pickled code of a Stable-Baselines3 zip; only for your own files",
    )  # fmt: skip
    return parser


def add_godot_flags(parser: argparse.ArgumentParser) -> None:
    """The flags that tell where the engines of `--world godot` are."""
    godot = parser.add_argument_group("engines of --world godot")
    godot.add_argument(
        "--godot-url", metavar="URL",
        help="play in this running game, such as http://127.0.0.1:8080",
    )  # fmt: skip
    godot.add_argument(
        "--godot-bin", metavar="PROGRAM", help="Godot program (default: GODOT_BIN)"
    )
    godot.add_argument(
        "--godot-engines", type=int, metavar="N",
        help="processes that share the players (default: 1)",
    )  # fmt: skip


def base_config(args: argparse.Namespace) -> RLConfig:
    """The preset, or the defaults, with the settings of `--config` over it."""
    config = preset(args.preset) if args.preset else RLConfig()
    if args.config:
        path = resolve_path(args.config)
        given = load_json(RLConfig, path).model_dump(exclude_unset=True)
        data = config.model_dump()
        for group, values in given.items():
            data[group].update(values)
        config = parse(RLConfig, data, str(path))
    return config


def with_overrides(config: RLConfig, overrides: Sequence[str]) -> RLConfig:
    """`config` with each `group.key=value` of `--set`."""
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--set {text!r}: expected KEY=VALUE, with a dotted key")
        config = _with(config, key.strip(), _typed(value), "--set")
    return config


def with_flags(config: RLConfig, args: argparse.Namespace) -> RLConfig:
    """`config` with every `--set` and every flag that was given."""
    config = with_overrides(config, args.overrides)
    for name, key in _SHORTCUTS.items():
        value = getattr(args, name)
        if value is None:
            continue
        config = _with(config, key, value, f"--{name.replace('_', '-')}")
    if args.level_file is not None:
        path = str(resolve_path(args.level_file))
        config = config.override("environment", level_file=path)
    if args.episodes is not None and args.episodes < 1:
        raise ConfigError(f"--episodes = {args.episodes}: must be at least 1")
    return config


def check_godot_flags(args: argparse.Namespace, env: EnvironmentConfig) -> None:
    """`ConfigError` for engine flags in another world, or more engines than players."""
    if env.world != "godot":
        for name in ("godot_url", "godot_bin", "godot_engines"):
            if getattr(args, name, None) is not None:
                flag = "--" + name.replace("_", "-")
                raise ConfigError(f"{flag}: needs --world godot, this is {env.world}")
    elif env.godot_engines > env.num_environments:
        raise ConfigError(
            f"--godot-engines {env.godot_engines}: more than the "
            f"{env.num_environments} players (--num-envs)"
        )


def check_resumable(old: RLConfig, new: RLConfig) -> None:
    """Refuse changes of a resumed run that would make it another run."""
    before, after = old.model_dump(), new.model_dump()
    for group, values in before.items():
        for key, value in values.items():
            if group == "training" and key in RESUMABLE:
                continue
            if key.startswith(MACHINE):
                continue
            if after[group][key] != value:
                raise ConfigError(
                    f"{group}.{key} cannot change when a run is resumed ({value!r} -> "
                    f"{after[group][key]!r}); start a new run"
                )


def shareable_arguments(arguments: Sequence[str]) -> list[str]:
    """The flags of a training as a model file may tell them.

    Where engines are is left out, and of other absolute paths only the name is left.
    """
    flags = {f"--{key.replace('_', '-')}" for key in ENGINE_PLACES}
    keys = tuple(f"environment.{key}=" for key in ENGINE_PLACES)
    told: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        flag, equals, value = argument.partition("=")
        if flag in flags:
            if not equals:
                next(rest, None)
        elif argument.removeprefix("--set=").startswith(keys):
            if not argument.startswith("--set=") and told and told[-1] == "--set":
                told.pop()
        elif equals and os.path.isabs(value):
            told.append(f"{flag}={Path(value).name}")
        else:
            told.append(Path(argument).name if os.path.isabs(argument) else argument)
    return told


def label_of(args: argparse.Namespace) -> str:
    """What a run is named after: its preset, or its configuration file."""
    if args.preset:
        return str(args.preset)
    if args.config:
        return resolve_path(args.config).stem or "custom"
    return "vr_navigation"


def _with(config: RLConfig, key: str, value: Any, source: str) -> RLConfig:
    """`config` with one dotted key changed."""
    group, dot, name = key.partition(".")
    data = config.model_dump()
    if group not in data or not dot:
        hint = nearest(group, data)
        raise ConfigError(
            f"{source}: {key!r} is not a dotted key such as ppo.learning_rate{hint}"
        )
    if isinstance(value, str) and isinstance(data[group].get(name), tuple):
        value = [part for part in value.split(",") if part]
    data[group][name] = value
    return parse(RLConfig, data, source)


def _typed(text: str) -> Any:
    """The JSON value of `text`, or the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The flags; argparse leaves with exit code 2 when they are wrong."""
    parser = make_parser()
    args = parser.parse_args(argv)
    if args.resume and (args.preset or args.config):
        parser.error(
            "--resume continues with the run's own settings: no --preset/--config"
        )
    if args.resume and args.init_from:
        parser.error("--resume and --init-from exclude each other")
    if args.eval and args.resume:
        parser.error("--eval and --resume exclude each other")
    return args
