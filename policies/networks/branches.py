"""Hidden layers of actor and critic: perceptrons, the actor's with a GRU if it remembers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ambulo.policies.networks.gru import GRU
from ambulo.policies.networks.observation_encoder import ObservationEncoder

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "elu": nn.ELU,
    "silu": nn.SiLU,
}


def perceptron(
    inputs: int, widths: Sequence[int], activation: type[nn.Module]
) -> nn.Sequential:
    """Hidden layers of the given widths, orthogonal initialisation."""
    layers: list[nn.Module] = []
    for width in widths:
        layer = nn.Linear(inputs, width)
        nn.init.orthogonal_(layer.weight, 2.0**0.5)
        nn.init.zeros_(layer.bias)
        layers += [layer, activation()]
        inputs = width
    return nn.Sequential(*layers)


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

    @property
    def modules_in_order(self) -> list[nn.Module]:
        """Its layers and activations."""
        return [*self.first, self.gru, *self.rest]

    def forward(self, seen: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Latents (B, latent) and states (B, units) after one step."""
        state = self.gru(self.first(seen), state)
        return self.rest(state), state

    def unroll(self, seen: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """States (T, B, units) after each step of `seen` (T, B, inputs); see `GRU`."""
        return self.gru.unroll(self.first(seen), state, starts)


class Branches(nn.Module):
    """Separate hidden layers: the actor sees the first `actor_size` features, the critic all.

    With fixed `scales`, features are multiplied by them first; with an `encoder` it computes
    them from observations, for both. The last `heads` features, weights of the actor's heads,
    also stand behind its latent.
    """

    scales: Tensor | None

    def __init__(
        self,
        inputs: int,
        widths: Sequence[int],
        activation: type[nn.Module],
        *,
        actor_size: int | None = None,
        scales: NDArray[np.float32] | Tensor | None = None,
        units: int = 0,
        encoder: ObservationEncoder | None = None,
        heads: int = 0,
    ) -> None:
        """For features (..., inputs), or more; `units` of the actor's GRU, 0: without one."""
        super().__init__()
        self.inputs, self.heads = inputs, heads
        self.actor_size = inputs if actor_size is None else actor_size
        self.encoder = encoder
        actor_inputs = self.actor_size
        if encoder is not None:
            actor_inputs = inputs = encoder.size
        self.register_buffer(
            "scales", None if scales is None else torch.as_tensor(scales)
        )
        self.actor: nn.Sequential | RecurrentActor
        self.latent_dim_pi = self.latent_dim_vf = widths[-1]
        if units > 0:
            self.actor = RecurrentActor(actor_inputs, widths, activation, units)
            self.latent_dim_pi = self.actor.latent
        else:
            self.actor = perceptron(actor_inputs, widths, activation)
        self.critic = perceptron(inputs, widths, activation)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Latents of actor and critic, each (B, width)."""
        if self.encoder is not None:
            encoded = self.encoder(features)
            return self.actor(encoded), self.critic(encoded)
        return self.forward_actor(features), self.forward_critic(features)

    def seen(self, features: Tensor) -> Tensor:
        """Input of the actor, scaled; `features` may lack the critic's numbers."""
        size, scales = self.actor_size, self.scales
        part = features if features.shape[-1] == size else features[..., :size]
        if self.encoder is not None:
            encoded: Tensor = self.encoder(part)
            return encoded
        return part if scales is None else part * scales[:size]

    def forward_actor(self, features: Tensor) -> Tensor:
        """Latent of the actor; `TypeError` for one with a state, which needs it."""
        if isinstance(self.actor, RecurrentActor):
            raise TypeError("a recurrent policy acts with its state: use `act`")
        latent: Tensor = self.actor(self.seen(features))
        if self.heads:
            return torch.cat([latent, features[..., -self.heads :]], dim=-1)
        return latent

    def forward_critic(self, features: Tensor) -> Tensor:
        """Latent of the critic."""
        scales = self.scales
        if self.encoder is not None:
            features = self.encoder(features)
        elif features.shape[-1] > self.inputs:
            features = features[..., : self.inputs]
        latent: Tensor = self.critic(features if scales is None else features * scales)
        return latent
