"""A roll-out buffer on the learner's device, so that a GPU learns from what it has."""

from __future__ import annotations

from typing import Any

import torch
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.buffers import RolloutBuffer
from torch import Tensor


class DeviceRolloutBuffer(RolloutBuffer):
    """SB3's `RolloutBuffer` whose arrays are tensors (n_steps, N, ...) on `device`.

    Values and log-probabilities never leave the device, and observations reach it once.
    Its numbers are those of the buffer in main memory.
    """

    observations: Tensor  # type: ignore[assignment]
    actions: Tensor  # type: ignore[assignment]
    rewards: Tensor  # type: ignore[assignment]
    returns: Tensor  # type: ignore[assignment]
    episode_starts: Tensor  # type: ignore[assignment]
    values: Tensor  # type: ignore[assignment]
    log_probs: Tensor  # type: ignore[assignment]
    advantages: Tensor  # type: ignore[assignment]

    def reset(self) -> None:
        """Empty the buffer."""
        rows = (self.buffer_size, self.n_envs)
        integer = isinstance(self.action_space, spaces.Discrete)
        self.observations = self._zeros(*rows, *self.obs_shape)
        self.actions = self._zeros(*rows, self.action_dim)
        if integer:
            self.actions = self.actions.long()
        for name in ("rewards", "returns", "episode_starts"):
            setattr(self, name, self._zeros(*rows))
        for name in ("values", "log_probs", "advantages"):
            setattr(self, name, self._zeros(*rows))
        self.generator_ready = False
        self.pos, self.full = 0, False

    def add(
        self,
        obs: NDArray[Any] | Tensor,
        action: NDArray[Any] | Tensor,
        reward: NDArray[Any],
        episode_start: NDArray[Any],
        value: Tensor,
        log_prob: Tensor,
    ) -> None:
        """Append one step of all environments."""
        rows = {
            "observations": obs,
            "actions": action,
            "rewards": reward,
            "episode_starts": episode_start,
            "values": value,
            "log_probs": log_prob,
        }
        for name, row in rows.items():
            place: Tensor = getattr(self, name)[self.pos]
            place.copy_(torch.as_tensor(row).reshape(place.shape))
        self.pos += 1
        self.full = self.pos == self.buffer_size

    def compute_returns_and_advantage(
        self, last_values: Tensor, dones: NDArray[Any]
    ) -> None:
        """Fill `advantages` by GAE(lambda), and `returns`; as SB3 does."""
        after = last_values.to(self.device).flatten()
        ended = torch.as_tensor(dones, device=self.device)
        goes_on, advantage = 1.0 - ended.float(), torch.zeros_like(after)
        for step in reversed(range(self.buffer_size)):
            delta = (
                self.rewards[step] + self.gamma * after * goes_on - self.values[step]
            )
            advantage = delta + self.gamma * self.gae_lambda * goes_on * advantage
            self.advantages[step] = advantage
            goes_on, after = 1.0 - self.episode_starts[step], self.values[step]
        self.returns = self.advantages + self.values

    def _zeros(self, *shape: int) -> Tensor:
        return torch.zeros(shape, device=self.device)


def as_numpy(array: NDArray[Any] | Tensor) -> NDArray[Any]:
    """An array of a buffer in main memory."""
    return array.cpu().numpy() if isinstance(array, Tensor) else array
