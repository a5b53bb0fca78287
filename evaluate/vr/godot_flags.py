"""The flags that say which Godot engines `--world godot` uses, and their checks."""

from __future__ import annotations

import argparse

from ambulo.configs.errors import ConfigError
from ambulo.configs.vr import NavigationEnvironmentConfig
from ambulo.evaluate.shared.kind import Flag

GODOT_FLAGS = (
    Flag(
        "--godot-url", metavar="URL",
        help="use this running game, such as http://127.0.0.1:8080",
    ),
    Flag("--godot-bin", metavar="PROGRAM", help="Godot program (default: GODOT_BIN)"),
    Flag(
        "--godot-project", metavar="FOLDER",
        help="Godot project (default: that of the checkout)",
    ),
    Flag(
        "--scene", metavar="res://PATH",
        help="scene of the project to play in, instead of levels",
    ),
    Flag(
        "--godot-engines", metavar="N", type=int,
        help="processes that share the environments (default: 1)",
    ),
)  # fmt: skip
"""Where the engines of `--world godot` are."""


def check_godot_flags(
    args: argparse.Namespace, env: NavigationEnvironmentConfig
) -> None:
    """`ConfigError` for engine flags in another world, or more engines than envs."""
    if env.world != "godot":
        names = ["godot_url", "godot_engines", "godot_project", "scene"]
        if getattr(args, "film_with", None) in (None, "mujoco"):
            names.append("godot_bin")
        for name in names:
            if getattr(args, name, None) is not None:
                flag = "--" + name.replace("_", "-")
                raise ConfigError(f"{flag}: needs --world godot, this is {env.world}")
    elif env.godot_engines > env.num_environments:
        raise ConfigError(
            f"--godot-engines {env.godot_engines}: more than the "
            f"{env.num_environments} envs (--num-envs)"
        )
