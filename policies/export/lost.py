"""The head that says when an agent is lost, in files for other programs.

It has layers of its own behind the agent's last hidden layer; their output is a logit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.errors import ModelFileError
from ambulo.policies.agents.navigation import Agent
from ambulo.policies.export.network_layers import Dense, packed, stepped

TOLERANCE = 1e-5
"""Largest difference between the probability of an export and the agent's."""
OUTPUT = "lost"
"""Name of the output of graphs, and of the key of headers."""

Floats = NDArray[np.float32]


def lost_layers(agent: Agent) -> list[Dense]:
    """Return the layers of the head; empty without one."""
    if agent.lost_head is None:
        return []
    pairs = agent.lost_head.linear_layers()
    names = ["relu"] * (len(pairs) - 1) + ["none"]
    return [Dense(*pair, name) for pair, name in zip(pairs, names, strict=True)]


def with_lost(agent: Agent, header: dict[str, Any], numbers: Floats) -> Floats:
    """Add the head to a `header` whose layers are in `numbers`, and return all numbers.

    Without a head both stay as they are.
    """
    layers = lost_layers(agent)
    if not layers:
        return numbers
    rows, more = packed(layers, numbers.size)
    header[OUTPUT] = {"layers": rows}
    return np.concatenate([numbers, more])


def lost_of_file(header: Mapping[str, Any], numbers: Floats, obs: Floats) -> Floats:
    """Return the probabilities (N,) of a file at the beginning of episodes, in numpy alone."""
    state = np.zeros((len(obs), header.get("state_size", 0)), np.float32)
    latent, _ = stepped(header["layers"][:-1], numbers, obs, state)
    logit, _ = stepped(header[OUTPUT]["layers"], numbers, latent, state)
    chances: Floats = np.exp(-np.logaddexp(0.0, -logit[:, 0]))
    return chances


def lost_nodes(agent: Agent, latent: str) -> tuple[list[Any], list[Any], list[Any]]:
    """Nodes, weights and outputs of an ONNX graph behind its value `latent`.

    All three are empty without a head.
    """
    from onnx import TensorProto, helper, numpy_helper

    nodes: list[Any] = []
    weights: list[Any] = []
    layers = lost_layers(agent)
    if not layers:
        return [], [], []
    at = latent
    for i, layer in enumerate(layers):
        names = [f"lost_weight_{i}", f"lost_bias_{i}"]
        arrays = (layer.weight, layer.bias)
        weights += map(numpy_helper.from_array, arrays, names)
        out = f"lost_layer_{i}"
        nodes.append(helper.make_node("Gemm", [at, *names], [out], transB=1))
        at = out
        if layer.activation == "relu":
            at = f"lost_hidden_{i}"
            nodes.append(helper.make_node("Relu", [out], [at]))
    weights.append(numpy_helper.from_array(np.array([1], np.int64), "lost_axis"))
    nodes.append(helper.make_node("Sigmoid", [at], ["lost_column"]))
    nodes.append(helper.make_node("Squeeze", ["lost_column", "lost_axis"], [OUTPUT]))
    port = helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["batch"])
    return nodes, weights, [port]


def check_lost(
    agent: Agent, run: Callable[[Floats], Floats], obs: Floats, source: str
) -> None:
    """Refuse an export whose probabilities differ from the agent's; none without a head.

    Args:
        agent: The agent.
        run: Observations (N, size) at the beginning of episodes to probabilities (N,).
        obs: Observations to try.
        source: Begins the error.
    """
    if agent.lost_head is None:
        return
    own = agent.copy()
    own.act(obs)
    want = own.lost
    assert want is not None
    wrong = float(np.abs(want - run(obs)).max())
    if not wrong <= TOLERANCE:
        raise ModelFileError(
            f"{source}: the probability of being lost differs from the agent's by "
            f"{wrong:.2g}, at most {TOLERANCE:g} is allowed"
        )
