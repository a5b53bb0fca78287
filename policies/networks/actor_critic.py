"""Actor-critic policies: scaled or encoded inputs, memory, a critic that may see more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.distributions import (
    DiagGaussianDistribution,
    Distribution,
)
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor, nn

from ambulo.configs.agent_spec import ActionSpec
from ambulo.configs.vr_learning import NavigationNetworkConfig
from ambulo.policies.networks.action_parts import PartsDistribution
from ambulo.policies.networks.branches import ACTIVATIONS, Branches
from ambulo.policies.networks.observation_encoder import ObservationEncoder

Evaluation = tuple[Tensor, Tensor, Tensor | None, Tensor | None]
"""Values (B, 1), log-probabilities (B,), entropy (B,), and route error (B,)."""

ROUTE_COLUMNS = (1, 2, 5)
"""Direction and detour of the shortest way among the critic's own numbers.

`envs.vr.task.observation.PRIVILEGED` has their order.
"""


def bounded(mean: Tensor, bound: tuple[float, float] | None) -> Tensor:
    """Mean actions (B, 3), the stick shortened below bound[0], rotation below bound[1].

    With s = bound[0], a stick v becomes v s tanh(|v| / s) / |v|; rotation likewise.
    """
    if bound is None:
        return mean
    stick, rotation = bound
    v, turn = mean[:, :2], mean[:, 2:]
    length = (v.square().sum(dim=1, keepdim=True) + 1e-12).sqrt()
    v = v * (stick * torch.tanh(length / stick) / length)
    return torch.cat([v, rotation * torch.tanh(turn / rotation)], dim=1)


class ActorCritic(ActorCriticPolicy):
    """SB3 policy whose actor and critic are separate `Branches` over the same features.

    Subclasses may give other features of observations, and make the branches.
    """

    units = 0
    """Numbers of a state; 0: it has none."""

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Any,
        **kwargs: Any,
    ) -> None:
        """As in SB3, with orthogonal weights of the last layers: small ones of the actor."""
        super().__init__(
            observation_space, action_space, lr_schedule, ortho_init=False, **kwargs
        )
        for layer, gain in ((self.action_net, 0.01), (self.value_net, 1.0)):
            if isinstance(layer, nn.Linear):
                nn.init.orthogonal_(layer.weight, gain)
                nn.init.zeros_(layer.bias)

    def extract_features(self, obs: Any, features_extractor: Any = None) -> Any:
        """The observation itself, as float; the branches scale it."""
        return obs.float()

    def predict_values(self, obs: Any) -> Tensor:
        """Values (B, 1). SB3's own would take the observation as it is."""
        latent = self.mlp_extractor.forward_critic(self.extract_features(obs))
        values: Tensor = self.value_net(latent)
        return values

    def get_distribution(self, obs: Any) -> Distribution:
        """Distribution of the actions for observations (B, size); see `predict_values`."""
        latent = self.mlp_extractor.forward_actor(self.extract_features(obs))
        return self._get_action_dist_from_latent(latent)

    def means(self, obs: Tensor) -> Tensor:
        """Mean actions (B, actions), unclipped; `obs` may lack the critic's numbers.

        Raises:
            TypeError: The actor has a memory; see `mean_step`.
        """
        latent = self.mlp_extractor.forward_actor(self.extract_features(obs))
        return self._mean(latent)

    def mean_step(self, obs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Mean actions (B, actions), unclipped, and next states (B, units)."""
        return self.means(obs), state

    def _mean(self, latent: Tensor) -> Tensor:
        """Mean actions (B, actions) of latents of the actor."""
        mean: Tensor = self.action_net(latent)
        return mean

    def observe(self, obs: Tensor) -> None:
        """Take observations (N, size) into the running statistics, if there are any."""


class NavigationPolicy(ActorCritic):
    """SB3 policy with an asymmetric critic; a Gaussian, classes, or both by named parts.

    Inputs have fixed scales, or an encoder with running statistics and convolutions. With
    `units` the actor has a gated recurrent unit (GRU), which remembers an episode; the critic
    has none. States are given and returned: the caller keeps one of `units` numbers for each
    environment, of zeros where an episode begins.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Any,
        *,
        actor_size: int,
        widths: Sequence[int],
        activation: str,
        scales: NDArray[np.float32] | Tensor | None = None,
        encoder: ObservationEncoder | None = None,
        action_parts: Sequence[ActionSpec] | None = None,
        action_bound: tuple[float, float] | None = None,
        units: int = 0,
        **kwargs: Any,
    ) -> None:
        """See `Branches`, `PartsDistribution` and `bounded`; the rest as in SB3."""
        self.action_bound = action_bound
        self.precision = torch.float32
        """Number format of the hidden layers in `evaluate_with_route`."""
        self.route_net: nn.Linear | None = None
        self.units = units
        self._action_parts = action_parts
        size = actor_size if scales is None else len(scales)
        self._branches = (size, widths, ACTIVATIONS[activation])
        self._seen: dict[str, Any] = {
            "actor_size": actor_size,
            "scales": scales,
            "units": units,
            "encoder": encoder,
        }
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        if self._branches[0] > self.actor_size:
            self.route_net = nn.Linear(
                self.mlp_extractor.latent_dim_pi, len(ROUTE_COLUMNS)
            )
            self.optimizer.add_param_group({"params": self.route_net.parameters()})

    @property
    def rounds(self) -> bool:
        """Whether the hidden layers round in updates."""
        return self.precision != torch.float32

    @property
    def actor_size(self) -> int:
        """Numbers of an observation that the actor sees."""
        size: int = self.mlp_extractor.actor_size
        return size

    def _build_mlp_extractor(self) -> None:
        """Make the hidden layers; SB3 makes the head of `action_dist` afterwards."""
        self.mlp_extractor: Any = Branches(*self._branches, **self._seen)
        if self._action_parts is not None:
            self.action_dist = PartsDistribution(self._action_parts)

    def _get_action_dist_from_latent(self, latent_pi: Tensor) -> Distribution:
        if self.action_bound is None:
            return super()._get_action_dist_from_latent(latent_pi)
        mean = bounded(self.action_net(latent_pi), self.action_bound)
        assert isinstance(self.action_dist, DiagGaussianDistribution)
        return self.action_dist.proba_distribution(mean, self.log_std)

    def evaluate_with_route(self, obs: Tensor, actions: Tensor) -> Evaluation:
        """Values (B, 1), log-probabilities (B,), entropy (B,), and route error (B,).

        The route error is how badly the actor's latent predicts the direction of the
        shortest way and its detour, which is given to the critic only: an auxiliary loss that
        teaches the actor what its memory says about the way. None without privileged input.
        """
        with self._rounding(obs):
            latent_pi, latent_vf = self.mlp_extractor(self.extract_features(obs))
        return self._evaluated(latent_pi, latent_vf, obs, actions)

    def _rounding(self, obs: Tensor) -> torch.autocast:
        """The number format of the hidden layers in updates, on the device of `obs`."""
        return torch.autocast(obs.device.type, self.precision, enabled=self.rounds)

    def _evaluated(
        self, latent_pi: Tensor, latent_vf: Tensor, obs: Tensor, actions: Tensor
    ) -> Evaluation:
        """Evaluate `actions` by the latents of actor and critic in `obs`."""
        latent_pi, latent_vf = latent_pi.float(), latent_vf.float()
        distribution = self._get_action_dist_from_latent(latent_pi)
        log_prob, entropy = distribution.log_prob(actions), distribution.entropy()
        values = self.value_net(latent_vf)
        if self.route_net is None:
            return values, log_prob, entropy, None
        columns = [self.mlp_extractor.actor_size + column for column in ROUTE_COLUMNS]
        target = obs[:, columns]
        target[:, 2] = torch.log1p(target[:, 2].clamp(min=0.0))
        error = (self.route_net(latent_pi) - target).square().mean(dim=1)
        return values, log_prob, entropy, error

    def _mean(self, latent: Tensor) -> Tensor:
        """Mean actions (B, actions) of latents of the actor; of choices the likeliest."""
        if self._action_parts is not None:
            return self._get_action_dist_from_latent(latent).mode()
        return bounded(self.action_net(latent), self.action_bound)

    def mean_step(self, obs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Mean actions (B, actions), unclipped, and next states (B, units)."""
        if self.units == 0:
            return self.means(obs), state
        seen = self.mlp_extractor.seen(self.extract_features(obs))
        latent, state = self.mlp_extractor.actor(seen, state)
        return self._mean(latent), state

    def act(self, obs: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Sampled actions (B, A), values (B, 1), log-probabilities (B,), next states.

        Args:
            obs: with the critic's numbers, shape (B, size).
            state: shape (B, units).
        """
        if self.units == 0:
            return *self(obs), state
        extractor, features = self.mlp_extractor, self.extract_features(obs)
        latent, state = extractor.actor(extractor.seen(features), state)
        distribution = self._get_action_dist_from_latent(latent)
        actions = distribution.get_actions()
        log_prob = distribution.log_prob(actions)
        values = self.value_net(extractor.forward_critic(features))
        shape = self.action_space.shape or ()
        return actions.reshape(-1, *shape), values, log_prob, state

    def _unrolled(self, obs: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """States (T, B, units) after each step of sequences; see `GRU.unroll`."""
        seen = self.mlp_extractor.seen(self.extract_features(obs))
        states: Tensor = self.mlp_extractor.actor.unroll(seen, state, starts)
        return states

    def mean_sequences(self, obs: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """Mean actions (T * B, A), unclipped; see `evaluate_sequences`."""
        states = self._unrolled(obs, state, starts).flatten(0, 1)
        return self._mean(self.mlp_extractor.actor.rest(states))

    def advanced(self, obs: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """States (B, units) after the steps of `obs` (T, B, ...), without gradient.

        `state` (B, units) is before the first one.
        """
        if len(obs) == 0:
            return state
        with torch.no_grad(), self._rounding(obs):
            return self._unrolled(obs, state, starts)[-1].float()

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
            states = self._unrolled(obs, state, starts).flatten(0, 1)
            latent = extractor.actor.rest(states)
            critic = extractor.forward_critic(self.extract_features(flat))
        return self._evaluated(latent, critic, flat, actions.flatten(0, 1))

    def observe(self, obs: Tensor) -> None:
        """Take observations (N, size) into the statistics of the encoder, if there is one."""
        if self.mlp_extractor.encoder is not None:
            self.mlp_extractor.encoder.observe(obs.float())


def navigation_kwargs(network: NavigationNetworkConfig) -> dict[str, Any]:
    """Return the arguments of `NavigationPolicy` that settings choose."""
    return {
        "widths": network.net_arch,
        "activation": network.activation_fn,
        "action_bound": network.action_bound,
        "log_std_init": network.log_std_init,
        "units": network.recurrent,
    }
