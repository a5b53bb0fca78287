"""Policies that walk, run or stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ambulo.common.command_line import Arg, Flags
from ambulo.evaluate.shared.eval_kind import EvalKind


@dataclass(frozen=True, kw_only=True)
class WalkerEvalFlags(Flags):
    """Flags of walkers of the task walk_commands."""

    title = "for walkers of the task walk_commands"
    trials: Annotated[str | None, Arg("NAMES", bare="all")] = None
    """trials, with commas between: envelope, stops, walls, pushes, sweeps, reaches (default:
    all of them)"""


KIND = EvalKind(
    kinds=("locomotion",),
    name="walker",
    group="locomotion models",
    run="ambulo.evaluate.locomotion.command:run",
    episodes=100,
    flags=frozenset(
        {
            "backend", "stochastic", "num_envs", "seconds", "push_episodes", "video",
            "impulses", "perturb",
        }
    ),
    baselines="ambulo.evaluate.locomotion.evaluation:BASELINES",
    own=WalkerEvalFlags,
)  # fmt: skip
