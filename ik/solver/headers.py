"""The header of networks of poses; importing it loads no compiled code."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from ambulo.configs.base import Config
from ambulo.configs.neural_ik import PUBLISHED, Activation, IKNetConfig, Kind, settled

IK_NETWORK, IK_PUBLISHED = "ambulo-ik-network", "ambulo-ik-published"
"""Names of the two formats."""


class IKNetworkHeader(Config):
    """The contents of `ik_network.json`, or of `ik_published.json`."""

    format: Literal["ambulo-ik-network", "ambulo-ik-published"] = "ambulo-ik-network"
    """Names the format; follows from `kind`."""
    version: Literal[1] = 1
    """Version of the format."""
    kind: Kind = "own"
    """Layout of inputs and outputs: `own` (see `ambulo.ik.solver.features`), or the
    published 50 numbers to 69 (`ambulo.ik.solver.published`) in one of two sizes."""
    rig: str = "ik23"
    """The rig of its poses."""
    hidden: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(max_length=16)]
    """Widths of the hidden layers."""
    activation: Activation = "leaky_relu"
    """Activation after each hidden layer."""
    slope: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.1
    """Slope of the leaky ReLU below 0."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Further data as plain JSON: training settings, scores."""

    @model_validator(mode="before")
    @classmethod
    def _settled(cls, given: Any) -> Any:
        values = settled(given)
        if isinstance(values, dict):
            if values.get("format") == IK_PUBLISHED and "kind" not in values:
                values |= {"kind": "published", **PUBLISHED["published"]}
            if values.get("kind") in PUBLISHED:
                values["format"] = IK_PUBLISHED
        return values

    @classmethod
    def of(cls, config: IKNetConfig, rig: str, **extra: Any) -> IKNetworkHeader:
        """The header of a network trained with `config` on the rig `rig`."""
        settings = config.model_dump(exclude={"dropout"})
        return cls(rig=rig, extra=extra, **settings)
