"""Trained agents for other programs: ONNX, and JSON with raw weights.

Both map raw observations (N, size) to actions: means clipped to [-1, 1], or the index
of the best class. Input scaling is included; there is no noise. Recurrent agents also map a
state (N, units) to the next one.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from ambulo.configs.errors import ModelFileError
from ambulo.policies.agents.navigation import Agent
from ambulo.policies.export.graph import Arrays, Graph, Port, Runner, check_export
from ambulo.policies.export.network_layers import (
    check_exportable,
    folded_layers,
    packed,
    stepped,
)
from ambulo.policies.export.written import Written
from ambulo.policies.files.archive import write_atomic

FORMAT = "ambulo-mlp"
VERSION = 1

Floats = NDArray[np.float32]


class NavigationModule(nn.Module):
    """Raw observations (N, size), and states (N, units), to actions and next states."""

    def __init__(self, agent: Agent) -> None:
        """Create the graph of an agent without statistics of `VecNormalize`."""
        super().__init__()
        self.policy, self.discrete = agent.policy, agent.discrete

    def forward(
        self, observation: Tensor, state: Tensor | None = None
    ) -> Tensor | tuple[Tensor, Tensor]:
        """One step."""
        before = observation[:, :0] if state is None else state
        out, after = self.policy.mean_step(observation, before)
        action = out.argmax(dim=1) if self.discrete else out.clamp(-1.0, 1.0)
        return action if state is None else (action, after)


def navigation_graph(agent: Agent) -> Graph:
    """Return the graph of an agent.

    Input `observation` (N, size) float32; output `action` (N, 3) float32, (N,) int64. A
    recurrent agent also has the input `state` (N, units) float32, zeros where an episode
    begins, and the output `next_state`. The header is that of `export_json` too.

    Raises:
        ModelFileError: See `check_exportable`.
    """
    check_exportable(agent)
    metadata, units = agent.metadata, agent.units
    seen = Port(
        "observation", (agent.layout.size,), "mixed", "as the environment gives it",
        tuple(agent.layout.schema()),
    )  # fmt: skip
    action = Port(
        "action", (metadata.action.size,), "1", ", ".join(metadata.action.names)
    )
    if agent.discrete:
        action = replace(action, shape=(), type="int64")
    before = Port(
        "state", (units,), "1", "next_state of the step before; zeros at first"
    )
    after = Port("next_state", (units,), "1", "state for the next step")

    def examples(rng: np.random.Generator, count: int) -> Arrays:
        obs = observations(agent, rng, count)
        states = rng.uniform(-0.9, 0.9, (count, units)).astype(np.float32)
        return (obs, states) if units else (obs,)

    def reference(obs: Floats, *states: Floats) -> Arrays:
        own = agent.copy()
        if not states:
            return (own.act(obs),)
        own.set_states(states[0])
        return own.act(obs), own.states

    return Graph(
        kind=metadata.kind,
        module=NavigationModule(agent),
        inputs=(seen, before) if units else (seen,),
        outputs=(action, after) if units else (action,),
        examples=examples,
        reference=reference,
        header=_header(agent),
    )


def export_json(agent: Agent, path: str | os.PathLike[str]) -> Written:
    """Write `agent` as a JSON header `path` and raw weights beside it (`.bin`).

    The format is docs/model_format.md.

    Raises:
        ModelFileError: it cannot be written, or does not act like the agent.
    """
    file = Path(path)
    if file.suffix != ".json":
        raise ModelFileError(f"{file}: the header must end in .json")
    weights = file.with_suffix(".bin")
    header = _header(agent)
    header["layers"], data = packed(folded_layers(agent))
    example = observations(agent, np.random.default_rng(0), 1)
    header["weights"] = {"file": weights.name, "type": "float32 little-endian"}
    header["weights"]["numbers"] = data.size
    header["test"] = {
        "observation": example[0].tolist(),
        "action": agent.copy().act(example)[0].tolist(),
    }
    check_export(navigation_graph(agent), file_runner(header, data), str(file))
    write_atomic(weights, data.tobytes())
    write_atomic(file, (json.dumps(header, indent=1) + "\n").encode())
    return Written((file, weights))


def file_runner(header: dict[str, Any], weights: Floats) -> Runner:
    """Return a function of the inputs of `navigation_graph` to its outputs, by `step_json`."""

    def run(obs: Floats, *states: Floats) -> Arrays:
        if not states:
            return (run_json(header, weights, obs),)
        return step_json(header, weights, obs, states[0])

    return run


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
    """Operation after the last layer: `argmax`, `bound` (then clip) or `clip`."""
    if agent.discrete:
        return "argmax"
    return "clip" if agent.policy.action_bound is None else "bound"


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
        "bound": agent.policy.action_bound,
        "config": metadata.config.model_dump(mode="json"),
        "layers": [],
        **state_row(agent),
    }


def state_row(agent: Agent) -> dict[str, int]:
    """The key `state_size` of a recurrent agent's header; empty for others."""
    return {"state_size": agent.units} if agent.units > 0 else {}


def observations(agent: Agent, rng: np.random.Generator, count: int) -> Floats:
    """Raw observations of plausible size: noise in the units that scaling makes one."""
    scales = agent.policy.mlp_extractor.scales.numpy()
    noise = rng.normal(size=(count, len(scales)))
    return (noise / np.where(scales > 0, scales, 1)).astype(np.float32)
