"""Flags that every training by reinforcement learning has, and what they change."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ambulo.common.paths import resolve_path
from ambulo.configs.base import Config, load_json, parse
from ambulo.configs.errors import ConfigError, nearest

Settings = TypeVar("Settings", bound=Config)
Group = argparse._ArgumentGroup
MACHINE = "godot_"
"""Settings of this prefix tell where engines are; they may always change."""


def add_task_flags(parser: argparse.ArgumentParser, presets: Iterable[str]) -> Group:
    """What to do: train by a preset, resume, evaluate, or show settings."""
    what = parser.add_argument_group("what to do")
    what.add_argument("--preset", metavar="NAME", help=f"one of {', '.join(presets)}")
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
    return what


def add_training_flags(
    parser: argparse.ArgumentParser, steps: str, players: str
) -> Group:
    """How long and how often, counted in `steps`; how many `players` at once."""
    how = parser.add_argument_group("training")
    how.add_argument("--timesteps", type=int, metavar="N", help=f"{steps} in all")
    how.add_argument("--seed", type=int, metavar="N", help="seed of everything random")
    how.add_argument("--num-envs", type=int, metavar="N", help=f"{players} at once")
    how.add_argument("--device", metavar="NAME", help="torch device (default: cpu)")
    how.add_argument("--save-freq", type=int, metavar="N", help="between checkpoints")
    how.add_argument("--eval-freq", type=int, metavar="N", help="between evaluations")
    how.add_argument(
        "--eval-episodes", type=int, metavar="N", help="episodes of each evaluation"
    )
    return how


def add_result_flags(parser: argparse.ArgumentParser) -> Group:
    """Where results go, and how the final evaluation is done."""
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
    return where


def add_output_flags(parser: argparse.ArgumentParser) -> Group:
    """What is shown meanwhile."""
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
    return show


def check_exclusive(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Leave with an error for flags that exclude each other."""
    if args.resume and (args.preset or args.config):
        parser.error(
            "--resume continues with the run's own settings: no --preset/--config"
        )
    if args.resume and args.init_from:
        parser.error("--resume and --init-from exclude each other")
    if args.eval and args.resume:
        parser.error("--eval and --resume exclude each other")


def chosen_config(
    args: argparse.Namespace, default: Settings, preset: Callable[[str], Settings]
) -> Settings:
    """The preset, or `default`, with the settings of `--config` over it."""
    config = preset(args.preset) if args.preset else default
    if args.config:
        path = resolve_path(args.config)
        given = load_json(type(default), path).model_dump(exclude_unset=True)
        data = config.model_dump()
        for group, values in given.items():
            data[group].update(values)
        config = parse(type(default), data, str(path))
    return config


def with_shortcuts(
    config: Settings, args: argparse.Namespace, shortcuts: Mapping[str, str]
) -> Settings:
    """`config` with every `--set`, and every flag of `shortcuts` that was given.

    They are judged together: settings that need each other may come in any order.
    """
    changes = [_change(text) for text in args.overrides]
    for name, key in shortcuts.items():
        value = getattr(args, name)
        if value is not None:
            changes.append((key, value, f"--{name.replace('_', '-')}"))
    try:
        config = with_values(config, changes)
    except ConfigError as error:
        for change in changes:  # the one that is wrong is named, if it is one
            if change[0] in str(error):
                with_values(config, [change])
        raise
    if args.episodes is not None and args.episodes < 1:
        raise ConfigError(f"--episodes = {args.episodes}: must be at least 1")
    return config


def with_overrides(config: Settings, overrides: Sequence[str]) -> Settings:
    """`config` with each `group.key=value` of `--set`."""
    return with_values(config, [_change(text) for text in overrides])


def with_values(config: Settings, changes: Sequence[tuple[str, Any, str]]) -> Settings:
    """`config` with dotted keys, group.name, changed: (key, value, who says so) each."""
    data = config.model_dump()
    for key, value, source in changes:
        group, dot, name = key.partition(".")
        if not isinstance(data.get(group), dict) or not dot:
            hint = nearest(group, data)
            raise ConfigError(
                f"{source}: {key!r} is not a dotted key such as ppo.learning_rate{hint}"
            )
        several = isinstance(value, str) and isinstance(data[group].get(name), tuple)
        parts = value.split(",") if several else []
        data[group][name] = [part for part in parts if part] if several else value
    sources = {source for _, _, source in changes}
    return parse(
        type(config), data, " ".join(sources) if len(sources) == 1 else "flags"
    )


def with_value(config: Settings, key: str, value: Any, source: str) -> Settings:
    """`config` with one dotted key, group.name, changed."""
    return with_values(config, [(key, value, source)])


def _change(text: str) -> tuple[str, Any, str]:
    """The key and the value of a `--set`, and its name."""
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--set {text!r}: expected KEY=VALUE, with a dotted key")
    return key.strip(), _typed(value), "--set"


def check_resumable(old: Settings, new: Settings, allowed: Collection[str]) -> None:
    """Refuse changes of a resumed run that would make it another run.

    Only the settings of `training` that are `allowed` may change.
    """
    before, after = old.model_dump(), new.model_dump()
    for group, values in before.items():
        if not isinstance(values, dict):
            continue
        for key, value in values.items():
            if group == "training" and key in allowed:
                continue
            if key.startswith(MACHINE):
                continue
            if after[group][key] != value:
                raise ConfigError(
                    f"{group}.{key} cannot change when a run is resumed ({value!r} -> "
                    f"{after[group][key]!r}); start a new run"
                )


def _typed(text: str) -> Any:
    """The JSON value of `text`, or the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text
