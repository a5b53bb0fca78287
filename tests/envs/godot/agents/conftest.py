"""A game with agents of its own, imported once; games that end with their test."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fixtures.godot_projects import import_once

from ambulo.envs.godot.agents.game import Game
from ambulo.envs.godot.agents.link import GameSettings
from ambulo.envs.godot.locate import find_project


@pytest.fixture(scope="session")
def agents_game(godot_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of `game/` with the add-on."""
    folder = tmp_path_factory.mktemp("agents") / "game"
    shutil.copytree(Path(__file__).parent / "game", folder)
    shutil.copytree(
        find_project() / "addons" / "ambulo_rl", folder / "addons" / "ambulo_rl"
    )
    import_once(godot_program, folder, tmp_path_factory)
    return folder


@pytest.fixture
def start(agents_game: Path, tmp_path: Path) -> Iterator[Callable[..., Game]]:
    """Starts a game in a scene of `agents_game`."""
    games: list[Game] = []

    def begin(scene: str, engines: int = 1, **settings: object) -> Game:
        made = GameSettings(
            project=str(agents_game),
            scene=f"res://{scene}.tscn",
            log_folder=tmp_path / "logs",
            **settings,  # type: ignore[arg-type]
        )
        games.append(Game(made, engines))
        return games[-1]

    yield begin
    for game in games:
        game.close()
