"""A user's own Godot game as Gymnasium environments: one agent, and all agents of one kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from ambulo.configs.errors import ConfigError
from ambulo.envs.godot.agents.game import Game
from ambulo.envs.godot.agents.game_batch import GameBatch
from ambulo.envs.godot.agents.link import GameSettings
from ambulo.envs.gym_batch_env import GymBatchEnv, check_many, first_row
from ambulo.envs.single_env import SingleEnv


def game_settings(
    project: str | None = None,
    scene: str | None = None,
    *,
    url: str | None = None,
    godot_bin: str | None = None,
    action_repeat: int | None = None,
    speed_up: int | None = None,
    headless: bool = True,
    strict: bool | None = None,
    timeout: float = 30.0,
) -> GameSettings:
    """Where a game comes from and how it is stepped.

    Args:
        project: folder of the Godot project, its exported `.pck` or program.
        scene: "res://..."; None: the one that the project starts with.
        url: a running game instead, such as http://127.0.0.1:8080.
        godot_bin: Godot program; None: see `find_engine`.
        action_repeat: physics ticks of a step; None: as the scene says, or 8.
        speed_up: physics ticks of a frame; None: as the scene says, or 1.
        headless: draw nothing; false for agents with cameras, see `find_drawing_engine`.
        strict: whether any script error ends the game; None: unless it is a godot-rl game.
        timeout: longest step, [s].

    Raises:
        ConfigError: neither project nor url, both, or a number out of its range.
    """
    if (project is None) == (url is None):
        raise ConfigError("name a game with project=FOLDER, or a running one with url=")
    return GameSettings(
        url=url,
        binary=godot_bin,
        project=None if project is None else str(project),
        scene=scene,
        timeout=timeout,
        action_repeat=action_repeat,
        speed_up=speed_up,
        headless=headless,
        strict=strict,
    )


class GodotEnv(SingleEnv):
    """The only agent of a Godot scene.

    Spaces are those of the scene: `observation_space` is a Box for one part, else a Dict;
    `action_space` a Box, Discrete, MultiDiscrete, or a Dict of both sorts. The episode's seed
    reaches the agent's `reset(episode_seed)` and the engine's random numbers. An episode
    terminates when the agent says so, and is truncated by its `max_steps`, its
    `is_truncated`, or where the engine fails (`bridge_fault`). `info` has `is_success`,
    `reward/<term>` and what else `get_info` gives. Agents are made as docs/godot_agents.md
    says.
    """

    metadata = {"render_modes": []}  # noqa: RUF012
    batch: GameBatch

    def __init__(
        self,
        project: str | None = None,
        scene: str | None = None,
        *,
        kind: str | None = None,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        """Start the game; `settings` are those of `game_settings`.

        Raises:
            ConfigError: the scene has several agents, or a setting cannot be used.
            BridgeError: no engine, no such scene, or agents that break a rule.
        """
        self._check_render_mode(render_mode)
        game = Game(game_settings(project, scene, **settings))
        try:
            self.batch = GameBatch(game, kind)
            if self.batch.num_envs != 1:
                raise ConfigError(
                    f"scene {game.spec.scene} has {self.batch.num_envs} agents of the kind "
                    f"'{self.batch.kind.name}': use gymnasium.make_vec with num_envs="
                    f"{self.batch.num_envs}"
                )
        except BaseException:
            game.close()
            raise
        self.observation_space = self.batch.kind.observation_space
        self.action_space = self.batch.kind.action_space

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One environment step; `ActionError` for a wrong shape or non-finite values."""
        return super().step(self.batch.kind.flatten(action)[0])

    def close(self) -> None:
        """End the engine."""
        self.batch.close()

    def _step_limit(self) -> int | None:
        return None  # the agent keeps its own

    def _observation(self) -> Any:
        return first_row(self.batch.kind.split(self.batch.obs))


class GodotVectorEnv(GymBatchEnv):
    """All agents of one kind in a Godot scene, in as many engines as `num_envs` needs.

    See `GodotEnv` and `GymBatchEnv`. A scene with 16 agents makes `num_envs` 16, 32, ...
    """

    batch: GameBatch

    def __init__(
        self,
        num_envs: int = 1,
        project: str | None = None,
        scene: str | None = None,
        *,
        kind: str | None = None,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **settings: Any,
    ) -> None:
        """Start the engines; `settings` are those of `game_settings`.

        Raises:
            ConfigError: `num_envs` is no multiple of the agents in the scene, or a setting
                cannot be used.
            BridgeError: no engine, no such scene, or agents that break a rule.
        """
        check_many(num_envs, render_mode)
        game = Game(game_settings(project, scene, **settings))
        try:
            agents = game.spec.kinds[game.kind_index(kind)]
            if num_envs % agents.count:
                raise ConfigError(
                    f"num_envs = {num_envs}: scene {game.spec.scene} has {agents.count} "
                    f"agents of the kind '{agents.name}', must be a multiple of that"
                )
            game.grow(num_envs // agents.count)
            super().__init__(
                GameBatch(game, kind),
                agents.observation_space,
                agents.action_space,
                autoreset_mode=autoreset_mode,
                split=agents.split,
            )
        except BaseException:
            game.close()
            raise

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Advance every agent by one step."""
        return super().step(self.batch.kind.flatten(actions))

    def _step_limit(self) -> int | None:
        return None  # the agents keep their own


def sample_rows(env: GodotEnv | GodotVectorEnv) -> np.ndarray[Any, Any]:
    """Random actions of all agents as rows (N, action_size), for random baselines."""
    space = env.batch.kind.action_space
    return np.concatenate(
        [env.batch.kind.flatten(space.sample()) for _ in range(env.batch.num_envs)]
    )
