"""Policies of simulated bodies as ONNX graphs: walkers, and cascades of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ambulo.configs.arrays import Singles
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply, quat_to_rotvec
from ambulo.policies.agents.cascade import (
    DISTANCE_SCALE,
    STEEPNESS,
    THRESHOLD,
    THRESHOLD_ACTION,
    Cascade,
    CascadeAgent,
)
from ambulo.policies.agents.locomotion import LocomotionAgent
from ambulo.policies.export.graph import Arrays, Graph, Port, scalar_parts
from ambulo.policies.export.motion import plausible_states
from ambulo.policies.networks.motion_state import STATE_SIZE
from ambulo.policies.networks.simulation_nn import SimulationNN

BODY = (
    "the body: actions move joint targets of stable PD, whose gains and time step belong "
    "to the environment"
)
MUSCLES = "the muscle network: it is a model of its own"


class WalkerModule(nn.Module):
    """Observations (B, S) to the clipped mean actions (B, A) of a policy."""

    def __init__(self, policy: SimulationNN) -> None:
        """Create the graph of a policy in evaluation mode."""
        super().__init__()
        self.policy = policy

    def forward(self, observation: Tensor) -> Tensor:
        """Actions (B, A) in [-1, 1]."""
        return self.policy.means(observation).clamp(-1.0, 1.0)


def walker_graph(agent: LocomotionAgent) -> Graph:
    """Return the graph of a walker: `observation` (S,) to `action` (A,)."""
    metadata = agent.metadata
    return Graph(
        kind=metadata.kind,
        module=WalkerModule(agent.policy),
        inputs=(_observation(agent),),
        outputs=(_action(agent, len(metadata.actions)),),
        examples=lambda rng, count: (plausible_observations(agent, rng, count),),
        reference=lambda obs: (agent.act(obs),),
        header=_header(agent),
        left_out=(BODY, *([MUSCLES] if agent.muscles is not None else [])),
    )


def _header(agent: LocomotionAgent) -> dict[str, Any]:
    metadata = agent.metadata
    return {
        "num_timesteps": metadata.num_timesteps,
        "environment": agent.env_id,
        "config": metadata.config.model_dump(mode="json"),
    }


def _observation(agent: LocomotionAgent) -> Port:
    """Return the input, with the factors that the environment's layout names."""
    factors = agent.layout.scales()
    parts = tuple(
        {**row, "scale": float(factors[part.start])}
        for row, part in zip(agent.layout.schema(), agent.layout.parts, strict=True)
    )
    meaning = "as the environment gives it; nothing is to be scaled"
    return Port("observation", (agent.layout.size,), "mixed", meaning, parts)


def _action(agent: LocomotionAgent, size: int) -> Port:
    names = agent.metadata.actions[:size]
    meaning = "moves of the joint targets, in [-1, 1]"
    return Port("action", (size,), "1", meaning, scalar_parts(names))


def plausible_observations(
    agent: LocomotionAgent, rng: np.random.Generator, count: int
) -> Singles:
    """Return observations (count, S) spread as those that the policy was trained on."""
    policy = agent.policy
    columns, normalizer = policy.columns, policy.normalizer
    mean, deviation = normalizer.mean.numpy(), normalizer.deviation.numpy()
    scales = policy.scales.numpy()
    noise = mean + deviation * rng.normal(size=(count, len(mean)))
    obs = np.zeros((count, columns.size), np.float32)
    obs[:, columns.own] = noise / np.where(scales > 0.0, scales, 1.0)
    first, last = columns.modes
    if last > first:
        obs[np.arange(count), rng.integers(first, last, count)] = 1.0
    first, last = columns.history
    if last > first:
        states = plausible_states(rng, count, (last - first) // STATE_SIZE, 25.0)
        obs[:, first:last] = states.reshape(count, -1)
    return obs


class CascadeModule(nn.Module):
    """Observations and joint states to the actions of a cascade (`Cascade.act`).

    Parameters and weights are computed in float64, as there: weights are nearly steps.
    """

    low: Tensor
    span: Tensor
    boxes: Tensor

    def __init__(self, cascade: Cascade) -> None:
        """Create the graph of a cascade whose nodes are walkers."""
        super().__init__()
        self.cascade = cascade
        self.policies = nn.ModuleList(node.agent.policy for node in cascade.nodes)
        space = cascade.space
        self.register_buffer("low", torch.tensor(space.low))
        self.register_buffer("span", torch.tensor(space.high - space.low))
        boxes = np.stack([(node.low, node.high) for node in cascade.nodes])
        self.register_buffer("boxes", torch.as_tensor(boxes))
        index = {node.name: k for k, node in enumerate(cascade.nodes)}
        self.parents = [[index[p] for p in node.parents] for node in cascade.nodes]

    def forward(self, observation: Tensor, joint_states: Tensor) -> Tensor:
        """Actions (B, A) for observations (B, S) and joint states (B, nodes, J)."""
        part = self.cascade.parameters
        values = self.low + observation[:, part].double() * self.span
        states, total = joint_states.double(), None
        for k, policy in enumerate(self.policies):
            own = torch.minimum(
                torch.maximum(values, self.boxes[k, 0]), self.boxes[k, 1]
            )
            own = ((own - self.low) / self.span).float()
            seen = torch.cat(
                [observation[:, : part.start], own, observation[:, part.stop :]], dim=1
            )
            action = policy.means(seen).clamp(-1.0, 1.0)  # type: ignore[operator]
            if total is None:
                total = action
                continue
            weight = self._weight(k, action, states)
            total = self._added(total, (weight * action[:, :-1].double()).float())
        assert total is not None
        return total.clamp(-1.0, 1.0)

    def _weight(self, k: int, action: Tensor, states: Tensor) -> Tensor:
        """How far node `k` acts. (B, 1)."""
        gaps = [(states[:, k] - states[:, p]).square().sum(1) for p in self.parents[k]]
        nearest = torch.stack([DISTANCE_SCALE * gap.sqrt() for gap in gaps]).amin(0)
        threshold = THRESHOLD + THRESHOLD_ACTION * action[:, -1].double()
        steps = (STEEPNESS * (nearest - threshold)).clamp(-500.0, 500.0)
        return (1.0 / (1.0 + torch.exp(-steps)))[:, None]

    def _added(self, total: Tensor, more: Tensor) -> Tensor:
        """Actions (B, A) with `more` added: rotations of ball joints are composed."""
        scale, parts, at = self.cascade.action_scale, [], 0
        for first in sorted(self.cascade.balls):
            parts.append(total[:, at:first] + more[:, at:first])
            at = first + 3
            both = quat_multiply(
                quat_from_rotvec(scale * total[:, first:at]),
                quat_from_rotvec(scale * more[:, first:at]),
            )
            parts.append(quat_to_rotvec(both) / scale)
        parts.append(total[:, at:] + more[:, at:])
        return torch.cat(parts, dim=1)


def cascade_graph(agent: CascadeAgent) -> Graph:
    """Return the graph of a cascade: `observation`, `joint_states` to `action`."""
    cascade, base = agent.cascade, agent.base
    nodes, size = len(cascade.nodes), len(base.metadata.actions)
    # Least and largest torque, and the passive one, of each joint axis of the body.
    meaning = (
        "joint states of the body now (half of the least and of the largest torque of "
        "each joint axis, then the passive torque), as if its gait parameters were clipped "
        "to the box of each node"
    )

    def examples(rng: np.random.Generator, count: int) -> Arrays:
        obs = plausible_observations(base, rng, count)
        obs[:, cascade.parameters] = rng.random((count, cascade.space.size))
        states = rng.normal(scale=15.0, size=(count, nodes, 3 * _AXES))
        return obs, states.astype(np.float32)

    def reference(obs: Singles, states: Singles) -> Arrays:
        rows = iter(np.moveaxis(states.astype(np.float64), 1, 0))
        return (cascade.act(obs, lambda values: next(rows)),)

    boxes = [
        {
            "name": node.name,
            "parents": list(node.parents),
            "low": node.low.tolist(),
            "high": node.high.tolist(),
        }
        for node in cascade.nodes
    ]
    return Graph(
        kind="ambulo-cascade",
        module=CascadeModule(cascade),
        inputs=(
            _observation(base),
            Port("joint_states", (nodes, "joint_numbers"), "N m", meaning),
        ),
        outputs=(_action(base, size),),
        examples=examples,
        reference=reference,
        header=_header(base)
        | {"nodes": boxes, "parameters": list(cascade.space.names)},
        left_out=(
            BODY,
            "joint states, which the caller measures for each node (input joint_states)",
        ),
    )


_AXES = 4
"""Joint axes of the examples; the graph takes any number."""
