"""Actors and policies with a gated recurrent unit, which remember an episode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from torch import Tensor, nn

from ambulo.policies.networks.actor_critic import (
    Evaluation,
    NavigationPolicy,
    bounded,
    perceptron,
)
from ambulo.policies.networks.gru import GRU


class RecurrentActor(nn.Module):
    """A hidden layer, a GRU, and the other hidden layers.

    Scaled observations (B, inputs) and states (B, units) to latents (B, `latent`).
    """

    def __init__(
        self,
        inputs: int,
        widths: Sequence[int],
        activation: type[nn.Module],
        units: int,
    ) -> None:
        """Layers of `widths`; the GRU has `units` and stands behind the first one."""
        super().__init__()
        self.units = units
        self.latent = widths[-1] if len(widths) > 1 else units
        self.first = perceptron(inputs, widths[:1], activation)
        self.gru = GRU(widths[0], units)
        self.rest = perceptron(units, widths[1:], activation)

    def forward(self, seen: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Latents (B, latent) and states (B, units) after one step."""
        state = self.gru(self.first(seen), state)
        return self.rest(state), state

    def unroll(self, seen: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """States (T, B, units) after each step of `seen` (T, B, inputs); see `GRU`."""
        return self.gru.unroll(self.first(seen), state, starts)


class RecurrentExtractor(nn.Module):
    """A `RecurrentActor` and a critic without memory; see `AsymmetricExtractor`."""

    scales: Tensor

    def __init__(
        self,
        scales: NDArray[np.float32],
        actor_size: int,
        widths: Sequence[int],
        activation: type[nn.Module],
        units: int,
    ) -> None:
        """Networks for observations of shape (..., len(scales))."""
        super().__init__()
        self.actor_size = actor_size
        self.register_buffer("scales", torch.as_tensor(scales))
        self.actor = RecurrentActor(actor_size, widths, activation, units)
        self.critic = perceptron(len(scales), widths, activation)
        self.latent_dim_pi, self.latent_dim_vf = self.actor.latent, widths[-1]

    def seen(self, features: Tensor) -> Tensor:
        """What the actor sees, scaled; `features` may lack the critic's numbers."""
        size = self.actor_size
        return features[..., :size] * self.scales[:size]

    def forward_critic(self, features: Tensor) -> Tensor:
        """Latent of the critic."""
        latent: Tensor = self.critic(features * self.scales)
        return latent

    def forward_actor(self, features: Tensor) -> Tensor:
        """Raise `TypeError`: without its state the actor has no latent."""
        raise TypeError("a recurrent policy acts with its state: use `act`")


class RecurrentPolicy(NavigationPolicy):
    """A `NavigationPolicy` whose actor has a GRU; the critic has none.

    States are given and returned: who acts keeps one for each environment, of zeros where an
    episode begins.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Any,
        *,
        units: int,
        **kwargs: Any,
    ) -> None:
        """`units` of the GRU; the rest as in `NavigationPolicy`."""
        self.units = units
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = RecurrentExtractor(*self._extractor_args, self.units)

    def act(self, obs: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Sampled actions (B, A), values (B, 1), log-probabilities (B,), next states.

        Args:
            obs: with the critic's numbers, shape (B, size).
            state: shape (B, units).
        """
        extractor, features = self.mlp_extractor, self.extract_features(obs)
        latent, state = extractor.actor(extractor.seen(features), state)
        distribution = self._get_action_dist_from_latent(latent)
        actions = distribution.get_actions()
        log_prob = distribution.log_prob(actions)
        values = self.value_net(extractor.forward_critic(features))
        shape = self.action_space.shape or ()
        return actions.reshape(-1, *shape), values, log_prob, state

    def mean_step(self, obs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Mean actions (B, A), unclipped, and next states; see `act`."""
        extractor = self.mlp_extractor
        seen = extractor.seen(self.extract_features(obs))
        latent, state = extractor.actor(seen, state)
        return bounded(self.action_net(latent), self.action_bound), state

    def mean_sequences(self, obs: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """Mean actions (T * B, A), unclipped; see `evaluate_sequences`."""
        extractor = self.mlp_extractor
        seen = extractor.seen(self.extract_features(obs))
        states = extractor.actor.unroll(seen, state, starts)
        latent = extractor.actor.rest(states.flatten(0, 1))
        return bounded(self.action_net(latent), self.action_bound)

    def means(self, obs: Tensor) -> Tensor:
        """Raise `TypeError`: see `mean_step`."""
        raise TypeError("a recurrent policy acts with its state: use `mean_step`")

    def advanced(self, obs: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """States (B, units) after the steps of `obs` (T, B, ...), without gradient.

        `state` (B, units) is before the first one; see `GRU.unroll`.
        """
        if len(obs) == 0:
            return state
        extractor = self.mlp_extractor
        with torch.no_grad(), self._rounding(obs):
            seen = extractor.seen(self.extract_features(obs))
            return extractor.actor.unroll(seen, state, starts)[-1].float()

    def evaluate_sequences(
        self, obs: Tensor, actions: Tensor, state: Tensor, starts: Tensor
    ) -> Evaluation:
        """As `evaluate_with_route`, of sequences; the results have T * B rows.

        Args:
            obs: with the critic's numbers, shape (T, B, size).
            actions: shape (T, B, A), or (T, B) of classes.
            state: before the first step, shape (B, units).
            starts: whether an episode begins with a step, shape (T, B).
        """
        extractor, flat = self.mlp_extractor, obs.flatten(0, 1)
        with self._rounding(obs):
            seen = extractor.seen(self.extract_features(obs))
            states = extractor.actor.unroll(seen, state, starts)
            latent = extractor.actor.rest(states.flatten(0, 1))
            critic = extractor.forward_critic(self.extract_features(flat))
        return self._evaluated(latent, critic, flat, actions.flatten(0, 1))
