"""Navigation agents as ONNX graphs, written node by node."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.policies.agents.navigation import Agent
from ambulo.policies.export.network_layers import Gated, Layer

OPSET = 18
IR_VERSION = 8
"""ONNX file version that belongs to the operator set, read by old runtimes too."""

Floats = NDArray[np.float32]


def onnx_model(agent: Agent, layers: Sequence[Layer], header: dict[str, Any]) -> bytes:
    """The network as ONNX, written node by node: the same bytes on every machine.

    `header` becomes the metadata `ambulo` of the file.
    """
    from onnx import TensorProto, checker, helper, numpy_helper

    nodes: list[Any] = []
    weights: list[Any] = []
    at = "observation"
    for i, layer in enumerate(layers):
        if isinstance(layer, Gated):
            gated, constants = _gru(at, i, layer)
            nodes += gated
            weights += constants
            at = "next_state"
            continue
        names = [f"weight_{i}", f"bias_{i}"]
        arrays = (layer.weight, layer.bias)
        weights += map(numpy_helper.from_array, arrays, names)
        out = f"layer_{i}"
        nodes.append(helper.make_node("Gemm", [at, *names], [out], transB=1))
        at = out
        if layer.activation != "none":
            at = f"hidden_{i}"
            nodes += _onnx_activation(layer.activation, out, at)
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
    inputs = {"observation": agent.metadata.observation_size}
    outputs = [helper.make_tensor_value_info("action", kind, shape)]
    if agent.units > 0:
        inputs["state"] = agent.units
        outputs.append(_port("next_state", agent.units))
    graph = helper.make_graph(
        nodes,
        "policy",
        [_port(name, size) for name, size in inputs.items()],
        outputs,
        weights,
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="ambulo",
    )
    helper.set_model_props(model, {"ambulo": json.dumps(header)})
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


def _port(name: str, size: int) -> Any:
    """An input or output of `size` numbers for each environment."""
    from onnx import TensorProto, helper

    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size])


def _gru(x: str, index: int, layer: Gated) -> tuple[list[Any], list[Any]]:
    """Nodes and weights of a GRU from `x` and `state` to `next_state`."""
    from onnx import helper, numpy_helper

    arrays: dict[str, NDArray[Any]] = {
        f"{name}_{index}": block for name, block in layer.blocks.items()
    }
    w, b, v, d = arrays
    arrays["gru_parts"] = np.full(3, layer.units, np.int64)
    nodes = [
        helper.make_node("Gemm", [x, w, b], ["gru_input"], transB=1),
        helper.make_node("Gemm", ["state", v, d], ["gru_state"], transB=1),
    ]
    for name in ("input", "state"):
        parts = [f"gru_{name}_{gate}" for gate in ("reset", "keep", "new")]
        nodes.append(
            helper.make_node("Split", [f"gru_{name}", "gru_parts"], parts, axis=1)
        )
    for gate in ("reset", "keep"):
        both = [f"gru_input_{gate}", f"gru_state_{gate}"]
        nodes.append(helper.make_node("Add", both, [f"gru_{gate}_sum"]))
        nodes.append(helper.make_node("Sigmoid", [f"gru_{gate}_sum"], [f"gru_{gate}"]))
    rows: tuple[tuple[str, list[str], str], ...] = (
        ("Mul", ["gru_reset", "gru_state_new"], "gru_own"),
        ("Add", ["gru_input_new", "gru_own"], "gru_new_sum"),
        ("Tanh", ["gru_new_sum"], "gru_new"),
        ("Sub", ["state", "gru_new"], "gru_change"),
        ("Mul", ["gru_keep", "gru_change"], "gru_kept"),
        ("Add", ["gru_new", "gru_kept"], "next_state"),
    )
    nodes += [helper.make_node(op, given, [out]) for op, given, out in rows]
    weights = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    return nodes, weights


def onnx_step(
    data: bytes,
) -> Callable[[Floats, Floats], tuple[NDArray[Any], Floats]]:
    """Run the file `data`: observations and states to actions and next states."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        data, options, providers=["CPUExecutionProvider"]
    )
    recurrent = len(session.get_inputs()) > 1

    def step(obs: Floats, state: Floats) -> tuple[NDArray[Any], Floats]:
        if not recurrent:
            return session.run(["action"], {"observation": obs})[0], state
        given = {"observation": obs, "state": state}
        action, after = session.run(["action", "next_state"], given)
        return action, after

    return step
