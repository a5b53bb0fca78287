"""SimulationNNWithPrior: a policy that also sees what a motion network makes of the past."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ambulo.configs.errors import ConfigError
from ambulo.configs.motion_nn import MotionNNConfig
from ambulo.policies.networks.motion_nn import MotionNN
from ambulo.policies.networks.motion_state import STATE_SIZE
from ambulo.policies.networks.simulation_nn import SimulationNN

ENCODED_TOGETHER = 1024
"""States that are encoded at once outside of minibatches."""


class SimulationNNWithPrior(SimulationNN):
    """SimulationNN whose actor and critic also see the encoding of the body's last states.

    The encoder comes trained and is frozen until `unfreeze`; a layer norm, which learns
    from the start, brings its features to the size of the rest.
    """

    def __init__(
        self, *args: Any, encoder: MotionNNConfig | MotionNN, **kwargs: Any
    ) -> None:
        """As `SimulationNN`.

        Args:
            *args: passed on.
            encoder: a trained network (its weights are shared, not copied), or the
                settings of one whose weights come with `load_state_dict`.
            **kwargs: passed on.
        """
        self._given = (encoder,)  # a module may not be an attribute yet
        super().__init__(*args, **kwargs)

    def _build_inputs(self) -> None:
        first, last = self.columns.history
        if last <= first or (last - first) % STATE_SIZE:
            raise ConfigError(
                "network.policy = prior needs a part motion_history of whole states of "
                f"{STATE_SIZE} numbers in the observation, got {last - first} numbers"
            )
        (given,) = self._given
        network = given if isinstance(given, MotionNN) else MotionNN(given)
        self.encoder: MotionNN = network
        self.encoder.requires_grad_(False).eval()
        self.frozen = True
        self.scale_features = nn.LayerNorm(self.encoder.size)

    @property
    def feature_size(self) -> int:
        """Numbers that actor and critic see."""
        return super().feature_size + self.encoder.size

    def unfreeze(self) -> None:
        """From now on the encoder learns with the policy."""
        self.frozen = False
        self.encoder.trunk.requires_grad_(True)

    def set_training_mode(self, mode: bool) -> None:
        """As SB3, but the encoder never drops anything out."""
        super().set_training_mode(mode)
        self.encoder.eval()

    def extract_features(self, obs: Any, features_extractor: Any = None) -> Any:
        """Features (B, feature_size) of observations (B, size)."""
        size = self.columns.size
        rest = super().extract_features(obs[:, :size], features_extractor)
        given = obs.shape[1] > size
        codes = obs[:, size:].float() if given else self._encoded(obs)
        return torch.cat([rest, self.scale_features(codes)], dim=1)

    def prepared(self, obs: Tensor) -> Tensor:
        """Observations (B, size) with their encodings behind them while those are fixed.

        The epochs of an update then need not encode the same states again.
        """
        if not self.frozen:
            return obs
        codes = [self._encoded(part) for part in torch.split(obs, ENCODED_TOGETHER)]
        return torch.cat([obs, torch.cat(codes)], dim=1)

    def _encoded(self, obs: Tensor) -> Tensor:
        """The encoding (B, width) of the history in `obs`."""
        states = obs.float()[:, slice(*self.columns.history)]
        states = states.reshape(states.shape[0], -1, STATE_SIZE)
        if not self.frozen:
            return self.encoder.encode(states)
        with torch.no_grad():
            return self.encoder.encode(states)
