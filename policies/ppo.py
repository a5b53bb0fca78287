"""SB3's PPO with the same algorithm and less overhead: large batches, one copy, one thread.

Roll-outs go straight from the environment's arrays into tensors, minibatches are index
selections of one flat copy, and Adam is fused. Hyper-parameters and logs are SB3's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import explained_variance
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor
from torch.nn import functional

from ambulo.configs.arrays import Singles
from ambulo.configs.errors import DivergedError
from ambulo.policies.device_rollouts import DeviceRolloutBuffer, as_numpy
from ambulo.policies.networks.actor_critic import Evaluation, NavigationPolicy
from ambulo.policies.sb3_batch_env import Sb3BatchEnv

LARGEST = 1e12
"""Weights beyond it have outputs that are not finite; sound ones are below 1000."""


class Workers(Protocol):
    """Other processes that make the roll-outs of a learner, and its updates."""

    def collect(
        self,
        learner: FastPPO,
        callback: BaseCallback,
        buffer: RolloutBuffer,
        steps: int,
    ) -> bool:
        """Make a roll-out of `steps` steps of every environment; False ends the training."""
        ...

    def update(self, learner: FastPPO) -> None:
        """Give `learner` the policy that the workers have updated."""
        ...


class Guide(Protocol):
    """Something whose actions the mean actions of a policy should not be far from."""

    def weight(self, remaining: float) -> float:
        """Weight of `error` while the fraction `remaining` of a training is left."""
        ...

    def error(self, means: Tensor, obs: Tensor) -> Tensor:
        """How far mean actions (B, A) are from those of the guide in `obs`: a scalar."""
        ...


class GradientExchange(Protocol):
    """The other learners of a group, which take every step together."""

    def average(self, parameters: Iterable[Tensor]) -> None:
        """Replace the gradients of `parameters` by their means over the group."""
        ...

    def mean(self, value: float) -> float:
        """Return the mean of a number over the group."""
        ...

    def gathered(self, rows: Tensor) -> Tensor:
        """Return the `rows` (N, ...) of all, in order of rank."""
        ...


class FastPPO(PPO):
    """PPO for a `Sb3BatchEnv`, with a reward scale and torch threads of its own."""

    def __init__(
        self,
        *args: Any,
        reward_scale: float = 1.0,
        route_coef: float = 0.0,
        update_threads: int = 1,
        **kwargs: Any,
    ) -> None:
        """As SB3's PPO.

        Args:
            *args: passed on.
            reward_scale: factor on rewards that the learner sees.
            route_coef: weight of the policy's auxiliary route error.
            update_threads: torch threads during the update; acting uses one.
            **kwargs: passed on.
        """
        self.reward_scale: float | Singles = reward_scale
        """One factor, or one for each environment, (N,)."""
        self.route_coef = route_coef
        self.update_threads = update_threads
        self.critic_only = False
        """Updates teach the critic alone; the actor stays as it is."""
        self.guide: Guide | None = None
        """Pulls the mean actions towards its own; None: no guide."""
        self.workers: Workers | None = None
        """Workers that make the roll-outs; None: this process does."""
        self.exchange: GradientExchange | None = None
        """The other learners of its group; None: it learns alone."""
        super().__init__(*args, **kwargs)

    @property
    def _on_device(self) -> bool:
        """Whether roll-outs are kept on the device of the policy."""
        return isinstance(self.rollout_buffer, DeviceRolloutBuffer)

    def collect_rollouts(
        self,
        env: VecEnv,
        callback: BaseCallback,
        rollout_buffer: RolloutBuffer,
        n_rollout_steps: int,
    ) -> bool:
        """Fill the buffer with `n_rollout_steps` steps of every environment."""
        if self.workers is not None:
            return self.workers.collect(self, callback, rollout_buffer, n_rollout_steps)
        assert isinstance(env, Sb3BatchEnv), "FastPPO steps a Sb3BatchEnv"
        assert isinstance(self._last_obs, np.ndarray)
        assert self._last_episode_starts is not None
        self.policy.set_training_mode(False)
        torch.set_num_threads(1)
        rollout_buffer.reset()
        callback.on_rollout_start()
        space = self.action_space
        box = isinstance(space, spaces.Box)
        for _ in range(n_rollout_steps):
            with torch.inference_mode():
                obs = torch.tensor(self._last_obs, device=self.device)
                actions, values, log_probs = self._act(obs)
            action = actions.cpu().numpy()
            if isinstance(space, spaces.Box):
                clipped = np.clip(action, space.low, space.high)
            else:
                clipped = action.astype(np.int64)
            starts = self._last_episode_starts
            new_obs, rewards, dones, terminal = env.step_arrays(clipped)
            self.num_timesteps += env.num_envs
            rewards = rewards * self.reward_scale
            if terminal is not None and len(terminal.truncated):
                with torch.inference_mode():
                    ends = torch.as_tensor(
                        terminal.obs[terminal.truncated_rows], device=self.device
                    )
                    rest = self.policy.predict_values(ends).cpu().numpy()[:, 0]
                rewards[terminal.truncated] += self.gamma * rest
            if terminal is not None:
                ended = np.ones(len(terminal.infos), np.bool_)
                self._update_info_buffer(terminal.infos, ended)
            callback.update_locals(locals())
            if not callback.on_step():
                return False
            if not box:
                action = action.reshape(-1, 1)
            seen: Any = obs if self._on_device else obs.numpy()
            rollout_buffer.add(seen, action, rewards, starts, values, log_probs)
            self._last_obs = new_obs
            self._last_episode_starts = dones
        with torch.inference_mode():
            last = torch.as_tensor(self._last_obs, device=self.device)
            values = self.policy.predict_values(last)
        rollout_buffer.compute_returns_and_advantage(last_values=values, dones=dones)
        callback.update_locals(locals())
        callback.on_rollout_end()
        return True

    def memory_state(self) -> dict[str, np.ndarray]:
        """State of the policy in running episodes between two roll-outs, by name."""
        return {}

    def load_memory_state(self, arrays: dict[str, np.ndarray]) -> None:
        """Continue from `memory_state`."""

    def _act(self, obs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Sampled actions, values (N, 1) and log-probabilities (N,) of a step."""
        actions, values, log_probs = self.policy(obs)
        return actions, values, log_probs

    def train(self) -> None:
        """Update the policy from the buffer; the loss is SB3's.

        Raises:
            DivergedError: The weights are not finite any more, or beyond `LARGEST`.
        """
        try:
            if self.workers is not None:
                self.workers.update(self)
            else:
                self._update()
        except ValueError:  # distributions refuse what is not finite
            if self._is_finite():
                raise
        self._check_finite()

    def _check_finite(self) -> None:
        if not self._is_finite():
            raise DivergedError(
                f"the update after {self.num_timesteps} steps made weights that are not "
                "finite; lower ppo.learning_rate, or the rewards"
            )

    def _is_finite(self) -> bool:
        """Whether all weights are, and so small that outputs are too."""
        weights = self.policy.parameters()
        return all(bool((w.detach().abs() < LARGEST).all()) for w in weights)

    def _update(self) -> None:
        """All epochs over the buffer, and what is logged of them."""
        self.policy.set_training_mode(True)
        torch.set_num_threads(self.update_threads)
        self._update_learning_rate(self.policy.optimizer)
        schedule: Any = self.clip_range
        clip = schedule(self._current_progress_remaining)
        data = self._flat_rollout()
        total = len(data["obs"])
        size = min(self._rows_of_a_batch(), total)
        self._round_log_probs(data, size)
        logs: dict[str, list[float]] = {}
        stop = False
        for _ in range(self.n_epochs):
            order = torch.randperm(total)
            logs["approx_kl"] = []  # as SB3: of the last epoch
            for at in range(0, total - size + 1, size):
                rows = order[at : at + size]
                loss, row = self._loss(self._batch(data, rows), clip)
                if self.exchange is not None and self.target_kl is not None:
                    row["approx_kl"] = self.exchange.mean(row["approx_kl"])
                for name, value in row.items():
                    logs.setdefault(name, []).append(value)
                if (
                    self.target_kl is not None
                    and row["approx_kl"] > 1.5 * self.target_kl
                ):
                    stop = True
                    break
                self.policy.optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                if self.exchange is not None:
                    self.exchange.average(self.policy.parameters())
                torch.nn.utils.clip_grad_norm_(
                    self.policy.parameters(), self.max_grad_norm
                )
                self.policy.optimizer.step()
            self._n_updates += 1
            if stop:
                break
        torch.set_num_threads(1)
        for name, values in logs.items():
            self.logger.record(f"train/{name}", float(np.mean(values)))
        buffer = self.rollout_buffer
        self.logger.record(
            "train/explained_variance",
            explained_variance(
                as_numpy(buffer.values).flatten(), as_numpy(buffer.returns).flatten()
            ),
        )
        if hasattr(self.policy, "log_std"):
            std = torch.exp(self.policy.log_std).mean().item()
            self.logger.record("train/std", std)
        self.logger.record("train/loss", loss.item())
        self.logger.record("train/clip_range", clip)
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")

    def _round_log_probs(self, data: dict[str, Tensor], size: int) -> None:
        """Compute the old log-probabilities in the number format of the update.

        Else rounding alone would move the ratios of probabilities away from 1.
        """
        policy = self.policy
        if not isinstance(policy, NavigationPolicy) or not policy.rounds:
            return
        obs, actions = data["obs"], data["actions"]
        with torch.inference_mode():
            parts = [
                policy.evaluate_with_route(
                    obs[at : at + size], actions[at : at + size]
                )[1]
                for at in range(0, len(obs), size)
            ]
        data["log_prob"] = torch.cat(parts).clone()

    def _flat_rollout(self) -> dict[str, Tensor]:
        """The buffer as flat tensors, first axis n_steps * n_envs."""
        b = self.rollout_buffer

        def flat(array: np.ndarray) -> Tensor:
            return torch.as_tensor(array).flatten(0, 1).to(self.device)

        actions = flat(b.actions)
        if isinstance(self.action_space, spaces.Discrete):
            actions = actions.long().flatten()
        obs = flat(b.observations)
        # A policy may work out once what all epochs need (`SimulationNNWithPrior`).
        prepared = getattr(self.policy, "prepared", None)
        return {
            "obs": obs if prepared is None else prepared(obs),
            "actions": actions,
            "values": flat(b.values),
            "log_prob": flat(b.log_probs),
            "advantages": flat(b.advantages),
            "returns": flat(b.returns),
        }

    def _rows_of_a_batch(self) -> int:
        """Rows of the data of a minibatch."""
        return self.batch_size

    def _batch(self, data: dict[str, Tensor], rows: Tensor) -> dict[str, Tensor]:
        """The minibatch of the given rows."""
        return {name: part[rows] for name, part in data.items()}

    def _evaluated(self, batch: dict[str, Tensor]) -> Evaluation:
        """Evaluate the actions of a minibatch; without `route_coef` no route error."""
        policy = self.policy
        rounded = isinstance(policy, NavigationPolicy) and policy.rounds
        if self.route_coef <= 0.0 and not rounded:
            return *policy.evaluate_actions(batch["obs"], batch["actions"]), None
        assert isinstance(policy, NavigationPolicy), "route_coef needs its head"
        evaluation = policy.evaluate_with_route(batch["obs"], batch["actions"])
        return evaluation if self.route_coef > 0.0 else (*evaluation[:3], None)

    def _loss(
        self, batch: dict[str, Tensor], clip: float
    ) -> tuple[Tensor, dict[str, float]]:
        """Clipped surrogate, value and entropy loss of one minibatch, and its logs."""
        values, log_prob, entropy, route = self._evaluated(batch)
        assert entropy is not None
        advantages = batch["advantages"].flatten()
        if self.normalize_advantage and len(advantages) > 1:
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        log_ratio = log_prob - batch["log_prob"].flatten()
        ratio = torch.exp(log_ratio)
        surrogate = torch.min(
            advantages * ratio, advantages * torch.clamp(ratio, 1 - clip, 1 + clip)
        )
        policy_loss = -surrogate.mean()
        value_loss = functional.mse_loss(batch["returns"].flatten(), values.flatten())
        entropy_loss = -entropy.mean()
        loss = policy_loss + self.ent_coef * entropy_loss + self.vf_coef * value_loss
        if self.critic_only:
            loss = self.vf_coef * value_loss
        if route is not None and not self.critic_only:
            loss = loss + self.route_coef * route.mean()
        extra = {} if route is None else {"route_loss": route.mean().item()}
        if self.guide is not None and not self.critic_only:
            assert isinstance(self.policy, NavigationPolicy), "guides lead navigators"
            error = self.guide.error(self.policy.means(batch["obs"]), batch["obs"])
            loss = loss + self.guide.weight(self._current_progress_remaining) * error
            extra["plan_loss"] = error.item()
        with torch.no_grad():
            kl = ((ratio - 1) - log_ratio).mean().item()
            clipped = ((ratio - 1).abs() > clip).float().mean().item()
        return loss, extra | {
            "policy_gradient_loss": policy_loss.item(),
            "value_loss": value_loss.item(),
            "entropy_loss": entropy_loss.item(),
            "approx_kl": kl,
            "clip_fraction": clipped,
        }
