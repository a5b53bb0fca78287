"""VR navigation of several agents in one level, as a PettingZoo parallel environment.

It needs the package pettingzoo (`pip install 'ambulo[multi]'`).

>>> from ambulo.envs.vr.parallel import parallel_env
>>> env = parallel_env(num_agents=3, level="open", levels_per_family=1)
>>> observations, infos = env.reset(seed=1)
>>> env.agents
['agent_0', 'agent_1', 'agent_2']
>>> env.close()
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ambulo.configs.errors import ActionError, AmbuloError, ConfigError
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.compiling import log_compilation
from ambulo.envs.vr.task.build import make_batch
from ambulo.envs.vr.task.drawing import BatchRenderer
from ambulo.envs.vr.task.env import (
    action_space,
    navigation_config,
    observation_space,
    split_observation,
)
from ambulo.envs.vr.task.reward import load_custom_terms
from ambulo.envs.vr.world.actions import DISCRETE_ACTIONS

try:
    from pettingzoo import ParallelEnv
    from pettingzoo.utils.conversions import parallel_to_aec
except ImportError as error:
    raise ImportError(
        f"several agents need the package {error.name}: pip install 'ambulo[multi]'",
        name=error.name,
    ) from None

AGENTS = 2
"""Default number of agents."""
_IDLE = DISCRETE_ACTIONS.index("idle")
STATE_COLUMNS = 12
"""Columns of one agent in `VRNavigationParallel.state`."""

log_compilation()


def parallel_env(
    config: NavigationConfig | Mapping[str, Any] | None = None,
    num_agents: int | None = None,
    render_mode: str | None = None,
    **settings: Any,
) -> VRNavigationParallel:
    """Several agents in one level, all of which act in every step.

    Args:
        config: Start from this (or from its JSON data) instead of the defaults of
            `ambulo/VRNavigation-v0`.
        num_agents: Number of agents; None: `environment.agents` of `config`, or else 2.
        render_mode: "rgb_array" or None.
        **settings: Keywords of `gymnasium.make("ambulo/VRNavigation-v0")`.

    Raises:
        ConfigError: A name is unknown, a value is invalid, or agents cannot meet in the world.
    """
    return VRNavigationParallel(config, num_agents, render_mode, **settings)


def env(**settings: Any) -> Any:
    """`parallel_env` with the same arguments, in which agents act one after another (AEC)."""
    return parallel_to_aec(parallel_env(**settings))


class VRNavigationParallel(ParallelEnv[str, Any, Any]):  # type: ignore[misc]
    """Agents walk to their goals in one level, where they see and touch each other.

    Observation, action, tasks, rewards and `info` of each agent are those of
    `ambulo/VRNavigation-v0`. Rays detect the others as bodies of 0.25 m radius; touching one is
    a collision with a person (`people_collisions`). Agents begin at least 1 m from each other;
    each has its own start, and one of the level's two goals. An agent that reaches its goal or
    falls leaves `agents` and the level; the others go on.

    With a seed, `reset` gives the same episode for the same number of agents.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "name": "vr_navigation_v0",
        "render_modes": ["rgb_array"],
        "render_fps": 10,
        "is_parallelizable": True,
    }

    def __init__(
        self,
        config: NavigationConfig | Mapping[str, Any] | None = None,
        num_agents: int | None = None,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        """See `parallel_env`."""
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ConfigError(
                f"render_mode = {render_mode!r}: must be 'rgb_array' or None"
            )
        self.render_mode = render_mode
        self.config = _with_agents(navigation_config(config, **settings), num_agents)
        count = self.config.environment.agents
        self.batch = make_batch(
            self.config,
            count,
            custom_terms=load_custom_terms(self.config.rewards.custom),
        )
        self.batch.rngs = [np.random.default_rng() for _ in range(count)]
        self.possible_agents = [f"agent_{index}" for index in range(count)]
        self.agents: list[str] = []
        self._index = {name: index for index, name in enumerate(self.possible_agents)}
        layout, form = self.batch.layout, self.config.observations.format
        self.observation_spaces = {
            name: observation_space(layout, form) for name in self.possible_agents
        }
        self.action_spaces = {
            name: action_space(self.config) for name in self.possible_agents
        }
        self.state_space = spaces.Box(
            -np.inf, np.inf, (count * STATE_COLUMNS,), np.float32
        )
        self._renderer = BatchRenderer(self.batch)
        self._begun = False

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Space of the observations of `agent`."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Space of the actions of `agent`."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Begin an episode of all agents, in a random level.

        Returns:
            Observations and infos by agent.
        """
        count = len(self.possible_agents)
        if seed is not None:
            whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
            if not whole or seed < 0:
                raise ConfigError(
                    f"seed = {seed!r:.80}: must be an integer of at least 0"
                )
            self.batch.rngs = [np.random.default_rng([seed, k]) for k in range(count)]
        self.batch.reset(np.arange(count))
        self._begun = True
        self.agents = list(self.possible_agents)
        self._renderer.restart()
        return self._observations(self.agents), _by_agent(
            self.batch.start_info(), self.agents, self._index
        )

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[
        dict[str, Any],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """One environment step of all `agents`.

        Returns:
            Observations, rewards, terminations, truncations and infos by agent, of all that
            acted.

        Raises:
            ActionError: An action is missing, or it has the wrong shape, or is not finite.
        """
        if not self._begun:
            raise AmbuloError("no episode has begun: call reset before step")
        if not self.agents:
            return {}, {}, {}, {}, {}
        acting = self.agents
        _, reward, terminated, truncated, arrays = self.batch.step(self._array(actions))
        index = self._index
        ended = [a for a in acting if terminated[index[a]] or truncated[index[a]]]
        self.batch.world.leave(np.array([index[a] for a in ended], np.int64))
        self.agents = [a for a in acting if a not in ended]
        self._renderer.follow(self._viewed())
        return (
            self._observations(acting),
            {a: float(reward[index[a]]) for a in acting},
            {a: bool(terminated[index[a]]) for a in acting},
            {a: bool(truncated[index[a]]) for a in acting},
            _by_agent(arrays | self.batch.episode_info(), acting, index),
        )

    def state(self) -> NDArray[np.float32]:
        """State of all agents, for centralised critics, shape (12 N,).

        For each agent: position x, y, z [m], cosine and sine of the yaw, velocity x, y, z
        [m/s], goal x, y, z [m] in the world frame, and 1 while it is in the level.
        """
        state = self.batch.world.state
        live = [float(name in self.agents) for name in self.possible_agents]
        rows = np.column_stack(
            [
                state.position, np.cos(state.yaw), np.sin(state.yaw), state.velocity,
                self.batch.task.goal, live,
            ]
        )  # fmt: skip
        return rows.astype(np.float32).ravel()

    def render(self) -> NDArray[np.uint8] | None:
        """A frame (height, width, 3) from behind the first of `agents`.

        Raises:
            RenderError: No OpenGL on this machine.
        """
        if self.render_mode is None:
            return None
        if not self._begun:
            raise AmbuloError("no episode has begun: call reset before render")
        return self._renderer.frame(self._viewed())

    def close(self) -> None:
        """Free the world and the renderer."""
        self._renderer.close()
        self.batch.close()

    def _viewed(self) -> int:
        """Index of the first agent of the level."""
        return self._index[self.agents[0]] if self.agents else 0

    def _array(self, actions: Mapping[str, Any]) -> NDArray[np.generic]:
        """Actions of the batch; zero for agents that have left."""
        discrete = self.config.actions.mode == "discrete"
        count = len(self.possible_agents)
        rows: NDArray[Any] = np.full(count, _IDLE) if discrete else np.zeros((count, 3))
        if strangers := [name for name in actions if name not in self.agents]:
            raise ActionError(
                f"action of {strangers[0]!r}: the agents are {', '.join(self.agents)}"
            )
        for name in self.agents:
            if name not in actions:
                raise ActionError(f"{name} has no action")
            action = np.asarray(actions[name])
            if action.shape != rows.shape[1:]:
                raise ActionError(
                    f"action of {name}: shape {action.shape}, must be {rows.shape[1:]}"
                )
            if discrete and action.dtype.kind not in "iu":
                raise ActionError(f"action of {name}: must be an integer")
            if not discrete and not np.isfinite(action).all():
                raise ActionError(f"action of {name}: must be finite")
            rows[self._index[name]] = action
        return rows

    def _observations(self, agents: list[str]) -> dict[str, Any]:
        """Present observations, by agent."""
        obs = self.batch.obs
        if self.config.observations.format == "flat":
            return {name: obs[self._index[name]].copy() for name in agents}
        parts = split_observation(self.batch.layout, obs)
        return {
            name: {key: part[self._index[name]] for key, part in parts.items()}
            for name in agents
        }


def _with_agents(config: NavigationConfig, count: int | None) -> NavigationConfig:
    """`config` with `count` agents, or its own number, or `AGENTS`."""
    if count is None:
        own = config.environment.agents
        count = own if own > 1 else AGENTS
    elif isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ConfigError(f"num_agents = {count!r}: must be a whole number from 1 on")
    try:
        return config.override("environment", agents=count)
    except ConfigError as error:
        raise ConfigError(str(error).removeprefix("override: ")) from None


def _by_agent(
    arrays: Mapping[str, NDArray[Any]], agents: list[str], index: Mapping[str, int]
) -> dict[str, dict[str, Any]]:
    """Entries of each array as Python values, by agent."""
    return {
        agent: {name: values.item(index[agent]) for name, values in arrays.items()}
        for agent in agents
    }
