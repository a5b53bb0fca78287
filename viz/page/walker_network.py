"""The network of a walker as plain layers, for pages that run it without a library."""

from __future__ import annotations

import json

from torch import nn

from ambulo.policies.agents.locomotion import LocomotionAgent
from ambulo.policies.export.network_layers import Dense, packed
from ambulo.policies.networks.normalizer import LIMIT
from ambulo.policies.networks.simulation_nn import SimulationNN
from ambulo.viz.page.bundle import PageError


def walker_network(agent: LocomotionAgent) -> dict[str, bytes]:
    """Return `network.header`, JSON, and `network.weights`, 32-bit floats.

    Numbers of the observation times `scales` are normalised by `mean` and `deviation` and
    clipped to `limit`; then come dense layers in the format of docs/model_format.md.

    Raises:
        PageError: the policy is of another kind, or sees modes or past states.
    """
    policy = agent.policy
    if type(policy) is not SimulationNN or policy.feature_size != agent.layout.size:
        raise PageError("the page runs walkers that see their observation alone")
    name = agent.config.network.activation_fn
    modules = [*policy.mlp_extractor.actor, policy.action_net]
    layers = [
        Dense(
            module.weight.detach().numpy(),
            module.bias.detach().numpy(),
            "none" if module is policy.action_net else name,
        )
        for module in modules
        if isinstance(module, nn.Linear)
    ]
    rows, numbers = packed(layers)
    header = {
        "scales": policy.scales.tolist(),
        "mean": policy.normalizer.mean.tolist(),
        "deviation": policy.normalizer.deviation.tolist(),
        "limit": LIMIT,
        "layers": rows,
    }
    return {
        "network.header": json.dumps(header).encode(),
        "network.weights": numbers.tobytes(),
    }
