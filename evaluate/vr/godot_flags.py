"""Checks of the flags that say which Godot engines `--world godot` uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ambulo.configs.errors import ConfigError

if TYPE_CHECKING:
    from ambulo.configs.vr import NavigationEnvironmentConfig


def check_godot_flags(args: Any, env: NavigationEnvironmentConfig) -> None:
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
