"""Agents that navigate in VR."""

from __future__ import annotations

from ambulo.evaluate.shared.kind import EvalKind, Flag
from ambulo.evaluate.vr.godot_flags import GODOT_FLAGS

KIND = EvalKind(
    kinds=("vr_navigation", ""),
    name="VR agent",
    group="VR agents",
    run="ambulo.evaluate.vr.command:run",
    episodes=90,
    shared=frozenset({"deterministic", "num_envs", "video", "trust_pickle"}),
    baselines="ambulo.envs.vr.planners.planners:PLANNERS",
    own=(
        Flag("--level-file", metavar="PATH", help="level JSON file or folder of them"),
        Flag(
            "--level-set", metavar="NAMES",
            help="level families with commas between, or one of train, validation, heldout, "
            "places, moving, handmade (default: the model's own families, held-out levels)",
        ),
        Flag(
            "--task", metavar="NAME",
            help="navigate, follow, reach or patrol: all episodes have this task (default: "
            "those of the training)",
        ),
        Flag(
            "--agents", type=int, metavar="N",
            help="every N episodes share a level, in which the agents see and touch each other "
            "(default: 1; world compiled, body capsule)",
        ),
        Flag(
            "--set", metavar="KEY=VALUE", action="append", default=[], dest="overrides",
            help="a setting of actions or environment in place of the training's, such as "
            "actions.snap_turn=30 (repeatable)",
        ),
        Flag(
            "--comfort", metavar="C",
            help="where the comfort dial of the agent is, 0 (fast) to 1 (comfortable); several "
            "with commas between give a row each (default: the model's comfort_default)",
        ),
        Flag("--world", metavar="NAME", help="kernel (default), mujoco or godot"),
        Flag(
            "--body", metavar="NAME",
            help="capsule, twin, human23 or myolegs (default: that of the training; of a "
            "twin, human23)",
        ),
        Flag(
            "--walker", metavar="MODEL",
            help="what moves the legs of a body (default: as in the training)",
        ),
        Flag(
            "--film-episode", metavar="N",
            help="with --video: number of the episode as in the rows of --json, from 0, or "
            "worst or best (default: one with a long detour)",
        ),
        Flag(
            "--views", metavar="NAMES",
            help="with --video: of chase (from behind), top (from above) and eyes (through "
            "the eyes), with commas between (default: chase,top)",
        ),
        Flag(
            "--film-with", metavar="ENGINE",
            help="with --video: mujoco, godot, or both side by side (default: the engine of "
            "--world)",
        ),
        *GODOT_FLAGS,
    ),
)  # fmt: skip
