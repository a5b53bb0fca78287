"""A batch of environments as an SB3 `VecEnv`, and as plain arrays for `FastPPO`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.batch import TaskBatch
from ambulo.policies.checked_steps import checked_reset, checked_step

EPISODE_FIELDS = ("path", "start_distance")
"""Quantities of an episode in its last info: path length and distance to the goal at the
start, [m]."""


@dataclass(frozen=True)
class Terminal:
    """The k environments whose episodes ended in a step."""

    envs: NDArray[np.int64]
    """Their indices, shape (k,)."""
    obs: NDArray[np.float32]
    """Their last observations, shape (k, size)."""
    truncated_rows: NDArray[np.int64]
    """Rows of `obs` that were truncated."""
    truncated: NDArray[np.int64]
    """Indices of the environments that were truncated."""
    infos: list[dict[str, Any]]
    """One dictionary for each: `episode`, `is_success`, `EPISODE_FIELDS` and `cut_off`: whether
    the end says nothing of the agent."""


class Sb3BatchEnv(VecEnv):
    """Same-step autoreset over a batch; `step_arrays` is `step` without dictionaries."""

    def __init__(self, batch: TaskBatch, action_space: spaces.Space[Any]) -> None:
        """Wrap `batch`; its observation array gives the observation space."""
        self.batch = batch
        size = batch.obs.shape[1]
        self.info_sums: dict[str, float] = {}
        self.info_count = 0
        space = spaces.Box(-np.inf, np.inf, (size,), np.float32)
        self._actions: NDArray[Any] | None = None
        self.render_mode = None
        super().__init__(batch.num_envs, space, action_space)

    def reset(self) -> NDArray[np.float32]:
        """Begin new episodes everywhere."""
        if any(seed is not None for seed in self._seeds):
            self.batch.seed(self._seeds)
        self._reset_seeds()
        self._reset_options()
        return checked_reset(self.batch, np.arange(self.num_envs)).copy()

    def step_async(self, actions: NDArray[Any]) -> None:
        """Keep the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> Any:
        """SB3's step: observations, rewards, dones and one dictionary for each."""
        assert self._actions is not None
        obs, rewards, dones, terminal = self.step_arrays(self._actions)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if terminal is not None:
            for env, info in zip(terminal.envs, terminal.infos, strict=True):
                infos[env] = info
        return obs.copy(), rewards.astype(np.float32), dones, infos

    def step_arrays(
        self, actions: NDArray[Any]
    ) -> tuple[NDArray[np.float32], Floats, Bools, Terminal | None]:
        """Return a step as arrays; finished environments are reset at once.

        The observations are the batch's own array, overwritten by the next step.

        Raises:
            ObservationError: An observation is not finite; see `checked_step`.
            RewardError: A reward is not finite.
        """
        obs, rewards, terminated, truncated, info = checked_step(self.batch, actions)
        for name, values in info.items():
            total = float(np.sum(values))
            self.info_sums[name] = self.info_sums.get(name, 0.0) + total
        self.info_count += self.num_envs
        dones = terminated | truncated
        terminal = None
        if dones.any():
            envs = np.flatnonzero(dones)
            terminal = self._terminal(envs, obs, truncated, info)
            obs = checked_reset(self.batch, envs)
        return obs, rewards, dones, terminal

    def _terminal(
        self,
        envs: NDArray[np.int64],
        obs: NDArray[np.float32],
        truncated: Bools,
        info: dict[str, NDArray[Any]],
    ) -> Terminal:
        episode, last = self.batch.episode, obs[envs]
        infos = [
            {
                "episode": {
                    "r": float(episode.reward[p]),
                    "l": int(episode.steps[p]),
                    "t": 0.0,
                },
                "is_success": bool(info["is_success"][p]),
                **{name: float(getattr(episode, name)[p]) for name in EPISODE_FIELDS},
                "terminal_observation": last[row],
                "TimeLimit.truncated": bool(truncated[p]),
                "cut_off": bool(info["cut_off"][p]) if "cut_off" in info else False,
            }
            for row, p in enumerate(envs)
        ]
        rows = np.flatnonzero(truncated[envs])
        return Terminal(envs, last, rows, envs[rows], infos)

    def close(self) -> None:
        """Free the batch."""
        self.batch.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The batch's attribute, once per environment."""
        value = getattr(self.batch, attr_name, getattr(self, attr_name, None))
        return [value] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the batch."""
        setattr(self.batch, attr_name, value)

    def env_method(
        self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any
    ) -> list[Any]:
        """Call a method of the batch once; the result, once per environment."""
        value = getattr(self.batch, method_name)(*args, **kwargs)
        return [value] * len(list(self._get_indices(indices)))

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Nothing is wrapped."""
        return [False] * len(list(self._get_indices(indices)))


class RemoteBatchEnv(Sb3BatchEnv):
    """The environments of other processes: their number, shapes and sums, but no steps."""

    def __init__(
        self, batch: TaskBatch, action_space: spaces.Space[Any], num_envs: int
    ) -> None:
        """Stand for `num_envs` environments like those of `batch`."""
        super().__init__(batch, action_space)
        self.num_envs = num_envs

    def reset(self) -> NDArray[np.float32]:
        """Return zeros: the other processes begin their episodes themselves."""
        return np.zeros((self.num_envs, self.batch.obs.shape[1]), np.float32)

    def step_arrays(
        self, actions: NDArray[Any]
    ) -> tuple[NDArray[np.float32], Floats, Bools, Terminal | None]:
        """Raise `RuntimeError`: other processes make the steps."""
        raise RuntimeError("these environments are stepped by workers")
