"""Cascades: a base gait policy with corrections above it, in one file."""

from __future__ import annotations

from typing import Any, Literal

from ambulo.configs.base import Config
from ambulo.policies.files.spec import ModelSpec


class NodeRow(Config):
    """One policy of a cascade."""

    name: str
    """Unique in its cascade."""
    parents: tuple[str, ...]
    """Nodes that it corrects; none for the base."""
    low: tuple[float, ...]
    """Lower bounds of the parameters that it was trained on."""
    high: tuple[float, ...]
    """Upper bounds of the parameters that it was trained on."""


class CascadeMetadata(Config):
    """The contents of `cascade.json`."""

    kind: Literal["ambulo-cascade"] = "ambulo-cascade"
    """Names this format."""
    version: Literal[1] = 1
    """Version of the format."""
    is_cascaded: Literal[True] = True
    """Always."""
    space: dict[str, Any]
    """The gait parameters (`GaitSpace.to_json`)."""
    parameters: tuple[int, int]
    """Range of the normalised parameters in the observation."""
    balls: tuple[int, ...]
    """First action of each ball joint."""
    action_scale: float
    """Angle of an action of 1, [rad]."""
    nodes: tuple[NodeRow, ...]
    """Parents before children; the first is the base."""


def _headline(header: CascadeMetadata) -> str:
    names = ", ".join(node.name for node in header.nodes)
    return f"{len(header.space['parameters'])} parameters; nodes: {names}"


SPEC = ModelSpec(
    kind="ambulo-cascade",
    summary="walks with bodies of many parameters: a base policy and corrections",
    header=CascadeMetadata,
    loader="ambulo.policies.agents.cascade:load_cascade_agent",
    headline=_headline,
    graph="ambulo.policies.export.walkers:cascade_graph",
)
