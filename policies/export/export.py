"""Trained agents for other programs: ONNX, and JSON with raw weights.

Both map raw observations (N, size) to actions: means clipped to [-1, 1], or the index
of the best class. Input scaling is part of the first layer; there is no noise. Recurrent
agents also map a state (N, units) to the next one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.errors import ModelFileError
from ambulo.policies.agents.navigation import Agent
from ambulo.policies.export.network_layers import folded_layers, packed, stepped
from ambulo.policies.export.onnx_nodes import onnx_model, onnx_step
from ambulo.policies.files.archive import write_atomic

TOLERANCE = 1e-5
"""Largest difference between an export and the agent."""
FORMAT = "ambulo-mlp"
VERSION = 1
_SAMPLES = 64
_CHECKED_STEPS = 16

Floats = NDArray[np.float32]
Step = Callable[[Floats, Floats], tuple[NDArray[Any], Floats]]
"""Observations (N, size) and states (N, units) to actions and next states."""


def export_onnx(agent: Agent, path: str | os.PathLike[str]) -> None:
    """Write `agent` as one ONNX file and check it with ONNX Runtime.

    Input `observation` (N, size) float32; output `action` (N, 3) float32, (N,) int64. A
    recurrent agent also has the input `state` (N, units) float32, zeros where an episode
    begins, and the output `next_state`.

    The metadata `ambulo` of the file holds the header of `export_json`.

    Raises:
        ModelFileError: it cannot be written, or does not act like the agent.
    """
    file = Path(path)
    data = onnx_model(agent, folded_layers(agent), _header(agent))
    check_export(agent, onnx_step(data), str(file))
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
    header = _header(agent)
    header["layers"], data = packed(folded_layers(agent))
    example, own = observations(agent)[:1], agent.copy()
    header["weights"] = {"file": weights.name, "type": "float32 little-endian"}
    header["weights"]["numbers"] = data.size
    header["test"] = {
        "observation": example[0].tolist(),
        "action": own.act(example, deterministic=True)[0].tolist(),
    }
    check_export(agent, partial(step_json, header, data), str(file))
    write_atomic(weights, data.tobytes())
    write_atomic(file, (json.dumps(header, indent=1) + "\n").encode())
    return weights


def run_json(header: dict[str, Any], weights: Floats, obs: Floats) -> NDArray[Any]:
    """Actions of the exported network at the beginning of episodes, in numpy alone."""
    state = np.zeros((len(obs), header.get("state_size", 0)), np.float32)
    return step_json(header, weights, obs, state)[0]


def step_json(
    header: dict[str, Any], weights: Floats, obs: Floats, state: Floats
) -> tuple[NDArray[Any], Floats]:
    """Actions of the exported network, and its next state (N, `state_size`)."""
    x, state = stepped(header["layers"], weights, obs, state)
    if header["output"] == "argmax":
        return np.argmax(x, axis=1), state
    if header["output"] == "bound":
        stick, rotation = header["bound"]
        length = np.sqrt((x[:, :2] ** 2).sum(axis=1, keepdims=True) + 1e-12)
        v = x[:, :2] * (stick * np.tanh(length / stick) / length)
        x = np.hstack([v, rotation * np.tanh(x[:, 2:] / rotation)])
    return np.clip(x, -1, 1), state


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
        **state_row(agent),
    }


def state_row(agent: Agent) -> dict[str, int]:
    """The key `state_size` of a recurrent agent's header; empty for others."""
    return {"state_size": agent.units} if agent.units > 0 else {}


def observations(agent: Agent) -> Floats:
    """Raw observations of plausible size: noise in the units that scaling makes one."""
    rng = np.random.default_rng(0)
    scales = agent.actor.scales.numpy()
    noise = rng.normal(size=(_SAMPLES, len(scales)))
    return (noise / np.where(scales > 0, scales, 1)).astype(np.float32)


def check_export(agent: Agent, step: Step, source: str) -> None:
    """Refuse an export that does not act like the agent, on one env and on many.

    A recurrent one is checked over the steps of an episode.
    """
    obs = observations(agent)
    steps = _CHECKED_STEPS if agent.units > 0 else 1
    for rows in (obs[:1], obs):
        own = agent.copy()
        state = np.zeros((len(rows), agent.units), np.float32)
        for number in range(steps):
            seen = np.roll(rows, number, axis=1) if number else rows
            got, state = step(seen, state)
            _compare(own.act(seen, deterministic=True), got, agent.discrete, source)


def _compare(
    want: NDArray[Any], got: NDArray[Any], discrete: bool, source: str
) -> None:
    if discrete:
        wrong = float((want != got).mean())
        limit = 0.0
    else:
        wrong, limit = float(np.abs(want - got).max()), TOLERANCE
    if not wrong <= limit:
        raise ModelFileError(
            f"{source}: the export differs from the agent by {wrong:.2g}, "
            f"at most {limit:g} is allowed"
        )
