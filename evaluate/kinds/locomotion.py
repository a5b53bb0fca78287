"""Policies that walk, run or stand."""

from __future__ import annotations

from ambulo.evaluate.shared.kind import EvalKind

KIND = EvalKind(
    kinds=("locomotion",),
    name="walker",
    group="locomotion models",
    run="ambulo.evaluate.locomotion.command:run",
    episodes=100,
    flags=frozenset(
        {
            "backend", "deterministic", "num_envs", "seconds", "push_episodes", "video",
            "impulses", "perturb",
        }
    ),
    baselines="ambulo.evaluate.locomotion.evaluation:BASELINES",
)  # fmt: skip
