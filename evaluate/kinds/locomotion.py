"""Policies that walk, run or stand."""

from __future__ import annotations

import argparse

from ambulo.evaluate.shared.kind import EvalKind


def _add_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group(
        "for walkers of the task walk_commands"
    ).add_argument
    add(
        "--trials", nargs="?", const="all", metavar="NAMES",
        help="trials, with commas between: envelope, stops, walls, pushes, sweeps, "
        "reaches (default: all of them)",
    )  # fmt: skip


KIND = EvalKind(
    kinds=("locomotion",),
    name="walker",
    group="locomotion models",
    run="ambulo.evaluate.locomotion.command:run",
    episodes=100,
    flags=frozenset(
        {
            "backend", "deterministic", "num_envs", "seconds", "push_episodes", "video",
            "impulses", "perturb", "trials",
        }
    ),
    baselines="ambulo.evaluate.locomotion.evaluation:BASELINES",
    add_flags=_add_flags,
)  # fmt: skip
