"""SimulationNN: the actor-critic of a simulated body, as an SB3 policy.

The actor is a diagonal Gaussian over moves of joint targets; actor and critic are
separate perceptrons over observations that running statistics normalise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from torch import Tensor, nn

from ambulo.configs.simulation_nn import SimulationNetworkConfig
from ambulo.policies.networks.actor_critic import ActorCritic
from ambulo.policies.networks.branches import ACTIVATIONS, Branches
from ambulo.policies.networks.normalizer import Normalizer


@dataclass(frozen=True)
class Columns:
    """Where the parts of an observation lie that a policy treats on their own."""

    size: int
    """Numbers of the observation in all."""
    modes: tuple[int, int] = (0, 0)
    """First column of the mode (one-hot) and one behind its last; equal: none."""
    history: tuple[int, int] = (0, 0)
    """Columns of the last states of the body, flat, 112 numbers each."""

    @classmethod
    def of(cls, schema: Sequence[dict[str, Any]]) -> Columns:
        """From the rows of an observation layout: parts `mode` and `motion_history`."""
        found = {row["name"]: (int(row["start"]), int(row["stop"])) for row in schema}
        return cls(
            int(schema[-1]["stop"]),
            found.get("mode", (0, 0)),
            found.get("motion_history", (0, 0)),
        )

    @property
    def own(self) -> NDArray[np.int64]:
        """Columns of what is neither mode nor history."""
        taken = [np.arange(*self.modes), np.arange(*self.history)]
        return np.setdiff1d(np.arange(self.size), np.concatenate(taken))


class SimulationNN(ActorCritic):
    """Gaussian actor and separate critic over normalised observations.

    Mode columns pass as they are. History columns, if any, are left out: they are for
    `SimulationNNWithPrior`.
    """

    own: Tensor
    scales: Tensor

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Any,
        *,
        columns: Columns,
        scales: NDArray[np.float32],
        network: SimulationNetworkConfig,
        **kwargs: Any,
    ) -> None:
        """As SB3's policy, with normalised observations.

        Args:
            observation_space: Box (size,).
            action_space: Box (actions,).
            lr_schedule: step size by the remaining fraction.
            columns: parts of the observation.
            scales: fixed factor of each number of the observation, (size,).
            network: settings.
            **kwargs: passed on.
        """
        self.columns, self.network = columns, network
        self._own_scales = torch.as_tensor(np.asarray(scales, np.float32)[columns.own])
        super().__init__(
            observation_space,
            action_space,
            lr_schedule,
            log_std_init=network.log_std_init,
            **kwargs,
        )
        if network.zero_start:
            for parameter in self.action_net.parameters():
                nn.init.zeros_(parameter)
        if not network.learn_std:
            self.log_std.requires_grad_(False)

    @property
    def heads(self) -> int:
        """Numbers at the end of the features that weight heads of the actor; see `Branches`."""
        return 0

    @property
    def actions(self) -> int:
        """Size of an action."""
        assert isinstance(self.action_space, spaces.Box)
        return int(np.prod(self.action_space.shape))

    @property
    def feature_size(self) -> int:
        """Numbers that actor and critic see."""
        first, last = self.columns.modes
        return len(self.columns.own) + last - first

    def _build_mlp_extractor(self) -> None:
        """Hidden layers and the normaliser; called when the policy is built."""
        own = torch.as_tensor(self.columns.own)
        self.register_buffer("own", own, persistent=False)
        self.register_buffer("scales", self._own_scales)
        self.normalizer = Normalizer(len(own), self.network.normalize_samples)
        self._build_inputs()
        self.mlp_extractor: Any = Branches(
            self.feature_size,
            self.network.net_arch,
            ACTIVATIONS[self.network.activation_fn],
            heads=self.heads,
        )

    def _build_inputs(self) -> None:
        """Check or build what the features of a kind of policy need."""

    def extract_features(self, obs: Any, features_extractor: Any = None) -> Any:
        """Features (B, feature_size) of observations (B, size)."""
        obs = obs.float()
        first, last = self.columns.modes
        own = self.normalizer(obs[:, self.own] * self.scales)
        return torch.cat([own, obs[:, first:last]], dim=1) if last > first else own

    def observe(self, obs: Tensor) -> None:
        """Take observations (N, size) into the running statistics."""
        self.normalizer.update(obs.float()[:, self.own] * self.scales)
