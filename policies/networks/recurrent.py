"""Policies with a gated recurrent unit, which remember an episode."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ambulo.configs.vr_learning import NavigationNetworkConfig
from ambulo.policies.networks.actor_critic import Evaluation, NavigationPolicy


class RecurrentPolicy(NavigationPolicy):
    """A `NavigationPolicy` whose actor has a GRU; the critic has none.

    States are given and returned: the caller keeps one of `units` numbers for each
    environment, of zeros where an episode begins.
    """

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
        return self._mean(latent), state

    def mean_sequences(self, obs: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """Mean actions (T * B, A), unclipped; see `evaluate_sequences`."""
        extractor = self.mlp_extractor
        seen = extractor.seen(self.extract_features(obs))
        states = extractor.actor.unroll(seen, state, starts)
        return self._mean(extractor.actor.rest(states.flatten(0, 1)))

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


def policy_of(
    network: NavigationNetworkConfig,
) -> tuple[type[NavigationPolicy], dict[str, Any]]:
    """Return the policy class that settings choose, and its arguments from them."""
    kind = RecurrentPolicy if network.recurrent > 0 else NavigationPolicy
    return kind, {
        "widths": network.net_arch,
        "activation": network.activation_fn,
        "action_bound": network.action_bound,
        "log_std_init": network.log_std_init,
        "units": network.recurrent,
    }
