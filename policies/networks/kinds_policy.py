"""Policies of several kinds of agents that learn together, one for each kind."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.policies import BasePolicy
from torch import Tensor, nn

from ambulo.configs.agent_spec import AgentSpec
from ambulo.configs.godot import GameNetworkConfig
from ambulo.policies.networks.actor_critic import Evaluation, NavigationPolicy
from ambulo.policies.networks.locomotion_policy import NoOptimizer, no_learning
from ambulo.policies.networks.normalizer import Normalizer
from ambulo.policies.networks.observation_encoder import ObservationEncoder

Rows = slice | Tensor
VALUE_GAIN = 0.01
"""Gain of the initial weights of the critics' last layers. An episode that a time limit ends
goes on with the critic's value: random ones would outweigh the small rewards of many games."""


def row_size(kinds: Sequence[AgentSpec]) -> int:
    """Return the numbers of a row of observations: the kind's index, then its parts."""
    return 1 + max(kind.observation_size for kind in kinds)


def row_space(kinds: Sequence[AgentSpec]) -> spaces.Box:
    """Return the space of a row of actions, wide enough for the actions of each kind."""
    width = max(kind.action_width for kind in kinds)
    low, high = np.zeros(width, np.float32), np.zeros(width, np.float32)
    for kind in kinds:
        for part in kind.action:
            where = kind.action_slices()[part.name]
            least, most = (-1, 1) if part.choices is None else (0, part.choices - 1)
            low[where] = np.minimum(low[where], least)
            high[where] = np.maximum(high[where], most)
    return spaces.Box(low, high)


class KindsPolicy(BasePolicy):
    """Routes each row to the policy of its kind; the policies share nothing but the optimiser.

    A row (size,) of observations is the index of the agent's kind, its observation, and
    zeros. A row of actions has zeros behind the action of its kind.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Any,
        *,
        kinds: Sequence[AgentSpec],
        network: GameNetworkConfig,
        use_sde: bool = False,
        **kwargs: Any,
    ) -> None:
        """Make a policy for each of `kinds`.

        Args:
            observation_space: Box (`row_size`,).
            action_space: `row_space`.
            lr_schedule: step size by the remaining fraction.
            kinds: by index.
            network: settings of each of them.
            use_sde: as in SB3; not used.
            **kwargs: of the optimiser, as in SB3.
        """
        del use_sde
        super().__init__(observation_space, action_space, **kwargs)
        self.kinds, self.network = tuple(kinds), network
        self.units = network.recurrent
        """Numbers of a state; 0: the policies have none."""
        self.rounds = False
        """See `NavigationPolicy.rounds`."""
        self.width = row_space(kinds).shape[0]
        self.policies = nn.ModuleList(_policy(kind, network) for kind in kinds)
        self.returns = nn.ModuleList(Normalizer(1, sys.maxsize) for _ in kinds)
        """Statistics of the discounted returns of each kind, in the game's units."""
        make: Any = self.optimizer_class
        self.optimizer = make(
            self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs
        )

    @property
    def actor_size(self) -> int:
        """Numbers of a row of observations."""
        return row_size(self.kinds)

    def _split(self, kinds: Tensor) -> Iterator[tuple[Any, Rows, int]]:
        """Yield policy, rows and observation size of each kind among `kinds` (B,)."""
        policies: Iterable[Any] = self.policies
        for index, policy in enumerate(policies):
            rows: Rows = slice(None)
            if len(self.policies) > 1:
                rows = torch.nonzero(kinds == index)[:, 0]
                if not len(rows):
                    continue
            yield policy, rows, policy.actor_size

    def forward(
        self, obs: Tensor, deterministic: bool = False
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Actions (B, width), values (B, 1), log-probabilities (B,).

        Recurrent policies act as at the beginning of an episode.
        """
        if deterministic:
            actions = self.means(obs)
            values, log_probs, _ = self.evaluate_actions(obs, actions)
        else:
            state = obs.new_zeros(len(obs), self.units)
            actions, values, log_probs, _ = self.act(obs, state)
        return actions, values, log_probs

    def predict_values(self, obs: Tensor) -> Tensor:
        """Values (B, 1)."""
        values = self._room(len(obs))[1]
        for policy, rows, size in self._split(obs[:, 0]):
            values[rows] = policy.predict_values(obs[rows, 1 : 1 + size])
        return values

    def evaluate_actions(
        self, obs: Tensor, actions: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Values (B, 1), log-probabilities (B,) and entropies (B,) of `actions`."""
        _, values, log_probs = self._room(len(obs))
        entropies = torch.zeros_like(log_probs)
        for policy, rows, size in self._split(obs[:, 0]):
            width = policy.action_dist.action_dim
            seen = obs[rows, 1 : 1 + size]
            value, log_prob, entropy = policy.evaluate_actions(
                seen, actions[rows, :width]
            )
            values[rows], log_probs[rows], entropies[rows] = value, log_prob, entropy
        return values, log_probs, entropies

    def means(self, obs: Tensor) -> Tensor:
        """Means and likeliest choices (B, width), as at the beginning of an episode."""
        return self.mean_step(obs, obs.new_zeros(len(obs), self.units))[0]

    def observe(self, obs: Tensor) -> None:
        """Take observations (N, size) into the running statistics."""
        for policy, rows, size in self._split(obs[:, 0]):
            policy.observe(obs[rows, 1 : 1 + size])

    def observe_recordings(self, obs: Tensor) -> None:
        """Take recorded observations (N, size) into the running statistics."""
        for policy, rows, size in self._split(obs[:, 0]):
            encoder = policy.mlp_extractor.encoder
            encoder.observe(obs[rows, 1 : 1 + size], is_whole=True)

    def return_sizes(self) -> Tensor:
        """Root mean squares of the returns of each kind, (kinds,); 1 before any is known."""
        seen: Iterable[Any] = self.returns
        return torch.stack([torch.hypot(r.mean[0], r.deviation[0]) for r in seen])

    @torch.no_grad()
    def observe_returns(self, rows: Tensor) -> None:
        """Take rows (N, 2), kind and return in the game's units, into the statistics.

        Critics predict multiples of `return_sizes`. Their last layers absorb the change of
        it, so that predictions in the game's units stay the same.
        """
        before = self.return_sizes()
        policies: Iterable[Any] = self.policies
        seen: Iterable[Any] = self.returns
        for index, statistics in enumerate(seen):
            statistics.update(rows[rows[:, 0] == index, 1:])
        for policy, change in zip(policies, before / self.return_sizes(), strict=True):
            policy.value_net.weight *= change
            policy.value_net.bias *= change

    def act(self, obs: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Sampled actions, values, log-probabilities, next states; see `NavigationPolicy`."""
        actions, values, log_probs = self._room(len(obs))
        after = torch.zeros_like(state)
        for policy, rows, size in self._split(obs[:, 0]):
            moves, value, log_prob, new = policy.act(
                obs[rows, 1 : 1 + size], state[rows]
            )
            actions[rows, : moves.shape[1]] = moves
            values[rows], log_probs[rows], after[rows] = value, log_prob, new
        return actions, values, log_probs, after

    def mean_step(self, obs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Means and likeliest choices (B, width), and next states (B, units)."""
        actions, after = self._room(len(obs))[0], torch.zeros_like(state)
        for policy, rows, size in self._split(obs[:, 0]):
            moves, after[rows] = policy.mean_step(obs[rows, 1 : 1 + size], state[rows])
            actions[rows, : moves.shape[1]] = moves
        return actions, after

    def advanced(self, obs: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """States (B, units) after the steps of `obs` (T, B, size); see `NavigationPolicy`."""
        if len(obs) == 0:
            return state
        after = torch.zeros_like(state)
        for policy, rows, size in self._split(obs[-1, :, 0]):
            seen = obs[:, rows, 1 : 1 + size]
            after[rows] = policy.advanced(seen, state[rows], starts[:, rows])
        return after

    def evaluate_sequences(
        self, obs: Tensor, actions: Tensor, state: Tensor, starts: Tensor
    ) -> Evaluation:
        """As `evaluate_actions`, of sequences (T, B, ...), with T * B rows in the results."""
        steps, count = obs.shape[:2]
        shape = (steps, count)
        values, log_probs = obs.new_zeros(*shape, 1), obs.new_zeros(shape)
        entropies = obs.new_zeros(shape)
        for policy, rows, size in self._split(obs[-1, :, 0]):
            width = policy.action_dist.action_dim
            value, log_prob, entropy, _ = policy.evaluate_sequences(
                obs[:, rows, 1 : 1 + size], actions[:, rows, :width],
                state[rows], starts[:, rows],
            )  # fmt: skip
            values[:, rows] = value.reshape(steps, -1, 1)
            log_probs[:, rows] = log_prob.reshape(steps, -1)
            entropies[:, rows] = entropy.reshape(steps, -1)
        return values.flatten(0, 1), log_probs.flatten(), entropies.flatten(), None

    def _predict(self, observation: Any, deterministic: bool = False) -> Tensor:
        """Actions (B, width); asked for by SB3's `predict`."""
        actions: Tensor = self(observation, deterministic)[0]
        return actions

    def _room(self, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Zeros for actions (B, width), values (B, 1) and log-probabilities (B,)."""
        device = self.device
        return (
            torch.zeros(count, self.width, device=device),
            torch.zeros(count, 1, device=device),
            torch.zeros(count, device=device),
        )


def _policy(kind: AgentSpec, network: GameNetworkConfig) -> NavigationPolicy:
    """Return a fresh policy of one kind; the optimiser is that of all."""
    size = kind.observation_size
    encoder = ObservationEncoder(
        kind.observation,
        samples=network.normalize_samples,
        layers=network.convolutions,
        features=network.picture_features,
    )
    policy = NavigationPolicy(
        spaces.Box(-np.inf, np.inf, (size,), np.float32),
        spaces.Box(-np.inf, np.inf, (kind.action_width,), np.float32),
        no_learning,
        actor_size=size,
        encoder=encoder,
        action_parts=kind.action,
        widths=network.net_arch,
        activation=network.activation_fn,
        log_std_init=network.log_std_init,
        units=network.recurrent,
        optimizer_class=NoOptimizer,
    )
    nn.init.orthogonal_(policy.value_net.weight, VALUE_GAIN)
    return policy


def make_kinds_policy(
    kinds: Sequence[AgentSpec], network: GameNetworkConfig
) -> KindsPolicy:
    """Return policies without a learner, for weights that come with a file."""
    return KindsPolicy(
        spaces.Box(-np.inf, np.inf, (row_size(kinds),), np.float32),
        row_space(kinds),
        no_learning,
        kinds=kinds,
        network=network,
        optimizer_class=NoOptimizer,
    )
