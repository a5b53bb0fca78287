"""Pictures of a game: an engine that draws nothing refuses, others film and are shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import imageio.v2 as imageio
import numpy as np
import pytest
from fixtures.game_agents import agent_of

from ambulo.commands.viewing.flags import PlayFlags
from ambulo.commands.viewing.kinds import open_stage
from ambulo.configs.errors import BridgeError, ConfigError, RenderError
from ambulo.configs.godot import GameConfig
from ambulo.envs.godot.agents.game import Game
from ambulo.envs.godot.locate import find_drawing_engine, find_project
from ambulo.evaluate.game.engines import KindsBatch, open_agents, open_drawn
from ambulo.evaluate.game.film import write_game_film
from ambulo.evaluate.game.play import PolicyPlayer, RandomPlayer
from ambulo.policies.agents.game import GameAgent
from ambulo.policies.files.model_file import ModelFile, save_model
from ambulo.viz.picture import pixels
from ambulo.viz.viewer.game_stage import LAYER, GameStage
from ambulo.viz.viewer.snapshot import Picture
from ambulo.viz.viewer.stage import Choice

SCENE = "res://scenes/agents/car.tscn"
pytestmark = pytest.mark.integration


def test_an_engine_that_draws_nothing_says_so(start: Callable[..., Game]) -> None:
    with pytest.raises(BridgeError, match="--headless draws nothing") as caught:
        start("coins").picture()
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def config(godot_program: Path) -> GameConfig:
    """A game of the checkout, where an engine can draw."""
    try:
        find_drawing_engine()
    except RenderError as error:
        pytest.skip(str(error))
    return GameConfig(godot_project=str(find_project()), scene=SCENE)


@pytest.fixture(scope="module")
def agent(config: GameConfig) -> GameAgent:
    """Untrained policies of the agents of that game."""
    batch = open_agents(config, seed=0)
    batch.close()
    return agent_of(*batch.kinds, scene=SCENE)


def test_an_episode_is_filmed(
    agent: GameAgent, config: GameConfig, tmp_path: Path
) -> None:
    batch = open_drawn(agent, config.replace(max_episode_steps=6), "model", seed=0)
    random = RandomPlayer(0, agent.policy.width)
    path = tmp_path / "game.mp4"
    write_game_film(path, batch, PolicyPlayer(agent), random)
    frames = sum(1 for _ in imageio.get_reader(path))  # its length is infinite
    hold = round(0.6 / batch.game.spec.step_seconds)
    assert hold < frames <= 6 + hold
    assert batch.game.pids == []


def test_the_viewer_shows_the_game(
    agent: GameAgent, config: GameConfig, tmp_path: Path
) -> None:
    model, film = tmp_path / "model.zip", tmp_path / "film.gif"
    save_model(model, ModelFile(agent.metadata, agent.policy.state_dict()))
    with pytest.raises(ConfigError, match="add --godot-project"):
        open_stage(PlayFlags(model=str(model)))
    flags = PlayFlags(model=str(model), godot_project=config.godot_project)
    stage = open_stage(flags)
    assert isinstance(stage, GameStage)
    first = stage.reset()
    for _ in range(4):
        last = stage.step()
    before, after = first.parts[LAYER], last.parts[LAYER]
    assert isinstance(before, Picture)
    assert isinstance(after, Picture)
    assert np.any(pixels(before.data) != pixels(after.data))
    wanted = {f"{plot.name}/{name}" for plot in stage.plots() for name in plot.series}
    assert wanted <= last.values.keys()
    (choice,) = stage.controls()["Agents"]
    assert isinstance(choice, Choice)
    choice.change("random")
    stage.step()
    write = stage.film()
    assert write is not None
    write(film)
    assert len(list(imageio.get_reader(film))) == 6
    batch = stage.batch
    assert isinstance(batch, KindsBatch)
    pids = batch.game.pids
    stage.close()
    assert pids
    assert batch.game.pids == []
