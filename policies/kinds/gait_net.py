"""Gait networks: the motion of a gait from its parameters and phase."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from ambulo.motion.human23 import N_SIXDOF
from ambulo.policies.files.headers import GaitHeader, Shapes, stamp
from ambulo.policies.files.spec import ModelSpec

if TYPE_CHECKING:
    from ambulo.policies.networks.gait_net import GaitNet


_LAST = ("versions", "command", "created", "extra")
"""Fields at the end of the header."""


class GaitNetMetadata(GaitHeader):
    """The contents of `ambulo.json` in the file of a gait network."""

    kind: Literal["gait_net"] = "gait_net"
    """Kind of the model."""
    former_kind: ClassVar[str | None] = "ref_nn"
    is_cascaded: bool = False
    """Whether the motions were made by cascaded networks."""
    hidden: Annotated[int, Field(ge=1, le=4096)] = 512
    """Width of the hidden layers."""
    layers: Annotated[int, Field(ge=1, le=8)] = 3
    """Number of hidden layers."""
    harmonics: Annotated[int, Field(ge=1, le=16)] = 1
    """Multiples of the phase among its inputs."""
    training: dict[str, Any] = Field(default_factory=dict)
    """How it was trained and what it scored; plain JSON."""

    def to_json(self) -> str:
        """Return the header as text, in the order that files of gait networks have."""
        data = self.model_dump(mode="json")
        last = {name: data.pop(name) for name in _LAST}
        return json.dumps(data | last, indent=2) + "\n"

    def weight_shapes(self, stored: Shapes, source: str) -> Shapes:
        """Shapes of a `GaitNet`."""
        inputs = len(self.space["parameters"]) + 2 * self.harmonics
        sizes = [inputs, *[self.hidden] * self.layers, N_SIXDOF]
        shapes: dict[str, tuple[int, ...]] = {
            "center": (inputs,),
            "scale": (inputs,),
            "mean": (N_SIXDOF,),
            "spread": (N_SIXDOF,),
        }
        for k in range(len(sizes) - 1):
            shapes[f"layers.{k}.weight"] = (sizes[k + 1], sizes[k])
            shapes[f"layers.{k}.bias"] = (sizes[k + 1],)
        return shapes


def describe_gait_net(
    network: GaitNet,
    *,
    is_cascaded: bool = False,
    training: Mapping[str, Any] | None = None,
    command: str = "",
    extra: Mapping[str, Any] | None = None,
) -> GaitNetMetadata:
    """Return the header of a network that is made here and now."""
    return GaitNetMetadata(
        space=json.loads(network.space.to_json()),
        is_cascaded=is_cascaded,
        hidden=network.hidden,
        layers=len(network.layers) - 1,
        harmonics=network.harmonics,
        training=dict(training or {}),
        **stamp(command, extra),
    )


def _headline(header: GaitNetMetadata) -> str:
    text = f"{len(header.space['parameters'])} parameters"
    error = header.training.get("validation", {}).get("joints_deg")
    return text if error is None else f"{text}, validation error {error:.2f} deg"


SPEC = ModelSpec(
    kind="gait_net",
    summary="makes gaits: parameters of body and gait to motion",
    header=GaitNetMetadata,
    loader="ambulo.policies.agents.gait_network:load_gait_network",
    headline=_headline,
    graph="ambulo.policies.export.gaits:gait_graph",
    writers={"godot": "ambulo.policies.export.characters:export_character"},
)
