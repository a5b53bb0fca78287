"""The critic of a model file, which only a baseline asks: acting needs none."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from ambulo.configs.arrays import Singles
from ambulo.policies.agents.navigation import NavigationModel
from ambulo.policies.networks.actor_critic import ACTIVATIONS

Critic = Callable[[Singles], Singles]
"""Observations with the privileged numbers (N, size) to values (N,)."""
_PREFIX = "mlp_extractor.critic"


def critic_of(model: NavigationModel) -> Critic | None:
    """Return the critic of `model`; None: it has none, or one of another form."""
    weights, network = model.weights, model.metadata.config.network
    count = len(network.net_arch)
    names = [f"{_PREFIX}.{2 * k}" for k in range(count)] + ["value_net"]
    if not all(f"{name}.weight" in weights for name in names):
        return None
    layers: list[nn.Module] = []
    with torch.random.fork_rng(devices=[]):
        for name in names:
            weight = weights[f"{name}.weight"]
            layer = nn.Linear(weight.shape[1], weight.shape[0])
            layer.load_state_dict({"weight": weight, "bias": weights[f"{name}.bias"]})
            layers += [layer, ACTIVATIONS[network.activation_fn]()]
    critic, scales = nn.Sequential(*layers[:-1]), weights["mlp_extractor.scales"]

    def values(observations: Singles) -> Singles:
        with torch.inference_mode():
            seen = torch.as_tensor(observations) * scales
            found: Singles = critic(seen)[:, 0].numpy()
        return found

    return values
