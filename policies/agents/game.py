"""The trained policies of a Godot game, ready to act."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ambulo.configs.agent_spec import AgentSpec
from ambulo.configs.arrays import Ints, Singles
from ambulo.configs.errors import ModelFileError, ObservationError, nearest
from ambulo.policies.files.model_file import ModelFile, load_model
from ambulo.policies.kinds.game import RETURNS, GameMetadata

GameModel = ModelFile[GameMetadata]
"""The contents of a file of the policies of a game."""


class GameAgent:
    """The policies of all kinds of agents of a game, with their config and metadata.

    Recurrent ones remember each row: `reset` where episodes begin.
    """

    def __init__(self, model: GameModel) -> None:
        """The policies in `model`, whose weights are copied."""
        self.metadata = model.metadata
        self.config = model.metadata.config
        self.kinds = model.metadata.agents
        """What each kind of agent observes and does."""
        self.policy = model.metadata.new_policy()
        self.policy.load_state_dict(model.weights)
        self.policy.eval().requires_grad_(False)
        self.units = self.config.network.recurrent
        """Numbers that it remembers of an agent."""
        self._states = torch.zeros((0, self.units))

    @property
    def env_id(self) -> str:
        """The environment that it was trained in."""
        return "ambulo/Godot-v0"

    def env_settings(self) -> dict[str, Any]:
        """Return the keyword arguments of its environment; the caller adds the project."""
        env = self.config.environment
        return {} if env.scene is None else {"scene": env.scene}

    def kind_of(self, name: str | None) -> int:
        """Return the index of a kind; None: of the only one.

        Raises:
            ModelFileError: There is none of that name, or there are several.
        """
        names = [kind.name for kind in self.kinds]
        if name is None and len(names) == 1:
            return 0
        if name not in names:
            hint = nearest(name or "", names)
            raise ModelFileError(
                f"kind {name!r}: the model has {', '.join(names)}{hint}"
            )
        return names.index(name)

    def reset(self, rows: Ints | None = None) -> None:
        """Forget the episodes of `rows` (None: of all agents)."""
        if rows is None:
            self._states = torch.zeros((0, self.units))
        else:
            self._states = self._states.clone()
            self._states[torch.as_tensor(rows[rows < len(self._states)])] = 0.0

    def act(
        self,
        obs: Singles | Mapping[str, NDArray[Any]],
        *,
        kind: str | None = None,
        deterministic: bool = True,
    ) -> dict[str, NDArray[Any]]:
        """Return actions of N agents of one kind by the names of their parts.

        Numbers are (N, size) in [-1, 1], choices (N,) integers.

        Args:
            obs: (N, size), or the parts by name, (N, ...) each; without N for one agent.
            kind: Name of the kind; None: the only one.
            deterministic: Means and likeliest choices instead of samples.

        Raises:
            ModelFileError: Observations or a kind that the model does not know.
            ObservationError: A number is not finite.
        """
        index = self.kind_of(kind)
        spec = self.kinds[index]
        flat, single = _flat(obs, spec)
        rows = np.zeros((len(flat), self.policy.actor_size), np.float32)
        rows[:, 0] = index
        rows[:, 1 : 1 + flat.shape[1]] = flat
        acted = self.act_on_rows(rows, deterministic=deterministic)
        found: dict[str, NDArray[Any]] = {}
        for part in spec.action:
            values: NDArray[Any] = acted[:, spec.action_slices()[part.name]]
            if part.choices is not None:
                values = values[:, 0].astype(np.int64)
            found[part.name] = values[0] if single else values
        return found

    def act_on_rows(self, rows: Singles, *, deterministic: bool = True) -> Singles:
        """Return rows (N, width) of actions for rows (N, size) of `KindsPolicy`.

        Raises:
            ObservationError: A number is not finite.
        """
        if not np.isfinite(rows).all():
            row = int(np.argwhere(~np.isfinite(rows))[0, 0])
            raise ObservationError(f"observation of agent {row}: must be finite")
        if torch.get_num_threads() != 1:  # small networks wait longer than they compute
            torch.set_num_threads(1)
        with torch.inference_mode():
            seen = torch.as_tensor(rows)
            if len(self._states) != len(seen):
                self._states = torch.zeros((len(seen), self.units))
            if deterministic:
                acted, self._states = self.policy.mean_step(seen, self._states)
            else:
                acted, _, _, self._states = self.policy.act(seen, self._states)
        return self._clipped(acted.numpy(), rows)

    def _clipped(self, acted: Singles, rows: Singles) -> Singles:
        """Clip the numbers of each kind to [-1, 1]."""
        for index, kind in enumerate(self.kinds):
            own = rows[:, 0] == index
            for part in kind.action:
                if part.choices is None:
                    where = kind.action_slices()[part.name]
                    acted[own, where] = np.clip(acted[own, where], -1.0, 1.0)
        return acted


def load_game(path: str | os.PathLike[str]) -> GameModel:
    """Return the contents of a file of the policies of a game, checked."""
    model = load_model(path, GameMetadata)
    fresh = model.metadata.new_policy().state_dict()
    unknown = {name: fresh[name] for name in fresh if name.startswith(RETURNS)}
    return replace(model, weights=unknown | model.weights)


def load_game_agent(path: str | os.PathLike[str]) -> GameAgent:
    """Return the policies in a model file."""
    return GameAgent(load_game(path))


def _flat(
    obs: Singles | Mapping[str, NDArray[Any]], spec: AgentSpec
) -> tuple[Singles, bool]:
    """Return rows (N, size) of an observation, and whether it was of one agent."""
    if not isinstance(obs, Mapping):
        flat = np.asarray(obs, np.float32)
        single = flat.ndim == 1
        flat = flat[None] if single else flat
    else:
        names = [part.name for part in spec.observation]
        if set(obs) != set(names):
            raise ModelFileError(
                f"kind {spec.name!r} observes {', '.join(names)}, got {', '.join(obs)}"
            )
        first = spec.observation[0]
        single = np.ndim(obs[first.name]) == len(first.shape)
        parts = [np.asarray(obs[name], np.float32) for name in names]
        count = 1 if single else len(parts[0])
        flat = np.concatenate([part.reshape(count, -1) for part in parts], axis=1)
    if flat.shape[1] != spec.observation_size:
        raise ModelFileError(
            f"kind {spec.name!r} observes {spec.observation_size} numbers, "
            f"got {flat.shape[1]}"
        )
    return flat, single
