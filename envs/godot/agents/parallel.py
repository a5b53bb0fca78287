"""All agents of a Godot scene, of all kinds, as a PettingZoo parallel environment.

It needs the package pettingzoo (`pip install 'ambulo[multi]'`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from ambulo.configs.errors import ActionError, AmbuloError
from ambulo.envs.godot.agents.env import game_settings
from ambulo.envs.godot.agents.game import GO_ON, MAX_SEED, NOW, Game
from ambulo.envs.godot.agents.spec import Rows
from ambulo.envs.godot.agents.wire import restarts
from ambulo.envs.gym_batch_env import first_row

try:
    from pettingzoo import ParallelEnv
except ImportError as error:
    raise ImportError(
        f"several agents need the package {error.name}: pip install 'ambulo[multi]'",
        name=error.name,
    ) from None


class GodotParallel(ParallelEnv[str, Any, Any]):  # type: ignore[misc]
    """The agents `<kind>_<number>` of a scene; see `GodotEnv` for what they observe.

    An agent whose episode ends leaves `agents`, and acts with zeros until all have left;
    `reset` restarts all. The same seed gives the same episode.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "name": "godot_v0",
        "render_modes": [],
        "is_parallelizable": True,
    }

    def __init__(
        self, project: str | None = None, scene: str | None = None, **settings: Any
    ) -> None:
        """Start the game; `settings` are those of `game_settings`."""
        self.render_mode = None
        self.game = Game(game_settings(project, scene, **settings))
        self._places = {
            f"{kind.name}_{row}": (index, row)
            for index, kind in enumerate(self.game.spec.kinds)
            for row in range(kind.count)
        }
        self.possible_agents = list(self._places)
        self.agents: list[str] = []
        kinds = [self.game.spec.kinds[index] for index, _ in self._places.values()]
        names = self.possible_agents
        self.observation_spaces: dict[str, spaces.Space[Any]] = {
            n: k.observation_space for n, k in zip(names, kinds, strict=True)
        }
        self.action_spaces: dict[str, spaces.Space[Any]] = {
            n: k.action_space for n, k in zip(names, kinds, strict=True)
        }
        self._rng = np.random.default_rng()

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Space of the observations of `agent`."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Space of the actions of `agent`."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Begin an episode of all agents."""
        del options
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        seeds = self._rng.integers(MAX_SEED, size=len(self._places))
        step = self.game.reset(restarts(NOW, seeds))
        return self._observed(step.obs), {name: {} for name in self.agents}

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """One step of all agents: observations, rewards, terminated, truncated, infos.

        Raises:
            AmbuloError: no episode is running.
            ActionError: an agent has no action, or a wrong one.
        """
        if not self.agents:
            raise AmbuloError("no agent is left: call reset before step")
        if set(actions) != set(self.agents):
            raise ActionError(f"actions must be of the agents {', '.join(self.agents)}")
        nothing = restarts(GO_ON, np.zeros(len(self._places), np.int32))
        step = self.game.step(nothing, self._rows(actions))
        observations = self._observed(step.obs)
        rewards, terminated, truncated, infos = {}, {}, {}, {}
        for at, (name, (index, row)) in enumerate(self._places.items()):
            if name not in self.agents:
                continue
            rewards[name] = float(step.reward[at])
            terminated[name] = bool(step.terminated[at])
            truncated[name] = bool(step.truncated[at])
            own = step.infos[index]
            infos[name] = {key: values.item(row) for key, values in own.items()}
            infos[name]["bridge_fault"] = bool(step.fault[at])
        self.agents = [n for n in self.agents if not (terminated[n] or truncated[n])]
        return observations, rewards, terminated, truncated, infos

    def close(self) -> None:
        """End the engine."""
        self.game.close()

    def _rows(self, actions: Mapping[str, Any]) -> list[Rows]:
        """The actions of each kind; who has left does nothing."""
        kinds = self.game.spec.kinds
        rows = [np.zeros((kind.count, kind.action_size), np.float32) for kind in kinds]
        for name, action in actions.items():
            index, row = self._places[name]
            kind = kinds[index]
            rows[index][row] = kind.checked(kind.flatten(action), 1)[0]
        return rows

    def _observed(self, parts: Sequence[Rows]) -> dict[str, Any]:
        result = {}
        for name in self.agents:
            index, row = self._places[name]
            rows = parts[index][row : row + 1]
            result[name] = first_row(self.game.spec.kinds[index].split(rows))
        return result
