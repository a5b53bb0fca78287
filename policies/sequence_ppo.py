"""PPO of recurrent policies: minibatches of sequences instead of steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from ambulo.policies.networks.actor_critic import Evaluation, NavigationPolicy
from ambulo.policies.ppo import FastPPO
from ambulo.policies.sequence_record import SequenceRecord, cut


class SequencePPO(FastPPO):
    """`FastPPO` for policies with states.

    A roll-out is cut in sequences. Gradients go back to the beginning of a sequence; the
    state there comes from the steps before it. Episodes begin with a state of zeros.
    """

    policy: NavigationPolicy

    def __init__(
        self, *args: Any, sequence: int | None = None, burn_in: int = 0, **kwargs: Any
    ) -> None:
        """As `FastPPO`.

        Args:
            *args: passed on.
            sequence: steps of a sequence, a divisor of `n_steps`; None: `n_steps`.
            burn_in: steps before a sequence that bring its state up to date.
            **kwargs: passed on.
        """
        self._sequence, self._burn_in = sequence, burn_in
        super().__init__(*args, **kwargs)

    def _setup_model(self) -> None:
        super()._setup_model()
        sizes = (self.policy.actor_size, self.policy.units)
        self.record = SequenceRecord(
            self.n_envs, self.n_steps, self._burn_in, sizes, self.device
        )
        """Observations and recurrent states of the last roll-out."""

    @property
    def length(self) -> int:
        """Steps of a sequence."""
        return self._sequence or self.n_steps

    def collect_rollouts(
        self,
        env: VecEnv,
        callback: BaseCallback,
        rollout_buffer: RolloutBuffer,
        n_rollout_steps: int,
    ) -> bool:
        """Fill the buffer and the record with a roll-out."""
        if self.workers is None:
            torch.set_num_threads(1)
            self.record.begin(self.policy)
        return super().collect_rollouts(env, callback, rollout_buffer, n_rollout_steps)

    def memory_state(self) -> dict[str, np.ndarray]:
        """States and the last steps of the running episodes, by name."""
        return self.record.arrays()

    def load_memory_state(self, arrays: dict[str, np.ndarray]) -> None:
        """Continue from `memory_state`."""
        self.record.load(arrays)

    def _act(self, obs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        starts = torch.as_tensor(self._last_episode_starts, device=self.device)
        size = self.policy.actor_size
        state = self.record.add(obs[:, :size], starts.bool())
        actions, values, log_probs, after = self.policy.act(obs, state)
        self.record.state = after
        return actions, values, log_probs

    def _rows_of_a_batch(self) -> int:
        return max(1, self.batch_size // self.length)

    def _batch(self, data: dict[str, Tensor], rows: Any) -> dict[str, Tensor]:
        """Sequences with time first: (T, B, ...)."""
        batch = super()._batch(data, rows)
        return {
            name: part if name == "state" else part.transpose(0, 1)
            for name, part in batch.items()
        }

    def _flat_rollout(self) -> dict[str, Tensor]:
        """The buffer as sequences, first axes P and T, with what was before them."""
        whole = (self.n_steps, self.n_envs)
        data = {
            name: cut(part.reshape(*whole, *part.shape[1:]), self.length)
            for name, part in super()._flat_rollout().items()
        }
        return data | self.record.sequences(self.length)

    def _evaluated(self, batch: dict[str, Tensor]) -> Evaluation:
        state = self.policy.advanced(
            batch["past_obs"], batch["state"], batch["past_starts"]
        )
        evaluation = self.policy.evaluate_sequences(
            batch["obs"], batch["actions"], state, batch["starts"]
        )
        return evaluation if self.route_coef > 0.0 else (*evaluation[:3], None)

    def _round_log_probs(self, data: dict[str, Tensor], size: int) -> None:
        """Compute the old log-probabilities in the number format of the update."""
        if not self.policy.rounds:
            return
        parts = []
        with torch.no_grad():
            for at in range(0, len(data["obs"]), size):
                batch = self._batch(data, slice(at, at + size))
                log_prob = self._evaluated(batch)[1]
                parts.append(log_prob.view(self.length, -1).t())
        data["log_prob"] = torch.cat(parts)
