"""Policies of the agents of a Godot game."""

from __future__ import annotations

from ambulo.evaluate.shared.kind import EvalKind, Flag

KIND = EvalKind(
    kinds=("game",),
    name="policy of a game",
    group="policies of a game",
    run="ambulo.evaluate.game.command:run",
    episodes=50,
    shared=frozenset(
        {
            "godot_url", "godot_bin", "godot_project", "scene", "godot_engines",
            "deterministic",
        }
    ),
    baselines={
        "random": "uniformly random actions",
        "scripted": "what the game's own script does, if it has one",
        "human": "recorded play (--demos)",
    },
    own=(
        Flag(
            "--demos", metavar="FOLDER",
            help="recorded play of a human, for the baseline of this name",
        ),
        Flag(
            "--opponent", metavar="NAME",
            help="of games with teams: random (default), scripted, or another model",
        ),
    ),
)  # fmt: skip
