"""Policies that walk, run or stand."""

from __future__ import annotations

import argparse

from ambulo.evaluate.shared.kind import EvalKind


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of pushes and perturbations."""
    add = parser.add_argument_group("walkers").add_argument
    add(
        "--impulses", metavar="LIST",
        help="impulses of the pushes, [N s], with commas between (default: 0 to 90 in "
        "steps of 15)",
    )  # fmt: skip
    add(
        "--perturb", nargs="?", const="all", metavar="NAMES",
        help="also under perturbations: friction, mass, delay, steps, slopes, start, with "
        "commas between (default: all of them)",
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
            "impulses", "perturb",
        }
    ),
    baselines="ambulo.evaluate.locomotion.evaluation:BASELINES",
    add_flags=add_flags,
)  # fmt: skip
