"""Trained agents for other programs: ONNX, and JSON with raw weights.

Both map raw observations (N, size) to actions: means clipped to [-1, 1], or the index
of the best class. Input scaling is part of the first layer; there is no noise.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from ambulo.configs.errors import ModelFileError
from ambulo.policies.agents.navigation import Agent
from ambulo.policies.files.archive import write_atomic

OPSET = 18
IR_VERSION = 8
"""ONNX file version that belongs to the operator set, read by old runtimes too."""
TOLERANCE = 1e-5
"""Largest difference between an export and the agent."""
FORMAT = "ambulo-mlp"
VERSION = 1
_SAMPLES = 64

Floats = NDArray[np.float32]


def export_onnx(agent: Agent, path: str | os.PathLike[str]) -> None:
    """Write `agent` as one ONNX file and check it with ONNX Runtime.

    Input `observation` (N, size) float32; output `action` (N, 3) float32, (N,) int64.
    The metadata `ambulo` of the file holds the header of `export_json`.

    Raises:
        ModelFileError: it cannot be written, or does not act like the agent.
    """
    file = Path(path)
    data = _onnx_model(agent)
    check_export(agent, _onnx_runner(data), str(file))
    write_atomic(file, data)


def export_json(agent: Agent, path: str | os.PathLike[str]) -> Path:
    """Write `agent` as a JSON header `path` and raw weights beside it (`.bin`).

    The format is docs/model_format.md.

    Returns:
        The weights file.

    Raises:
        ModelFileError: it cannot be written, or does not act like the agent.
    """
    file = Path(path)
    if file.suffix != ".json":
        raise ModelFileError(f"{file}: the header must end in .json")
    weights = file.with_suffix(".bin")
    layers = folded_layers(agent)
    header = _header(agent)
    blocks: list[Floats] = []
    at = 0
    for i, (weight, bias) in enumerate(layers):
        last = i == len(layers) - 1
        row: dict[str, Any] = {
            "inputs": weight.shape[1],
            "outputs": weight.shape[0],
            "activation": "none" if last else agent.config.network.activation_fn,
        }
        for name, block in (("weight", weight), ("bias", bias)):
            row[name] = at
            at += block.size
            blocks.append(block.astype("<f4").ravel())
        header["layers"].append(row)
    data = np.concatenate(blocks)
    example = _observations(agent)[:1]
    header["weights"] = {"file": weights.name, "type": "float32 little-endian"}
    header["weights"]["numbers"] = at
    header["test"] = {
        "observation": example[0].tolist(),
        "action": agent.act(example, deterministic=True)[0].tolist(),
    }
    check_export(agent, lambda obs: run_json(header, data, obs), str(file))
    write_atomic(weights, data.tobytes())
    write_atomic(file, (json.dumps(header, indent=1) + "\n").encode())
    return weights


def run_json(header: dict[str, Any], weights: Floats, obs: Floats) -> NDArray[Any]:
    """Actions of the exported network, in numpy alone."""
    x = obs
    for layer in header["layers"]:
        shape = (layer["outputs"], layer["inputs"])
        matrix = weights[layer["weight"] :][: shape[0] * shape[1]].reshape(shape)
        x = x @ matrix.T + weights[layer["bias"] :][: shape[0]]
        x = _ACTIVATIONS[layer["activation"]](x)
    if header["output"] == "argmax":
        return np.argmax(x, axis=1)
    if header["output"] == "bound":
        stick, rotation = header["bound"]
        length = np.sqrt((x[:, :2] ** 2).sum(axis=1, keepdims=True) + 1e-12)
        v = x[:, :2] * (stick * np.tanh(length / stick) / length)
        x = np.hstack([v, rotation * np.tanh(x[:, 2:] / rotation)])
    return np.clip(x, -1, 1)


_ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "none": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "silu": lambda x: x / (1 + np.exp(-x)),
}


def folded_layers(agent: Agent) -> list[tuple[Floats, Floats]]:
    """Weight (outputs, inputs) and bias of each layer; the first one scales.

    Raises:
        ModelFileError: The agent normalises and clips observations before its layers.
    """
    if agent.statistics is not None:
        raise ModelFileError(
            "the statistics of vecnormalize.pkl clip observations, which no export does yet; "
            "move the file away to export the bare network"
        )
    modules = [*agent.actor.hidden, agent.actor.head]
    layers = [
        (module.weight.detach().numpy(), module.bias.detach().numpy())
        for module in modules
        if isinstance(module, nn.Linear)
    ]
    weight, bias = layers[0]
    return [(weight * agent.actor.scales.numpy(), bias), *layers[1:]]


def _onnx_model(agent: Agent) -> bytes:
    """The network as ONNX, written node by node: the same bytes on every machine."""
    from onnx import TensorProto, checker, helper, numpy_helper

    layers = folded_layers(agent)
    nodes: list[Any] = []
    weights: list[Any] = []
    at = "observation"
    for i, (weight, bias) in enumerate(layers):
        names = [f"weight_{i}", f"bias_{i}"]
        weights += map(numpy_helper.from_array, (weight, bias), names)
        out = f"layer_{i}"
        nodes.append(helper.make_node("Gemm", [at, *names], [out], transB=1))
        at = out
        if i < len(layers) - 1:
            at = f"hidden_{i}"
            nodes += _onnx_activation(agent.config.network.activation_fn, out, at)
    output: list[str | int] = ["batch", agent.metadata.action.size]
    if agent.discrete:
        nodes.append(helper.make_node("ArgMax", [at], ["action"], axis=1, keepdims=0))
        kind, shape = TensorProto.INT64, output[:1]
    else:
        limits = {"low": -1.0, "high": 1.0}
        for name, value in limits.items():
            limit = np.array(value, np.float32)
            weights.append(numpy_helper.from_array(limit, name))
        if agent.actor.bound is not None:
            bound_nodes, bound_weights = _onnx_bound(at, "bounded", agent.actor.bound)
            nodes += bound_nodes
            weights += bound_weights
            at = "bounded"
        nodes.append(helper.make_node("Clip", [at, *limits], ["action"]))
        kind, shape = TensorProto.FLOAT, output
    size = agent.metadata.observation_size
    graph = helper.make_graph(
        nodes,
        "policy",
        [
            helper.make_tensor_value_info(
                "observation", TensorProto.FLOAT, ["batch", size]
            )
        ],
        [helper.make_tensor_value_info("action", kind, shape)],
        weights,
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="ambulo",
    )
    helper.set_model_props(model, {"ambulo": json.dumps(_header(agent))})
    checker.check_model(model, full_check=True)
    data: bytes = model.SerializeToString(deterministic=True)
    return data


def _onnx_activation(name: str, x: str, out: str) -> list[Any]:
    """Nodes of one activation."""
    from onnx import helper

    if name == "silu":
        gate = f"{x}_gate"
        return [
            helper.make_node("Sigmoid", [x], [gate]),
            helper.make_node("Mul", [x, gate], [out]),
        ]
    operator = {"relu": "Relu", "tanh": "Tanh", "elu": "Elu"}[name]
    return [helper.make_node(operator, [x], [out])]


def _onnx_bound(
    x: str, out: str, bound: tuple[float, float]
) -> tuple[list[Any], list[Any]]:
    """Nodes and weights of `ambulo.policies.networks.actor_critic.bounded`."""
    from onnx import helper, numpy_helper

    constants: dict[str, NDArray[Any]] = {
        "bound_stick": np.array(bound[0], np.float32),
        "bound_rotation": np.array(bound[1], np.float32),
        "bound_tiny": np.array(1e-12, np.float32),
        "bound_axis": np.array([1], np.int64),
        "bound_parts": np.array([2, 1], np.int64),
    }
    rows: tuple[tuple[str, list[str], list[str], dict[str, Any]], ...] = (
        ("Split", [x, "bound_parts"], ["stick", "turn"], {"axis": 1}),
        ("Mul", ["stick", "stick"], ["stick_square"], {}),
        ("ReduceSum", ["stick_square", "bound_axis"], ["stick_sum"], {}),
        ("Add", ["stick_sum", "bound_tiny"], ["stick_safe"], {}),
        ("Sqrt", ["stick_safe"], ["stick_length"], {}),
        ("Div", ["stick_length", "bound_stick"], ["stick_share"], {}),
        ("Tanh", ["stick_share"], ["stick_tanh"], {}),
        ("Div", ["stick_tanh", "stick_share"], ["stick_factor"], {}),
        ("Mul", ["stick", "stick_factor"], ["stick_bounded"], {}),
        ("Div", ["turn", "bound_rotation"], ["turn_share"], {}),
        ("Tanh", ["turn_share"], ["turn_tanh"], {}),
        ("Mul", ["turn_tanh", "bound_rotation"], ["turn_bounded"], {}),
        ("Concat", ["stick_bounded", "turn_bounded"], [out], {"axis": 1}),
    )
    nodes = [helper.make_node(op, ins, outs, **kw) for op, ins, outs, kw in rows]
    weights = [numpy_helper.from_array(array, n) for n, array in constants.items()]
    return nodes, weights


def output_stage(agent: Agent) -> str:
    """What follows the last layer: `argmax`, `bound` (then clip) or `clip`."""
    if agent.discrete:
        return "argmax"
    return "clip" if agent.actor.bound is None else "bound"


def _header(agent: Agent) -> dict[str, Any]:
    metadata = agent.metadata
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": metadata.kind,
        "num_timesteps": metadata.num_timesteps,
        "observation_size": metadata.observation_size,
        "observation": agent.layout.schema(),
        "action": metadata.action.model_dump(mode="json"),
        "output": output_stage(agent),
        "bound": agent.actor.bound,
        "config": metadata.config.model_dump(mode="json"),
        "layers": [],
    }


def _observations(agent: Agent) -> Floats:
    """Raw observations of plausible size: noise in the units that scaling makes one."""
    rng = np.random.default_rng(0)
    scales = agent.actor.scales.numpy()
    noise = rng.normal(size=(_SAMPLES, len(scales)))
    return (noise / np.where(scales > 0, scales, 1)).astype(np.float32)


def _onnx_runner(data: bytes) -> Callable[[Floats], NDArray[Any]]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        data, options, providers=["CPUExecutionProvider"]
    )
    return lambda obs: session.run(["action"], {"observation": obs})[0]


def check_export(
    agent: Agent, run: Callable[[Floats], NDArray[Any]], source: str
) -> None:
    """Refuse an export that does not act like the agent, on one env and on many."""
    obs = _observations(agent)
    for rows in (obs[:1], obs):
        want, got = agent.act(rows, deterministic=True), run(rows)
        if agent.discrete:
            wrong = float((want != got).mean())
            limit = 0.0
        else:
            wrong, limit = float(np.abs(want - got).max()), TOLERANCE
        if not wrong <= limit:
            raise ModelFileError(
                f"{source}: the export differs from the agent by {wrong:.2g}, "
                f"at most {limit:g} is allowed"
            )
