"""Policies of the agents of a Godot game."""

from __future__ import annotations

import argparse

from ambulo.evaluate.shared.kind import EvalKind


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that only games have."""
    add = parser.add_argument_group("policies of a Godot game").add_argument
    add(
        "--demos", metavar="FOLDER",
        help="recorded play of a human, for the baseline of this name",
    )  # fmt: skip
    add(
        "--opponent", metavar="NAME",
        help="of games with teams: random (default), scripted, or another model",
    )  # fmt: skip


KIND = EvalKind(
    kinds=("game",),
    name="policy of a game",
    group="policies of a game",
    run="ambulo.evaluate.game.command:run",
    episodes=50,
    flags=frozenset(
        {
            "godot_url", "godot_bin", "godot_project", "scene", "godot_engines",
            "deterministic", "demos", "opponent",
        }
    ),
    baselines={
        "random": "uniformly random actions",
        "scripted": "what the game's own script does, if it has one",
        "human": "recorded play (--demos)",
    },
    add_flags=add_flags,
)  # fmt: skip
