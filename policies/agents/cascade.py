"""Cascaded policies: a base gait, and corrections that act only where bodies differ.

Cascaded subsumption networks of Park et al., "Generative GaitNet", SIGGRAPH 2022. Policies
are the nodes of a graph. Each was trained on a box of gait parameters, and sees those of the
body moved into its box. A child acts as far as its joint state (what the joints could do
with its parameters) is from that of its nearest parent: with parameters that its parents
know, it is silent.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats, Singles
from ambulo.configs.base import parse
from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.configs.gait import GaitSpace
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply, quat_to_rotvec
from ambulo.policies.agents.locomotion import LocomotionAgent
from ambulo.policies.files.archive import (
    Archive,
    json_bytes,
    open_archive,
    parse_json,
    read_archive,
    write_atomic,
    zipped,
)
from ambulo.policies.files.headers import header_bytes
from ambulo.policies.files.model_file import model_of_archive
from ambulo.policies.files.raw_headers import CASCADE_HEADER
from ambulo.policies.kinds.cascade import CascadeMetadata, NodeRow
from ambulo.policies.kinds.locomotion import LocomotionMetadata

JointStates = Callable[[Floats], Floats]
"""Joint states (N, J) of all N bodies now, as if their parameters were others (N, P)."""

DISTANCE_SCALE = 0.008
"""Scale of the distance of joint states, as published."""
THRESHOLD, THRESHOLD_ACTION = 0.2, 0.1
"""Distance from which on a child acts, and how far its last action moves it, as published."""
STEEPNESS = 1000.0
"""Steepness of the sigmoid from distances to weights, as published: nearly a step."""
ENDING = ".zip"


@dataclass(frozen=True, eq=False)
class CascadeNode:
    """A policy in the graph."""

    name: str
    """Unique in its cascade."""
    agent: Any
    """Acts: `act(obs) -> (N, A)` (see `LocomotionAgent`)."""
    low: Floats
    """Least parameters that it was trained on. Shape (P,)."""
    high: Floats
    """Largest parameters that it was trained on. Shape (P,)."""
    parents: tuple[str, ...] = ()
    """Nodes that it corrects; none for the base."""


@dataclass(frozen=True, eq=False)
class Cascade:
    """A base and the nodes behind it, which act together as one policy.

    Actions are joint offsets, then one on the clock; a node with parents has one number
    more, which moves its threshold. Rotations of ball joints are composed, base first.
    """

    space: GaitSpace
    """Ranges of the gait parameters."""
    nodes: tuple[CascadeNode, ...]
    """Parents before children; the first is the base."""
    parameters: slice
    """Where the observation has the normalised parameters."""
    balls: tuple[int, ...] = ()
    """First action of each ball joint: three numbers that are a rotation vector."""
    action_scale: float = 0.25
    """Joint target of an action of 1, [rad]."""
    is_cascaded: bool = field(default=True, init=False)
    """As in the file's header."""

    def __post_init__(self) -> None:
        """`ModelFileError` for a graph that is none."""
        seen: list[str] = []
        for node in self.nodes:
            if node.name in seen:
                raise ModelFileError(f"cascade: two nodes are called {node.name!r}")
            missing = [parent for parent in node.parents if parent not in seen]
            if missing:
                raise ModelFileError(
                    f"cascade: {node.name!r} comes before its parent {missing[0]!r}"
                )
            if bool(node.parents) != bool(seen):
                raise ModelFileError(
                    "cascade: the first node alone is the base, without parents"
                )
            if (
                node.low.shape != (self.space.size,)
                or node.high.shape != node.low.shape
            ):
                raise ModelFileError(
                    f"cascade: {node.name!r}: a box needs {self.space.size} numbers"
                )
            seen.append(node.name)
        if not seen:
            raise ModelFileError("cascade: no nodes")
        start, stop = self.parameters.start, self.parameters.stop
        if start < 0 or stop - start != self.space.size:
            raise ModelFileError(f"cascade: parameters are {self.space.size} numbers")
        if not 0.0 < self.action_scale < np.inf:
            raise ModelFileError("cascade: action_scale must be above 0")
        if any(not (node.low <= node.high).all() for node in self.nodes):
            raise ModelFileError("cascade: a box ends before it begins")

    def act(self, obs: Singles, joint_states: JointStates) -> Singles:
        """Actions (N, A) for observations (N, S)."""
        actions, weights = self.parts(obs, joint_states)
        size = actions[0].shape[1]
        total = actions[0].astype(np.float64)
        for action, weight in zip(actions[1:], weights[1:], strict=True):
            self._add(total, weight[:, None] * action[:, :size])
        return np.clip(total, -1.0, 1.0).astype(np.float32)

    def parts(
        self, obs: Singles, joint_states: JointStates
    ) -> tuple[list[Singles], list[Floats]]:
        """The action of each node, and its weight (N,), in [0, 1]."""
        values = self.space.denormalize(obs[:, self.parameters])
        states: dict[str, Floats] = {}
        actions: list[Singles] = []
        weights = []
        for node in self.nodes:
            own = np.clip(values, node.low, node.high)
            seen = obs.copy()
            seen[:, self.parameters] = self.space.normalize(own)
            action: Singles = node.agent.act(seen)
            size = (actions[0] if actions else action).shape[1] + bool(node.parents)
            if any(not 0 <= first <= size - 3 for first in self.balls):
                raise ModelFileError("cascade: a ball joint is beyond the actions")
            if action.shape[1] != size:
                raise ModelFileError(
                    f"cascade: {node.name!r} has {action.shape[1]} actions, not {size}: "
                    "one over another policy needs one more, for its own weight"
                )
            states[node.name] = joint_states(own)
            actions.append(action)
            weights.append(self._weight(node, action, states))
        return actions, weights

    def _weight(
        self, node: CascadeNode, action: Singles, states: Mapping[str, Floats]
    ) -> Floats:
        """How far a node acts. (N,)."""
        if not node.parents:
            return np.ones(len(action))
        own = states[node.name]
        distance = np.min(
            [
                DISTANCE_SCALE * np.linalg.norm(own - states[parent], axis=1)
                for parent in node.parents
            ],
            axis=0,
        )
        threshold = THRESHOLD + THRESHOLD_ACTION * action[:, -1].astype(np.float64)
        steps = np.clip(STEEPNESS * (distance - threshold), -500.0, 500.0)
        return np.asarray(1.0 / (1.0 + np.exp(-steps)))

    def _add(self, total: Floats, more: Floats) -> None:
        """Add actions (N, A) in place: rotations are composed, other numbers added."""
        turned = np.zeros(total.shape[1], dtype=np.bool_)
        for first in self.balls:
            axes = slice(first, first + 3)
            turned[axes] = True
            before = quat_from_rotvec(self.action_scale * total[:, axes])
            after = quat_from_rotvec(self.action_scale * more[:, axes])
            both = quat_to_rotvec(quat_multiply(before, after))
            total[:, axes] = both / self.action_scale
        total[:, ~turned] += more[:, ~turned]


class CascadeAgent:
    """A cascade ready to act on the bodies of one environment."""

    def __init__(self, cascade: Cascade) -> None:
        """Wrap `cascade`; `connect` it before it acts."""
        self.cascade = cascade
        self._joint_states: JointStates | None = None

    @property
    def base(self) -> LocomotionAgent:
        """The base policy."""
        agent: LocomotionAgent = self.cascade.nodes[0].agent
        return agent

    @property
    def config(self) -> LocomotionConfig:
        """Settings of the last correction, which knows all parameters."""
        agent: LocomotionAgent = self.cascade.nodes[-1].agent
        return agent.config

    @property
    def env_id(self) -> str:
        """The environment that it was trained in."""
        return self.base.env_id

    def env_settings(self) -> dict[str, Any]:
        """Return the keyword arguments of its environment."""
        return self.base.env_settings() | {"config": self.config}

    def connect(self, joint_states: JointStates) -> None:
        """Give it the bodies to act on; `ambulo.make_vec(agent, ...)` does so.

        Args:
            joint_states: Joint states (N, J) of the bodies now, as if their parameters
                were others (N, P).
        """
        self._joint_states = joint_states

    def act(self, obs: Singles, *, deterministic: bool = True) -> Singles:
        """Return mean actions (N, A) for observations (N, size).

        Raises:
            ModelFileError: It is not connected to bodies, or shall draw samples.
        """
        if self._joint_states is None:
            raise ModelFileError(
                "a cascade acts on bodies that it can feel: make its environment with "
                "ambulo.make_vec(agent, num_envs)"
            )
        if not deterministic:
            raise ModelFileError("a cascade has mean actions only")
        return self.cascade.act(obs, self._joint_states)


def load_cascade_agent(path: str | os.PathLike[str]) -> CascadeAgent:
    """Return the cascade in a file, ready to act once it is connected to bodies."""
    return CascadeAgent(load_cascade(path))


def save_cascade(
    path: str | os.PathLike[str], cascade: Cascade, models: Mapping[str, bytes]
) -> None:
    """Write a cascade with the model files of its nodes, whole or not at all.

    Args:
        path: The new file.
        cascade: The graph.
        models: The content of each node's model file.
    """
    header = CascadeMetadata(
        space=json.loads(cascade.space.to_json()),
        parameters=(cascade.parameters.start, cascade.parameters.stop),
        balls=cascade.balls,
        action_scale=cascade.action_scale,
        nodes=tuple(
            NodeRow(
                name=node.name,
                parents=node.parents,
                low=tuple(node.low.tolist()),
                high=tuple(node.high.tolist()),
            )
            for node in cascade.nodes
        ),
    )
    members = {CASCADE_HEADER: json_bytes(header.model_dump(mode="json"))}
    for node in cascade.nodes:
        members[_member(node.name)] = models[node.name]
    write_atomic(Path(path), zipped(members))


def load_cascade(
    path: str | os.PathLike[str], load: Callable[[bytes], Any] | None = None
) -> Cascade:
    """Return the cascade in a file.

    Args:
        path: The file.
        load: Makes an agent of a node's model file; None for a `LocomotionAgent`.

    Raises:
        ModelFileError: Missing, damaged, or no cascade.
    """
    file = Path(path)
    with open_archive(file) as archive:
        return _cascade_of(archive, load)


def _cascade_of(archive: Archive, load: Callable[[bytes], Any] | None) -> Cascade:
    """Return the cascade in an open file; all nodes share its memory budget."""
    file = archive.source
    data, source = header_bytes(archive, CASCADE_HEADER)
    load = load or (lambda node: _walker(node, archive))
    try:
        header = parse(CascadeMetadata, parse_json(data, source), source)
        space = GaitSpace.from_json(header.space)
        nodes = tuple(
            CascadeNode(
                row.name,
                load(archive[_member(row.name)]),
                np.array(row.low, dtype=np.float64),
                np.array(row.high, dtype=np.float64),
                row.parents,
            )
            for row in header.nodes
        )
    except (ConfigError, KeyError) as error:
        raise ModelFileError(f"{file}: {CASCADE_HEADER} is damaged ({error})") from None
    try:
        return Cascade(
            space, nodes, slice(*header.parameters), header.balls, header.action_scale
        )
    except ModelFileError as error:
        raise ModelFileError(f"{file}: {error}") from None


def is_cascade(path: str | os.PathLike[str]) -> bool:
    """Whether the model file `path` is a cascade; `ModelFileError` if it is none at all."""
    with open_archive(Path(path)) as archive:
        return CASCADE_HEADER in archive


def stored_models(path: str | os.PathLike[str]) -> dict[str, bytes]:
    """The model files of a cascade's nodes by their names."""
    members, start = read_archive(Path(path)), _member("")[: -len(ENDING)]
    return {
        name[len(start) : -len(ENDING)]: data
        for name, data in members.items()
        if name.startswith(start)
    }


def _member(name: str) -> str:
    return f"nodes/{name}{ENDING}"


def _walker(data: bytes, outer: Archive) -> LocomotionAgent:
    """Return the agent of a node's model file inside of the file `outer`."""
    node = Archive(io.BytesIO(data), outer.source, outer.budget)
    return LocomotionAgent(model_of_archive(node, LocomotionMetadata), outer.source)
