"""`ambulo export`: a model for other programs, or a character as MJCF."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ambulo.common.command_line import Arg, Command, Flags, Output
from ambulo.common.flag_types import OutPath, one_of, positional

SUFFIXES = {"onnx": ".onnx", "json": ".json", "godot": ".ambulo", "godot-rl": ".onnx"}
"""How the file of each target ends."""


@dataclass(frozen=True, kw_only=True)
class ExportFlags(Flags):
    """Write a model so that other programs can run it."""

    model: Annotated[str, positional("MODEL")]
    """model file, run folder, or name of a shipped model; with --mjcf the name of a
    character"""
    out: Annotated[OutPath, Arg("FILE"), Output(".json", ".bin")]
    """FILE.onnx; for navigation agents FILE.json (+ .bin) too, for these, gait networks and
    body trackers FILE.ambulo for Godot; with --mjcf a new folder"""
    target: Annotated[
        str | None,
        Arg("NAME", names=("--target", "--format")),
        one_of(lambda: SUFFIXES, "target"),
    ] = None
    """one of onnx, json, godot, godot-rl (default: as FILE ends)"""
    body: Annotated[str | None, Arg("MODEL")] = None
    """with a navigation agent for Godot: also the character of a gait network, gait_net for
    example, that walks where the agent goes, as FILE_body.ambulo"""
    mjcf: bool = False
    """write a character's MuJoCo model as XML with its assets"""
    trust_pickle: bool = False
    """run the pickled code of a Stable-Baselines3 zip; only for your own files"""


main = Command("ambulo export", ExportFlags, "ambulo.commands.exporting:export")
