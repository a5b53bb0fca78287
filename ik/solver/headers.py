"""Headers of pose networks' files; importing them loads no compiled code."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from ambulo.configs.base import Config

IK_NETWORK, IK_PUBLISHED = "ambulo-ik-network", "ambulo-ik-published"
"""Names of the two formats."""


class IKNetworkHeader(Config):
    """The contents of `ik_network.json`."""

    format: Literal["ambulo-ik-network"] = "ambulo-ik-network"
    """Names this format."""
    version: Literal[1] = 1
    """Of the format."""
    rig: str = "ik23"
    """The rig of its poses."""
    hidden: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(max_length=16)]
    """Widths of the hidden layers."""
    activation: Literal["leaky_relu", "elu", "tanh", "silu"] = "leaky_relu"
    """After each hidden layer."""
    slope: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.1
    """Of the leaky ReLU below 0."""
    past: Annotated[
        tuple[Annotated[float, Field(gt=0.0)], ...], Field(max_length=16)
    ] = ()
    """Ages of the earlier targets of head and hands that are inputs too, [s]."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Anything more, as plain JSON: how it was trained, its scores."""


class PublishedHeader(Config):
    """The contents of `ik_published.json`."""

    format: Literal["ambulo-ik-published"] = "ambulo-ik-published"
    """Names this format."""
    version: Literal[1] = 1
    """Of the format."""
    kind: Literal["published", "published_compact"] = "published"
    """Which of the two networks."""
    rig: str = "ik23"
    """The rig of its poses."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Anything more, as plain JSON."""
