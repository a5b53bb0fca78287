"""Policies of the agents of a Godot game."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ambulo.common.command_line import Arg
from ambulo.evaluate.shared.engine_places import EnginePlaceFlags
from ambulo.evaluate.shared.eval_kind import EvalKind


@dataclass(frozen=True, kw_only=True)
class GameEvalFlags(EnginePlaceFlags):
    """Flags of policies of a Godot game."""

    title = "policies of a Godot game"
    demos: Annotated[str | None, Arg("FOLDER")] = None
    """recorded play of a human, for the baseline of this name"""
    opponent: Annotated[str | None, Arg("NAME")] = None
    """of games with teams: scripted (default where the game has a script), random, or another
    model"""


KIND = EvalKind(
    kinds=("game",),
    name="policy of a game",
    group="policies of a game",
    run="ambulo.evaluate.game.command:run",
    episodes=50,
    flags=frozenset({"stochastic", "video"}),
    baselines={
        "random": "uniformly random actions",
        "scripted": "what the game's own script does, if it has one",
        "human": "recorded play (--demos)",
    },
    own=GameEvalFlags,
)  # fmt: skip
