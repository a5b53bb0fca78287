"""Agents that navigate in VR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ambulo.common.command_line import Arg
from ambulo.common.flag_types import Assignments
from ambulo.evaluate.shared.engine_places import EnginePlaceFlags
from ambulo.evaluate.shared.eval_kind import EvalKind


@dataclass(frozen=True, kw_only=True)
class NavigationEvalFlags(EnginePlaceFlags):
    """Flags of VR agents."""

    title = "VR agents"
    level_file: Annotated[str | None, Arg("PATH")] = None
    """level JSON file or folder of them"""
    level_set: Annotated[str | None, Arg("NAMES")] = None
    """level families with commas between, or one of train, validation, heldout, places,
    moving, handmade (default: the model's own families, held-out levels)"""
    task: Annotated[str | None, Arg("NAME")] = None
    """navigate, follow, reach or patrol: all episodes have this task (default: those of the
    training)"""
    agents: int | None = None
    """every N episodes share a level, in which the agents see and touch each other (default:
    1; world compiled, body capsule)"""
    overrides: Annotated[Assignments, Arg("KEY=VALUE", ("--set",), repeated=True)] = ()
    """a setting of actions or environment in place of the training's, such as
    actions.snap_turn=30 (repeatable)"""
    comfort: Annotated[str | None, Arg("C")] = None
    """where the comfort dial of the agent is, 0 (fast) to 1 (comfortable); several with
    commas between give a row each (default: the model's comfort_default)"""
    world: Annotated[str | None, Arg("NAME")] = None
    """compiled (default), mujoco or godot"""
    body: Annotated[str | None, Arg("NAME")] = None
    """capsule, twin, human23 or myolegs (default: that of the training; of a twin, human23)"""
    walker: Annotated[str | None, Arg("MODEL")] = None
    """what moves the legs of a body (default: as in the training)"""
    film_episode: Annotated[str | None, Arg("N")] = None
    """with --video: number of the episode as in the rows of --json, from 0, or worst or best
    (default: one with a long detour)"""
    views: Annotated[str | None, Arg("NAMES")] = None
    """with --video: of chase (from behind), top (from above) and eyes (through the eyes),
    with commas between (default: chase,top)"""
    film_with: Annotated[str | None, Arg("ENGINE")] = None
    """with --video: mujoco, godot, or both side by side (default: the engine of --world)"""


KIND = EvalKind(
    kinds=("vr_navigation", ""),
    name="VR agent",
    group="VR agents",
    run="ambulo.evaluate.vr.command:run",
    episodes=90,
    flags=frozenset({"stochastic", "num_envs", "video", "trust_pickle"}),
    baselines="ambulo.envs.vr.planners.planners:PLANNERS",
    own=NavigationEvalFlags,
)  # fmt: skip
