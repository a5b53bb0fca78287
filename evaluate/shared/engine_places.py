"""Where the Godot engines are that an evaluation uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ambulo.common.command_line import Arg, Flags
from ambulo.common.flag_types import Count


@dataclass(frozen=True, kw_only=True)
class EnginePlaceFlags(Flags):
    """The engines of `--world godot` and of games."""

    title = "engines of --world godot"
    godot_url: Annotated[str | None, Arg("URL")] = None
    """use this running game, such as http://127.0.0.1:8080"""
    godot_bin: Annotated[str | None, Arg("PROGRAM")] = None
    """Godot program (default: GODOT_BIN)"""
    godot_project: Annotated[str | None, Arg("FOLDER")] = None
    """Godot project (default: that of the checkout)"""
    scene: Annotated[str | None, Arg("res://PATH")] = None
    """scene of the project to play in, instead of levels"""
    godot_engines: Count | None = None
    """processes that share the environments (default: 1)"""
