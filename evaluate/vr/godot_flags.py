"""The flags that say which Godot engines `--world godot` uses, and their checks."""

from __future__ import annotations

import argparse

from ambulo.configs.errors import ConfigError
from ambulo.configs.vr import EnvironmentConfig


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
