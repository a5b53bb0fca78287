"""The agents of a game, opened: engines are started, or a running one is attached to."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.common.run_folder import RunFolder
from ambulo.configs.agent_spec import AgentSpec
from ambulo.configs.base import load_json
from ambulo.configs.choices import ENGINE_PLACES
from ambulo.configs.errors import AmbuloError, ConfigError, ModelFileError
from ambulo.configs.godot import GameConfig, GodotConfig
from ambulo.envs.godot.agents.game import Game, GameStep
from ambulo.envs.godot.agents.game_batch import GameBatch
from ambulo.envs.godot.agents.link import GameSettings
from ambulo.envs.godot.agents.spec import Rows
from ambulo.envs.godot.agents.wire import Restarts
from ambulo.envs.godot.locate import find_drawing_engine, find_project, is_program
from ambulo.policies.agents.game import GameAgent

log = logging.getLogger(__name__)

TEAM = "@"
"""Kinds whose names differ behind it are the teams of one kind, and share a policy."""


class KindsBatch(GameBatch):
    """All agents of all kinds of a game; see `AgentsBatch`.

    Rows are those of the first kind of the scene in all engines, then those of the second.
    """

    def __init__(self, game: Game, max_steps: int | None = None) -> None:
        """The agents of `game`, which it closes; episodes of `max_steps` are truncated.

        Raises:
            ConfigError: teams of a kind whose agents differ.
        """
        self.game = game
        found: dict[str, AgentSpec] = {}
        indices: list[tuple[int, int]] = []
        teams: dict[str, int] = {}
        for own in game.spec.kinds:
            name = own.name.partition(TEAM)[0]
            spec = own.spec.replace(name=name)
            if found.setdefault(name, spec) != spec:
                raise ConfigError(
                    f"scene {game.spec.scene}: kind {own.name!r} is another team of "
                    f"{name!r} and must observe and do the same"
                )
            teams[name] = teams.get(name, -1) + 1
            indices.append((list(found).index(name), teams[name]))
        self.kinds = tuple(found.values())
        places = [game.rows(index) for index in range(len(indices))]
        counts = [place.stop - place.start for place in places]
        self.kind: Any = np.repeat([kind for kind, _ in indices], counts)
        self.team = np.repeat([team for _, team in indices], counts)
        engines = [
            np.repeat(np.arange(game.engines), kind.count) for kind in game.spec.kinds
        ]
        self.engine = np.concatenate(engines)
        self._places, self._kinds = places, [kind for kind, _ in indices]
        self._max_steps = max_steps
        self.action_repeat = game.spec.action_repeat
        self.has_script = all(kind.scripted for kind in game.spec.kinds)
        self.says_success = np.zeros(len(self.kinds), np.bool_)
        size = max(kind.observation_size for kind in self.kinds)
        self._allocate(places[-1].stop, 1 + size)
        self.obs[:, 0] = self._next_obs[:, 0] = self.kind
        width = max(kind.action_width for kind in self.kinds)
        self._least = np.zeros((self.num_envs, width), np.float32)
        self._most = self._least.copy()
        for index, kind in enumerate(self.kinds):
            for part in kind.action:
                where = kind.action_slices()[part.name]
                least, most = (-1, 1) if part.choices is None else (0, part.choices - 1)
                self._least[self.kind == index, where] = least
                self._most[self.kind == index, where] = most

    @property
    def layout(self) -> None:
        """Errors of a game name the parts themselves."""
        return

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return nothing: a game keeps its state to itself."""
        return {}

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Put nothing back."""

    def step(self, actions: NDArray[np.generic]) -> Any:
        """Advance every agent by one step; see `GameBatch.step`."""
        obs, reward, terminated, truncated, info = super().step(actions)
        if self._max_steps is not None:
            truncated = truncated | (
                (self.episode.steps >= self._max_steps) & ~terminated
            )
        if "is_success" not in info:
            info = {**info, "is_success": np.zeros(self.num_envs, np.bool_)}
        return obs, reward, terminated, truncated, info

    def _everyone(self, own: Restarts, others: int) -> Restarts:
        return own

    def _of_own(self, values: NDArray[Any]) -> NDArray[Any]:
        return values

    def _by_kind(self, rows: Rows) -> list[Rows]:
        kinds = zip(self.game.spec.kinds, self._places, strict=True)
        return [rows[place, : own.action_size] for own, place in kinds]

    def _put(self, target: Rows, parts: Sequence[Rows]) -> None:
        for place, part in zip(self._places, parts, strict=True):
            target[place, 1 : 1 + part.shape[1]] = part

    def _infos(self, step: GameStep) -> dict[str, NDArray[Any]]:
        """The infos of all kinds; zeros where a kind says nothing."""
        result: dict[str, NDArray[Any]] = {}
        for kind, place, infos in zip(
            self._kinds, self._places, step.infos, strict=True
        ):
            self.says_success[kind] |= "is_success" in infos
            for name, values in infos.items():
                if name not in result:
                    result[name] = np.zeros(self.num_envs, values.dtype)
                result[name][place] = values
        return result

    def _checked(self, actions: NDArray[np.generic]) -> Rows:
        """Clip the actions of each kind to its bounds; NaN stays."""
        rows = np.maximum(np.asarray(actions, np.float32), self._least)
        return np.minimum(rows, self._most, out=rows)


def open_agents(
    config: GameConfig, *, seed: int, log_folder: Path | None = None
) -> KindsBatch:
    """Return the agents of a game, not yet reset.

    Args:
        config: Where it is, and how it is stepped.
        seed: Of the first agent; the others have the next ones.
        log_folder: Folder of the engines' logs; None: a temporary one.

    Raises:
        BridgeError: No engine, no such scene, or agents that break a rule.
    """
    settings = GameSettings(
        url=config.godot_url,
        binary=config.godot_bin,
        project=config.godot_project,
        scene=config.scene,
        timeout=config.godot_timeout,
        max_failures=config.godot_max_failures,
        log_folder=log_folder,
        headless=config.headless,
        action_repeat=config.action_repeat,
        speed_up=config.speed_up,
    )
    game = Game(settings, config.godot_engines)
    try:
        batch = KindsBatch(game, config.max_episode_steps)
        batch.seed([seed + row for row in range(batch.num_envs)])
    except BaseException:
        game.close()
        raise
    return batch


def check_drawing(config: GameConfig) -> None:
    """Refuse a game that is to be started where no engine can draw.

    Raises:
        RenderError: No such engine.
        BridgeError: No project.
    """
    if config.godot_url is None and not is_program(find_project(config.godot_project)):
        find_drawing_engine(config.godot_bin)


def open_drawn(
    agent: GameAgent, config: GameConfig, source: str, *, seed: int
) -> KindsBatch:
    """Return the agents of a game in one engine that draws; see `open_agents`.

    Args:
        agent: What will act.
        config: Where the game is; a running one must draw.
        source: Begins the error of a game with other agents.
        seed: Of the first agent.

    Raises:
        RenderError: No engine can draw.
        ModelFileError: The game has other agents than `agent`.
    """
    batch = open_agents(config.replace(headless=False, godot_engines=1), seed=seed)
    try:
        check_kinds(agent.kinds, batch.kinds, source)
    except BaseException:
        batch.close()
        raise
    return batch


def placed_config(
    agent: GameAgent, file: Path, given: Mapping[str, Any]
) -> GodotConfig:
    """Return the settings of an agent's training with the place of its game.

    Args:
        agent: The agent.
        file: Its model file; the run folder around it knows the game.
        given: Settings of `environment` that replace those, where they are not None.

    Raises:
        ConfigError: Neither says where the game is.
    """
    config, folder = agent.config, RunFolder.around(file)
    if folder is not None:
        try:
            stored = load_json(GodotConfig, folder.config).environment
        except AmbuloError as error:
            log.warning("%s", error)
        else:
            places = {key: getattr(stored, key) for key in ENGINE_PLACES}
            config = config.override("environment", **places)
    chosen = {key: value for key, value in given.items() if value is not None}
    config = config.override("environment", **chosen)
    if (
        config.environment.godot_project is None
        and config.environment.godot_url is None
    ):
        raise ConfigError(
            f"{file}: model files do not say where the game is: add --godot-project FOLDER"
        )
    return config


def check_kinds(
    ours: Sequence[AgentSpec], theirs: Sequence[AgentSpec], source: str
) -> None:
    """Raise `ModelFileError` where a game has other agents than a model was trained with.

    Args:
        ours: Kinds of the model.
        theirs: Kinds of the game.
        source: Begins the error.
    """
    known = {kind.name: kind for kind in theirs}
    for kind in ours:
        if kind.name not in known:
            names = ", ".join(known)
            raise ModelFileError(f"{source}: plays {kind.name!r}, the game has {names}")
        if kind != known[kind.name]:
            raise ModelFileError(
                f"{source}: {kind.name!r} was trained with {_text(kind)}, "
                f"the game has {_text(known[kind.name])}"
            )
    if tuple(ours) != tuple(theirs):
        raise ModelFileError(
            f"{source}: plays {', '.join(k.name for k in ours)} in this order, the game "
            f"has {', '.join(known)}"
        )


def _text(kind: AgentSpec) -> str:
    seen = ", ".join(f"{part.name}{list(part.shape)}" for part in kind.observation)
    acted = ", ".join(f"{part.name}[{part.outputs}]" for part in kind.action)
    return f"{seen} -> {acted}"
