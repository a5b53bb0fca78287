"""Policies of a game for the Godot add-on, for ONNX, and for games of godot-rl.

A file for Godot has a network for each kind of agent: numbers are normalised, pictures go
through convolutions, and both through the layers of the actor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ambulo.configs.agent_spec import AgentSpec
from ambulo.configs.errors import ModelFileError
from ambulo.policies.agents.game import GameAgent
from ambulo.policies.export.graph import (
    Arrays,
    Graph,
    Port,
    check_export,
    write_graph,
)
from ambulo.policies.export.network_layers import (
    Conv,
    Layer,
    Normalize,
    actor_modules,
    packed,
    stepped,
    torch_layers,
)
from ambulo.policies.export.written import Written, pack_weights, unpack
from ambulo.policies.files.archive import write_atomic
from ambulo.policies.networks.actor_critic import NavigationPolicy
from ambulo.policies.networks.branches import RecurrentActor
from ambulo.policies.networks.normalizer import LIMIT
from ambulo.policies.networks.observation_encoder import (
    ObservationEncoder,
    PictureEncoder,
)

MAGIC = b"AMBULOG1"
"""First bytes of the file; the last one is the version of the format."""
Floats = NDArray[np.float32]


def export_godot(agent: GameAgent, path: Path) -> Written:
    """Write all policies of `agent` as one file for the node `AmbuloPolicy` of the add-on.

    Raises:
        ModelFileError: It cannot be written, or does not act like the policies.
    """
    header: dict[str, Any] = {
        "kind": agent.metadata.kind,
        "num_timesteps": agent.metadata.num_timesteps,
        "action_repeat": agent.metadata.action_repeat,
        "agents": [],
    }
    blocks: list[Floats] = []
    at = 0
    for spec, policy in zip(agent.kinds, agent.policy.policies, strict=True):
        assert isinstance(policy, NavigationPolicy)
        row, numbers = _packed_kind(spec, policy, at)
        header["agents"].append(row)
        blocks.append(numbers)
        at += numbers.size
    data = pack_weights(MAGIC, header, np.concatenate(blocks), str(path))
    _check(agent, data, str(path))
    write_atomic(path, data)
    return Written((path,))


def run_kind(
    row: Mapping[str, Any], numbers: Floats, obs: Floats, state: Floats
) -> tuple[Floats, Floats]:
    """Outputs (N, outputs) of a kind of a file and its next states, in NumPy alone.

    Args:
        row: of `agents` in the header.
        numbers: of the file.
        obs: observations (N, size).
        state: (N, `state_size`).
    """
    at, plain, seen = 0, [], []
    for part in row["observation"]:
        size = int(np.prod(part["shape"]))
        values = obs[:, at : at + size]
        at += size
        if "layers" in part:
            seen.append(stepped(part["layers"], numbers, values, state)[0])
        else:
            plain.append(values)
    found = np.concatenate([*plain, *seen], axis=1)
    if plain:
        count = sum(values.shape[1] for values in plain)
        (norm,) = row["numbers"]
        found[:, :count] = stepped([norm], numbers, found[:, :count], state)[0]
    return stepped(row["layers"], numbers, found, state)


def _packed_kind(
    spec: AgentSpec, policy: NavigationPolicy, first: int
) -> tuple[dict[str, Any], Floats]:
    """Return the row of a kind, whose numbers begin at `first`, and these."""
    encoder: ObservationEncoder = policy.mlp_extractor.encoder
    blocks: list[Floats] = []

    def added(layers: list[Layer]) -> list[dict[str, Any]]:
        rows, numbers = packed(layers, first + sum(block.size for block in blocks))
        blocks.append(numbers)
        return rows

    pictures = iter(encoder.pictures)
    parts = []
    for part in spec.observation:
        row: dict[str, Any] = {"name": part.name, "shape": list(part.shape)}
        if part.is_picture:
            picture = next(pictures)
            assert isinstance(picture, PictureEncoder)
            row["layers"] = added(_picture_layers(picture))
        parts.append(row)
    numbers = []
    if encoder.columns:
        norm = encoder.normalizer
        numbers = added([Normalize(_array(norm.mean), _array(norm.deviation), LIMIT)])
    modules = actor_modules(policy)
    actions = [part.model_dump(exclude_none=True) for part in spec.action]
    log_std = first + sum(block.size for block in blocks)
    blocks.append(_array(policy.log_std))
    found = {
        "name": spec.name,
        "observation": parts,
        "action": actions,
        "numbers": numbers,
        "log_std": log_std,
        "layers": added(torch_layers(modules)),
        "state_size": policy.units,
    }
    return found, np.concatenate(blocks)


def _picture_layers(picture: PictureEncoder) -> list[Layer]:
    """Return the layers of a picture, whose pixels have their channels last."""
    height, width, _ = picture.shape
    modules = [m for m in picture.layers if isinstance(m, nn.Conv2d | nn.Linear)]
    layers: list[Layer] = []
    for index, module in enumerate(modules):
        weight = _array(module.weight)
        if isinstance(module, nn.Conv2d):
            weight = weight.transpose(0, 2, 3, 1)
            if index == 0:
                weight = weight / np.float32(picture.high)
            conv = Conv(
                weight,
                _array(module.bias),
                int(module.stride[0]),
                (height, width),
                "relu",
            )
            layers.append(conv)
            height, width = conv.out_shape
        else:
            channels = weight.shape[1] // (height * width)
            whole = weight.reshape(-1, channels, height, width).transpose(0, 2, 3, 1)
            (dense,) = torch_layers([module])
            flat: Any = whole.reshape(len(weight), -1)
            layers.append(replace(dense, weight=flat, activation="relu"))  # type: ignore[arg-type]
    return layers


def _check(agent: GameAgent, data: bytes, source: str) -> None:
    """Refuse a file that does not act like the policies."""
    header, numbers = unpack(data)
    policies: Iterable[Any] = agent.policy.policies
    for row, spec, policy in zip(header["agents"], agent.kinds, policies, strict=True):
        graph = _graph(agent, spec, policy, *_ports(spec, policy))
        run = partial(_run_parts, row, numbers, policy.units)
        check_export(graph, run, f"{source}: {spec.name!r}")


def _run_parts(
    row: Mapping[str, Any], numbers: Floats, units: int, *given: Floats
) -> Arrays:
    """Return what `run_kind` makes of the inputs of `_graph`."""
    parts = given[:-1] if units else given
    obs = np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
    out, after = run_kind(row, numbers, obs, given[-1] if units else obs[:, :0])
    return (out, after) if units else (out,)


class KindModule(nn.Module):
    """Observations (N, size) and states (N, units) to outputs (N, outputs) and next states."""

    def __init__(self, policy: NavigationPolicy) -> None:
        """Of the policy of one kind of agent."""
        super().__init__()
        self.encoder = policy.mlp_extractor.encoder
        self.actor, self.head = policy.mlp_extractor.actor, policy.action_net

    def forward(self, obs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """One step; the outputs are means of numbers and scores of choices."""
        seen = self.encoder(obs)
        if isinstance(self.actor, RecurrentActor):
            latent, state = self.actor(seen, state)
            return self.head(latent), state
        return self.head(self.actor(seen)), state


class _Onnx(nn.Module):
    """Named parts, and a state if there is one, to outputs and the next state."""

    def __init__(self, policy: NavigationPolicy) -> None:
        super().__init__()
        self.kind, self.units = KindModule(policy), policy.units

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        parts = given[:-1] if self.units else given
        obs = torch.cat([part.flatten(1) for part in parts], dim=1)
        state = given[-1] if self.units else obs[:, :0]
        out, after = self.kind(obs, state)
        return (out, after) if self.units else (out,)


def export_onnx(agent: GameAgent, path: Path) -> Written:
    """Write the policy of the only kind of `agent` as an ONNX file; see `write_graph`.

    Its inputs are the observation's parts by name, (N, ...) each, and `state` (N, units) of a
    recurrent policy; its outputs are `outputs` (N, outputs), means of numbers and scores of
    choices in the order of the action's parts, and `next_state`.

    Raises:
        ModelFileError: There are several kinds, or it does not act like the policy.
    """
    spec, policy = _only(agent, path)
    return write_graph(_graph(agent, spec, policy, *_ports(spec, policy)), path)


def _ports(
    spec: AgentSpec, policy: NavigationPolicy
) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    """Return the inputs and outputs of a policy."""
    inputs = tuple(
        Port(part.name, part.shape, "1", "as the agent observes it")
        for part in spec.observation
    )
    names = ", ".join(part.name for part in spec.action)
    width = sum(part.outputs for part in spec.action)
    outputs: tuple[Port, ...] = (Port("outputs", (width,), "1", names),)
    if policy.units:
        inputs += (Port("state", (policy.units,), "1", "zeros where episodes begin"),)
        outputs += (Port("next_state", (policy.units,), "1", "for the next step"),)
    return inputs, outputs


def export_godot_rl(agent: GameAgent, path: Path) -> Written:
    """Write the policy of the only kind of `agent` as the ONNX file of a game of godot-rl.

    Such games give their observations by name (`obs`) with a number `state_ins`, and read
    `output` and `state_outs`. Where numbers and choices are mixed, each part of numbers is
    followed by its log standard deviations, which godot-rl then skips.

    Raises:
        ModelFileError: There are several kinds, a memory, a picture, or it does not act like
            the policy.
    """
    spec, policy = _only(agent, path)
    if policy.units:
        raise ModelFileError(
            f"{path}: godot-rl keeps no state: network.recurrent has a GRU"
        )
    inputs = tuple(
        Port(part.name, (part.size,), "1", "as the agent observes it")
        for part in spec.observation
    )
    state = Port("state_ins", (), "1", "not used")
    mixed = {part.choices is None for part in spec.action} == {True, False}
    size = sum(
        part.outputs * (2 if mixed and part.choices is None else 1)
        for part in spec.action
    )
    out = Port("output", (size,), "1", ", ".join(part.name for part in spec.action))
    graph = _graph(
        agent, spec, policy, (*inputs, state), (out, replace(state, name="state_outs"))
    )
    module = _GodotRl(spec, policy, mixed)
    reference = partial(_run_module, module)
    return write_graph(replace(graph, module=module, reference=reference), path)


def _run_module(module: nn.Module, *given: Floats) -> Arrays:
    """Return what a module makes of arrays."""
    with torch.inference_mode():
        found = module(*map(torch.as_tensor, given))
    return tuple(part.numpy() for part in found)


class _GodotRl(nn.Module):
    """See `export_godot_rl`."""

    def __init__(self, spec: AgentSpec, policy: NavigationPolicy, mixed: bool) -> None:
        super().__init__()
        self.kind = KindModule(policy)
        self.log_std = policy.log_std
        self.parts = [(p.outputs, mixed and p.choices is None) for p in spec.action]

    def forward(self, *given: Tensor) -> tuple[Tensor, Tensor]:
        obs = torch.cat([part.flatten(1) for part in given[:-1]], dim=1)
        out = self.kind(obs, obs[:, :0])[0]
        columns, at, number = [], 0, 0
        for size, with_std in self.parts:
            part = out[:, at : at + size]
            columns.append(part)
            if with_std:
                std = self.log_std[number : number + size]
                columns.append(torch.zeros_like(part) + std)
                number += size
            at += size
        return torch.cat(columns, dim=1), given[-1] + 0.0


def _graph(
    agent: GameAgent,
    spec: AgentSpec,
    policy: NavigationPolicy,
    inputs: tuple[Port, ...],
    outputs: tuple[Port, ...],
) -> Graph:
    module = _Onnx(policy)

    def examples(rng: np.random.Generator, count: int) -> Arrays:
        obs = _examples(spec, policy, rng, count)
        parts = []
        for port, where in zip(inputs, spec.slices().values(), strict=False):
            parts.append(obs[:, where].reshape(count, *map(int, port.shape)))
        for port in inputs[len(parts) :]:
            shape = (count, *map(int, port.shape))
            parts.append(rng.uniform(-0.9, 0.9, shape).astype(np.float32))
        return tuple(parts)

    return Graph(
        kind=agent.metadata.kind,
        module=module,
        inputs=inputs,
        outputs=outputs,
        examples=examples,
        reference=partial(_run_module, module),
        header={
            "agent": spec.model_dump(mode="json"),
            "num_timesteps": agent.metadata.num_timesteps,
            "action_repeat": agent.metadata.action_repeat,
        },
        left_out=(
            "clipping of numbers to [-1, 1], and the choice of the largest score",
        ),
    )


def _only(agent: GameAgent, path: Path) -> tuple[AgentSpec, NavigationPolicy]:
    """Return the only kind of `agent` and its policy."""
    if len(agent.kinds) > 1:
        names = ", ".join(kind.name for kind in agent.kinds)
        raise ModelFileError(f"{path}: ONNX holds one policy, the model has {names}")
    policy = agent.policy.policies[0]
    assert isinstance(policy, NavigationPolicy)
    return agent.kinds[0], policy


def _examples(
    spec: AgentSpec, policy: NavigationPolicy, rng: np.random.Generator, count: int
) -> Floats:
    """Return observations (N, size) of the size that the policy has seen."""
    encoder: ObservationEncoder = policy.mlp_extractor.encoder
    rows = np.zeros((count, spec.observation_size), np.float32)
    mean = _array(encoder.normalizer.mean)
    noise = rng.normal(size=(count, len(mean))) * _array(encoder.normalizer.deviation)
    rows[:, encoder.columns] = mean + noise
    for part in spec.observation:
        if part.is_picture:
            where = spec.slices()[part.name]
            rows[:, where] = rng.uniform(0.0, part.high, (count, part.size))
    return rows


def _array(tensor: Any) -> Floats:
    array: Floats = tensor.detach().cpu().numpy()
    return array
