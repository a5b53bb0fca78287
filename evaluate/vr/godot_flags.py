"""The flags that say which Godot engines `--world godot` uses, and their checks."""

from __future__ import annotations

import argparse

from ambulo.configs.errors import ConfigError
from ambulo.configs.vr import NavigationEnvironmentConfig

GODOT_FLAGS: tuple[tuple[str, str, type, str], ...] = (
    ("--godot-url", "URL", str, "use this running game, such as http://127.0.0.1:8080"),
    ("--godot-bin", "PROGRAM", str, "Godot program (default: GODOT_BIN)"),
    ("--godot-project", "FOLDER", str, "Godot project (default: that of the checkout)"),
    (
        "--scene",
        "res://PATH",
        str,
        "scene of the project to play in, instead of levels",
    ),
    ("--godot-engines", "N", int, "processes that share the environments (default: 1)"),
)
"""Name, metavar, type and help of each flag."""


def add_godot_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say where the engines of `--world godot` are."""
    godot = parser.add_argument_group("engines of --world godot")
    for name, metavar, kind, text in GODOT_FLAGS:
        godot.add_argument(name, metavar=metavar, type=kind, help=text)


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
