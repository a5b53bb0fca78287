"""Body trackers: head, hands and further trackers to a whole body, frame by frame."""

from __future__ import annotations

from typing import Literal

from ambulo.configs.body_tracker import TrackerNetConfig, TrackerRunConfig
from ambulo.ik.trackers.sizes import INPUTS, OUTPUTS
from ambulo.policies.files.headers import Shapes, TrainedHeader
from ambulo.policies.files.spec import ModelSpec


class TrackerMetadata(TrainedHeader):
    """The contents of `ambulo.json` in a model file of a body tracker."""

    kind: Literal["body_tracker"] = "body_tracker"
    """Kind of the model."""
    run: TrackerRunConfig
    """The network, and how it was trained; the data by its file's name only."""

    def weight_shapes(self, stored: Shapes, source: str) -> Shapes:
        """Shapes of the configured network."""
        del stored, source
        return tracker_shapes(self.run.network)


def tracker_shapes(config: TrackerNetConfig) -> dict[str, tuple[int, ...]]:
    """Shape of each weight and statistic by name."""
    encoder, state, decoder = config.encoder, config.state, config.decoder
    return {
        "center": (INPUTS,),
        "scale": (INPUTS,),
        "mean": (OUTPUTS,),
        "spread": (OUTPUTS,),
        "encoder.weight": (encoder, INPUTS),
        "encoder.bias": (encoder,),
        "gru.weight_ih_l0": (3 * state, encoder),
        "gru.weight_hh_l0": (3 * state, state),
        "gru.bias_ih_l0": (3 * state,),
        "gru.bias_hh_l0": (3 * state,),
        "decoder.weight": (decoder, encoder + state),
        "decoder.bias": (decoder,),
        "output.weight": (OUTPUTS, decoder),
        "output.bias": (OUTPUTS,),
    }


def _headline(header: TrackerMetadata) -> str:
    network = header.run.network
    people = header.extra.get("people", {}).get("train", [])
    learnt = f", {len(people)} people" if people else ""
    return (
        f"head, hands, optional hips and feet; GRU of {network.state}{learnt}, "
        f"{header.steps:,} updates"
    )


SPEC = ModelSpec(
    kind="body_tracker",
    summary="tracks a body: head, hands and further trackers to a whole body, live",
    header=TrackerMetadata,
    loader="ambulo.policies.agents.body_tracker:load_tracker",
    headline=_headline,
    graph="ambulo.policies.export.tracker_graph:tracker_graph",
    writers={"godot": "ambulo.policies.export.trackers:export_tracker"},
)
