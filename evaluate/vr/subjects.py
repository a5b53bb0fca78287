"""Subjects of an evaluation: trained agents and planners, with their settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Ints
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.planners.map_planner import DenseMapPlanner, MapPlanner
from ambulo.envs.vr.planners.planners import make_planner
from ambulo.envs.vr.task.batch import NavigationBatch

if TYPE_CHECKING:
    from ambulo.policies.agents.navigation import Agent


class Controller(Protocol):
    """A planner, or an agent in `AgentController`."""

    def reset(self, envs: Ints, seeds: Ints) -> None:
        """Begin new episodes of `envs` with the episodes' own `seeds`."""
        ...

    def act(self, batch: NavigationBatch) -> NDArray[np.generic]:
        """Actions of all envs."""
        ...


class AgentController:
    """A trained agent as a controller."""

    def __init__(self, agent: Agent, *, deterministic: bool, seed: int) -> None:
        """`seed` drives the samples of an agent that is not `deterministic`."""
        import torch

        self._agent, self._deterministic = agent.copy(), deterministic
        self._generator = torch.Generator().manual_seed(seed)

    @property
    def agent(self) -> Agent:
        """The agent that acts: a copy, which remembers its own episodes."""
        return self._agent

    def reset(self, envs: Ints, seeds: Ints) -> None:
        """Let a recurrent agent forget these environments; others remember nothing."""
        self._agent.reset(envs)

    def act(self, batch: NavigationBatch) -> NDArray[np.generic]:
        """The agent's actions for the observations of `batch`."""
        return self._agent.act(
            batch.obs[:, : batch.layout.size],
            deterministic=self._deterministic,
            generator=self._generator,
        )


@dataclass(frozen=True)
class NavigationSubject:
    """One agent to evaluate, with its settings."""

    config: NavigationConfig
    """Observations, actions and limits."""
    make: Callable[[int], Controller]
    """Make a controller for a number of environments."""


def agent_subject(
    agent: Agent, config: NavigationConfig, *, deterministic: bool = True, seed: int = 0
) -> NavigationSubject:
    """A trained agent in the world of `config`; its layout is checked."""
    from ambulo.envs.vr.task.observation import observation_layout

    agent.check_layout(observation_layout(config))
    return NavigationSubject(
        config, lambda _: AgentController(agent, deterministic=deterministic, seed=seed)
    )


def planner_subject(name: str, config: NavigationConfig) -> NavigationSubject:
    """A planner with the limits and rays of `config`, with continuous actions."""
    planner = make_planner(name, 1)
    own = config.override("actions", mode="continuous", follow_plan=False)
    own = own.override("observations", memory="none", motion="none")
    if isinstance(planner, MapPlanner):
        own = own.override("observations", memory="navigator", plan_reach=10.0)
    if isinstance(planner, DenseMapPlanner):
        own = own.override("observations", num_ray_sensors=planner.rays)
    return NavigationSubject(own, lambda envs: make_planner(name, envs))
