"""Policies for several motions: the motion is an input, or chosen by the policy."""

from __future__ import annotations

import math
from typing import Any

import torch
from stable_baselines3.common.distributions import Distribution
from torch import Tensor, nn
from torch.nn import functional

from ambulo.configs.errors import ConfigError
from ambulo.policies.networks.branches import ACTIVATIONS, perceptron
from ambulo.policies.networks.simulation_nn import SimulationNN


class ModeHeads(nn.Module):
    """One linear head for each of several movements."""

    def __init__(self, inputs: int, actions: int, heads: int) -> None:
        """Small weights: fresh heads hardly move anything."""
        super().__init__()
        self.weight = nn.Parameter(torch.empty(heads, actions, inputs))
        self.bias = nn.Parameter(torch.zeros(heads, actions))
        for head in self.weight:
            nn.init.orthogonal_(head, 0.01)

    def forward(self, latent: Tensor) -> Tensor:
        """Actions (B, heads, actions) of every head for latents (B, inputs)."""
        return torch.einsum("kai,bi->bka", self.weight, latent) + self.bias


class ModePolicy(SimulationNN):
    """SimulationNN with one action head for each mode that the observation names.

    The trunk is shared, so that movements learn from each other; the head is weighted by
    the mode, so that numbers between two modes blend them.
    """

    def _build_inputs(self) -> None:
        first, last = self.columns.modes
        if last <= first:
            raise ConfigError(
                f"network.policy = {self.network.policy} needs a part mode in the "
                "observation: name two or more clips"
            )

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        inputs, actions = self.mlp_extractor.latent_dim_pi, self.actions
        first, last = self.columns.modes
        self.action_net = ModeHeads(inputs, actions, last - first)
        _renew_optimizer(self, lr_schedule)

    def _latents(self, obs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Latents of actor and critic, and modes (B, K)."""
        latent_pi, latent_vf = self.mlp_extractor(self.extract_features(obs))
        return latent_pi, latent_vf, obs.float()[:, slice(*self.columns.modes)]

    def _distribution(self, latent: Tensor, modes: Tensor) -> Distribution:
        mean = self._mean(latent, modes)
        found: Distribution = self.action_dist.proba_distribution(mean, self.log_std)
        return found

    def _mean(self, latent: Tensor, modes: Tensor) -> Tensor:
        """Mean actions (B, actions)."""
        return torch.einsum("bk,bka->ba", modes, self.action_net(latent))

    def forward(
        self, obs: Tensor, deterministic: bool = False
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Actions (B, actions), values (B, 1), log-probabilities (B,)."""
        latent_pi, latent_vf, modes = self._latents(obs)
        distribution = self._distribution(latent_pi, modes)
        actions = distribution.get_actions(deterministic=deterministic)
        return actions, self.value_net(latent_vf), distribution.log_prob(actions)

    def evaluate_actions(
        self, obs: Any, actions: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Values (B, 1), log-probabilities (B,) and entropies (B,) of `actions`."""
        latent_pi, latent_vf, modes = self._latents(obs)
        distribution = self._distribution(latent_pi, modes)
        log_prob = distribution.log_prob(actions)
        return self.value_net(latent_vf), log_prob, distribution.entropy()

    def get_distribution(self, obs: Any) -> Distribution:
        """Of the actions for observations (B, size)."""
        latent_pi, _, modes = self._latents(obs)
        return self._distribution(latent_pi, modes)

    def means(self, obs: Tensor) -> Tensor:
        """Mean actions (B, actions), unclipped."""
        latent_pi, _, modes = self._latents(obs)
        return self._mean(latent_pi, modes)


class TwoLevelPolicy(ModePolicy):
    """A selector chooses among movement generators; the observation's mode only informs.

    The selector is a classifier over generators; each generator has its own head. An
    action is drawn from the Gaussian of the chosen generator. Its probability is that of
    the whole mixture: selector and generators learn from one exact policy gradient.
    """

    def _build_inputs(self) -> None:
        """Modes are needed only to know how many generators to make."""
        if self.network.generators is None:
            super()._build_inputs()

    def _build(self, lr_schedule: Any) -> None:
        super(ModePolicy, self)._build(lr_schedule)
        network = self.network
        first, last = self.columns.modes
        heads = network.generators or last - first
        latent, actions = self.mlp_extractor.latent_dim_pi, self.actions
        self.action_net = ModeHeads(latent, actions, heads)
        hidden = network.net_arch[:1]
        self.selector = perceptron(
            self.feature_size, hidden, ACTIVATIONS[network.activation_fn]
        )
        choice = nn.Linear(hidden[0], heads)
        nn.init.orthogonal_(choice.weight, 0.01)
        nn.init.zeros_(choice.bias)
        self.selector.append(choice)
        _renew_optimizer(self, lr_schedule)

    def _latents(self, obs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Latents of actor and critic, and the selector's scores (B, K)."""
        features = self.extract_features(obs)
        latent_pi, latent_vf = self.mlp_extractor(features)
        return latent_pi, latent_vf, self.selector(features)

    def _distribution(self, latent: Tensor, modes: Tensor) -> Distribution:
        return MixtureOfGaussians(modes, self.action_net(latent), self.log_std)

    def _mean(self, latent: Tensor, modes: Tensor) -> Tensor:
        """Mean (B, actions) of the likeliest generator."""
        return self._distribution(latent, modes).mode()

    def choices(self, obs: Tensor) -> Tensor:
        """Probability (B, K) of each generator."""
        return torch.softmax(self.selector(self.extract_features(obs)), dim=1)


class MixtureOfGaussians(Distribution):
    """A choice among K diagonal Gaussians of one width, and a draw from the chosen one."""

    def __init__(self, scores: Tensor, means: Tensor, log_std: Tensor) -> None:
        """Scores (B, K), means (B, K, A) and log standard deviations (A,)."""
        super().__init__()  # type: ignore[no-untyped-call]
        self._log_choice = functional.log_softmax(scores, dim=1)
        self._means, self._log_std = means, log_std

    def proba_distribution_net(self, *args: Any, **kwargs: Any) -> Any:
        """The networks belong to the policy."""
        raise NotImplementedError

    def proba_distribution(self, *args: Any, **kwargs: Any) -> MixtureOfGaussians:
        """Made whole by the constructor."""
        return self

    def log_prob(self, actions: Tensor) -> Tensor:
        """Log density (B,) of `actions` (B, A) under the whole mixture."""
        z = (actions[:, None] - self._means) * torch.exp(-self._log_std)
        constant = self._log_std.sum() + 0.5 * len(self._log_std) * math.log(
            2 * math.pi
        )
        each = -0.5 * z.square().sum(dim=2) - constant
        return torch.logsumexp(self._log_choice + each, dim=1)

    def entropy(self) -> Tensor:
        """An upper bound (B,): that of the choice plus that of a Gaussian."""
        choice = -(self._log_choice.exp() * self._log_choice).sum(dim=1)
        return choice + (self._log_std + 0.5 * math.log(2 * math.pi * math.e)).sum()

    def sample(self) -> Tensor:
        """A draw (B, A)."""
        chosen = torch.multinomial(self._log_choice.exp(), 1)[:, 0]
        mean = self._means[torch.arange(len(chosen)), chosen]
        return mean + torch.exp(self._log_std) * torch.randn_like(mean)

    def mode(self) -> Tensor:
        """The mean (B, A) of the likeliest Gaussian."""
        chosen = self._log_choice.argmax(dim=1)[:, None, None]
        return self._means.gather(1, chosen.expand(-1, 1, self._means.shape[2]))[:, 0]

    def actions_from_params(self, *args: Any, **kwargs: Any) -> Tensor:
        """Made whole by the constructor."""
        return self.get_actions()

    def log_prob_from_params(self, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """A draw and its log density."""
        actions = self.get_actions()
        return actions, self.log_prob(actions)


def _renew_optimizer(policy: SimulationNN, lr_schedule: Any) -> None:
    """An optimiser that knows of layers made after SB3 had made its own."""
    make: Any = policy.optimizer_class
    settings = policy.optimizer_kwargs
    policy.optimizer = make(policy.parameters(), lr=lr_schedule(1), **settings)
