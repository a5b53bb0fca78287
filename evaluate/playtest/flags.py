"""Flags of `ambulo playtest`: levels, agents, and the faults that a level may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from ambulo.common.command_line import Arg, Flags
from ambulo.common.flag_types import (
    Count,
    Duration,
    Fraction,
    JsonFile,
    NaturalNumber,
    Seed,
    at_least,
    positional,
    within,
)
from ambulo.configs.errors import ConfigError
from ambulo.configs.playtest import MIN_AREA

EXPORT_ENDING = ".ambulo_scene.json"
"""Files that the add-on's button "Export for Ambulo" writes."""


@dataclass(frozen=True, kw_only=True)
class PlaytestFlags(Flags):
    """Let agents walk through levels, and report what a level designer needs to know.

    Sealed areas, coverage, stuck spots, travel times, collisions and discomfort.
    """

    levels: Annotated[str, positional("LEVEL_OR_SCENE")]
    """level file, folder of level files, or scene of a Godot project (res://x.tscn, its
    file, or what the editor has exported)"""
    agents: Count = 200
    """journeys in each level"""
    agent: Annotated[str, Arg("NAME")] = "vr_navigation"
    """shipped model, model file, or a planner: planner, dwa, potential, straight, random,
    oracle"""
    out: Annotated[str | None, Arg("FOLDER")] = None
    """folder of the report and the numbers; an earlier report stays (default: playtest_1,
    playtest_2, ...)"""
    compare: Annotated[str | None, Arg("OTHER")] = None
    """another version: level, folder or scene"""
    godot_project: Annotated[str | None, Arg("FOLDER")] = None
    """of a scene (default: around it)"""
    godot_bin: Annotated[str | None, Arg("PROGRAM")] = None
    """the Godot program"""
    obstacle_mask: Annotated[int | None, within(1, 2**32 - 1)] = None
    """collision layers of a scene's floors and obstacles, a bit each (default: 1)"""
    ignore_script_errors: bool = False
    """go on when a script of a scene fails"""
    eye_height: Annotated[float | None, Arg("M")] = None
    """of the agents, [m]; their bodies scale with it (default: 1.6, or the model's)"""
    seed: Seed = 0
    """seed of everything random"""
    journeys: Literal["auto", "random"] = "auto"
    """auto: between the level's own starts and goals where it has some; random: between
    random places"""
    seconds: Duration | None = None
    """time for a journey, [s]"""
    min_success: Annotated[
        Fraction, Arg("P", names=("--min-success", "--fail-below"))
    ] = 0.8
    """problem if a smaller fraction of journeys succeeds"""
    max_sealed: NaturalNumber = 0
    """problem if there are more sealed areas"""
    max_stuck: NaturalNumber = 0
    """problem if there are more places where 10 % of the agents are stuck"""
    min_coverage: Annotated[Fraction, Arg("P")] = 0.0
    """problem if paths come near to a smaller fraction of the floor"""
    min_area: Annotated[float, Arg("M2"), at_least(0.0)] = MIN_AREA
    """smaller unreachable parts of the floor are ignored, [m^2]"""
    no_report: bool = False
    """write the numbers without the page"""
    num_envs: Count = 64
    """agents at once"""
    json: JsonFile | None = None
    """what playtest.json holds, to FILE or to standard output"""
    trust_pickle: bool = False
    """let a Stable-Baselines3 zip run its pickle; only for files of your own"""

    def __post_init__(self) -> None:
        """Refuse flags of scenes with levels."""
        super().__post_init__()
        given = {
            "--godot-project": self.godot_project is not None,
            "--obstacle-mask": self.obstacle_mask is not None,
            "--ignore-script-errors": self.ignore_script_errors,
        }
        for flag in (flag for flag in given if given[flag]):
            if any(is_scene(named) for named in (self.levels, self.compare or "")):
                return
            raise ConfigError(
                f"{flag}: is for scenes of a Godot project, not for levels"
            )


def is_scene(named: str) -> bool:
    """Whether `named` is a scene rather than a level file or a folder."""
    from ambulo.envs.godot.scene_export import SCENE_ENDINGS  # slow to import

    endings = (*SCENE_ENDINGS, EXPORT_ENDING)
    return named.startswith("res://") or named.lower().endswith(endings)
