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

    def each(self, latent: Tensor) -> Tensor:
        """Actions (B, heads, actions) of every head for latents (B, inputs)."""
        return torch.einsum("kai,bi->bka", self.weight, latent) + self.bias

    def forward(self, latent: Tensor) -> Tensor:
        """Actions (B, actions) for latents with weights of the heads, (B, inputs + heads)."""
        latent, weights = self.split(latent)
        return torch.einsum("bk,bka->ba", weights, self.each(latent))

    def split(self, latent: Tensor) -> tuple[Tensor, Tensor]:
        """Return latents (B, inputs), and the numbers (B, heads) behind them."""
        inputs = self.weight.shape[2]
        return latent[:, :inputs], latent[:, inputs:]


class ModePolicy(SimulationNN):
    """SimulationNN with one action head for each mode that the observation names.

    The trunk is shared, so that movements learn from each other; the head is weighted by
    the mode, so that numbers between two modes blend them.
    """

    @property
    def heads(self) -> int:
        """Number of heads: of modes."""
        first, last = self.columns.modes
        return last - first

    def _build_inputs(self) -> None:
        if self.heads < 1:
            raise ConfigError(
                f"network.policy = {self.network.policy} needs a part mode in the "
                "observation: name two or more clips"
            )

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        latent = self.mlp_extractor.latent_dim_pi
        self.action_net = ModeHeads(latent, self.actions, self.heads)
        self._build_selector()
        # The optimiser that SB3 has made does not have these layers.
        make: Any = self.optimizer_class
        self.optimizer = make(
            self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs
        )

    def _build_selector(self) -> None:
        """Modes weight the heads; nothing selects them."""


class TwoLevelPolicy(ModePolicy):
    """A selector chooses among movement generators; the observation's mode only informs.

    The selector is a classifier over generators; each generator has its own head. An
    action is drawn from the Gaussian of the chosen generator. Its probability is that of
    the whole mixture: selector and generators learn from one exact policy gradient.
    """

    @property
    def heads(self) -> int:
        """Number of generators: as configured, or of modes."""
        return self.network.generators or super().heads

    def _build_selector(self) -> None:
        hidden = self.network.net_arch[:1]
        self.selector = perceptron(
            self.feature_size, hidden, ACTIVATIONS[self.network.activation_fn]
        )
        choice = nn.Linear(hidden[0], self.heads)
        nn.init.orthogonal_(choice.weight, 0.01)
        nn.init.zeros_(choice.bias)
        self.selector.append(choice)

    def extract_features(self, obs: Any, features_extractor: Any = None) -> Any:
        """Features (B, feature_size + heads): the last ones are the selector's scores."""
        features = super().extract_features(obs, features_extractor)
        return torch.cat([features, self.selector(features)], dim=1)

    def _get_action_dist_from_latent(self, latent_pi: Tensor) -> Distribution:
        heads: Any = self.action_net
        latent, scores = heads.split(latent_pi)
        return MixtureOfGaussians(scores, heads.each(latent), self.log_std)

    def _mean(self, latent: Tensor) -> Tensor:
        """Mean (B, actions) of the likeliest generator."""
        return self._get_action_dist_from_latent(latent).mode()

    def choices(self, obs: Tensor) -> Tensor:
        """Probability (B, K) of each generator."""
        return torch.softmax(self.extract_features(obs)[:, -self.heads :], dim=1)


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
