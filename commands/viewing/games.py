"""Stages of the policies of a Godot game."""

from __future__ import annotations

from pathlib import Path

from ambulo.commands.viewing.flags import PlayFlags
from ambulo.evaluate.game.engines import open_drawn, placed_config
from ambulo.evaluate.game.play import Player, PolicyPlayer, RandomPlayer, ScriptedPlayer
from ambulo.policies.agents.game import load_game_agent
from ambulo.viz.viewer.game_stage import GameStage


def game_stage(file: Path, flags: PlayFlags) -> GameStage:
    """Return the stage of the policies of a game, which is started.

    Raises:
        ConfigError: The model file does not say where the game is.
        RenderError: No engine can draw.
        BridgeError: No such game.
        ModelFileError: The game has other agents.
    """
    agent = load_game_agent(file)
    config = placed_config(agent, file, {"godot_project": flags.godot_project})
    batch = open_drawn(agent, config.environment, str(file), seed=flags.seed)
    width = agent.policy.width
    players: dict[str, Player] = {"policy": PolicyPlayer(agent)}
    if batch.has_script:
        players["scripted"] = ScriptedPlayer(width)
    players["random"] = RandomPlayer(flags.seed, width)
    game = batch.game
    return GameStage(
        batch, players, game.picture, game.spec.step_seconds, f"{file.stem}: plays",
        flags.seed,
    )  # fmt: skip
