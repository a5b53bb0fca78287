"""Motion networks: the next states of a body from its last ones."""

from __future__ import annotations

from typing import Literal

from ambulo.configs.motion_nn import MotionRunConfig
from ambulo.policies.files.headers import Shapes, TrainedHeader
from ambulo.policies.files.spec import ModelSpec


class MotionMetadata(TrainedHeader):
    """The contents of `ambulo.json` in a file of a motion network."""

    kind: Literal["motion_nn"] = "motion_nn"
    """Kind of the model."""
    skeleton: Literal["human23"] = "human23"
    """Body that it moves."""
    state_size: Literal[112] = 112
    """Numbers of a state: 56 positions, 56 velocities."""
    run: MotionRunConfig
    """The network, and how it was trained; folders of data by name only."""

    def weight_shapes(self, stored: Shapes, source: str) -> Shapes:
        """Shapes of the configured network, which is not built in memory."""
        from ambulo.policies.files.network_shapes import shapes_of
        from ambulo.policies.networks.motion_nn import MotionNN

        return shapes_of(lambda: MotionNN(self.run.model))


def _headline(header: MotionMetadata) -> str:
    model = header.run.model
    text = f"{model.mode}, {model.history} frames at {model.fps:g} Hz to {model.chunk}"
    error = header.extra.get("validation_mm")
    return text if error is None else f"{text}, validation error {error:.1f} mm"


SPEC = ModelSpec(
    kind="motion_nn",
    summary="predicts motion: past states of a body to future ones",
    header=MotionMetadata,
    loader="ambulo.policies.agents.motion:load_motion_nn",
    headline=_headline,
    graph="ambulo.policies.export.motion:motion_graph",
)
