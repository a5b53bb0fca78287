"""Agents that navigate in VR."""

from __future__ import annotations

import argparse

from ambulo.evaluate.shared.kind import EvalKind
from ambulo.evaluate.vr.godot_flags import add_godot_flags


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of levels and worlds."""
    group = parser.add_argument_group("VR agents")
    add = group.add_argument
    add("--level-file", metavar="PATH", help="level JSON file or folder of them")
    add(
        "--level-set", metavar="NAMES",
        help="level families with commas between, or one of train, validation, heldout, "
        "places, moving, handmade (default: the model's own families, held-out levels)",
    )  # fmt: skip
    add(
        "--task", metavar="NAME",
        help="navigate, follow, reach or patrol: all episodes have this task (default: "
        "those of the training)",
    )  # fmt: skip
    add(
        "--agents", type=int, metavar="N",
        help="every N episodes share a level, in which the agents see and touch each other "
        "(default: 1; world compiled, body capsule)",
    )  # fmt: skip
    add(
        "--set", metavar="KEY=VALUE", action="append", default=[], dest="overrides",
        help="a setting of actions or environment in place of the training's, such as "
        "actions.snap_turn=30 (repeatable)",
    )  # fmt: skip
    add(
        "--comfort", metavar="C",
        help="where the comfort dial of the agent is, 0 (fast) to 1 (comfortable); several "
        "with commas between give a row each (default: the model's comfort_default)",
    )  # fmt: skip
    add("--world", metavar="NAME", help="kernel (default), mujoco or godot")
    add(
        "--body", metavar="NAME",
        help="capsule, twin, human23 or myolegs (default: that of the training; of a "
        "twin, human23)",
    )  # fmt: skip
    add(
        "--walker", metavar="MODEL",
        help="what moves the legs of a body (default: as in the training)",
    )  # fmt: skip
    add(
        "--film-episode", metavar="N",
        help="with --video: number of the episode as in the rows of --json, from 0, or "
        "worst or best (default: one with a long detour)",
    )  # fmt: skip
    add(
        "--views", metavar="NAMES",
        help="with --video: of chase (from behind), top (from above) and eyes (through "
        "the eyes), with commas between (default: chase,top)",
    )  # fmt: skip
    add(
        "--film-with", metavar="ENGINE",
        help="with --video: mujoco, godot, or both side by side (default: the engine of "
        "--world)",
    )  # fmt: skip
    add_godot_flags(parser)


KIND = EvalKind(
    kinds=("vr_navigation", ""),
    name="VR agent",
    group="VR agents",
    run="ambulo.evaluate.vr.command:run",
    episodes=90,
    flags=frozenset(
        {
            "level_file", "level_set", "world", "body", "walker", "godot_url", "godot_bin",
            "godot_project", "scene", "godot_engines", "deterministic", "num_envs", "video",
            "views", "film_with", "film_episode", "task", "trust_pickle",
            "agents", "comfort", "overrides",
        }
    ),
    baselines="ambulo.envs.vr.planners.planners:PLANNERS",
    add_flags=add_flags,
)  # fmt: skip
