"""Policies that walk, run or stand."""

from __future__ import annotations

from ambulo.evaluate.shared.kind import EvalKind, Flag

KIND = EvalKind(
    kinds=("locomotion",),
    name="walker",
    group="locomotion models",
    run="ambulo.evaluate.locomotion.command:run",
    episodes=100,
    shared=frozenset(
        {
            "backend", "deterministic", "num_envs", "seconds", "push_episodes", "video",
            "impulses", "perturb",
        }
    ),
    baselines="ambulo.evaluate.locomotion.evaluation:BASELINES",
    own=(
        Flag(
            "--trials", nargs="?", const="all", metavar="NAMES",
            help="trials, with commas between: envelope, stops, walls, pushes, sweeps, "
            "reaches (default: all of them)",
        ),
    ),
)  # fmt: skip
