"""Motion networks: the next states of a body from its last ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from ambulo.configs.motion_nn import MotionRunConfig
from ambulo.policies.files.headers import FileHeader, Shapes, stamp
from ambulo.policies.files.spec import ModelSpec


class MotionMetadata(FileHeader):
    """The contents of `ambulo.json` in a file of a motion network."""

    kind: Literal["motion_nn"] = "motion_nn"
    """What the model does."""
    skeleton: Literal["human23"] = "human23"
    """Body that it moves."""
    state_size: Literal[112] = 112
    """Numbers of a state: 56 positions, 56 velocities."""
    run: MotionRunConfig
    """The network, and how it was trained; folders of data by name only."""
    steps: Annotated[int, Field(ge=0)] = 0
    """Updates of its training."""

    def weight_shapes(self, stored: Shapes, source: str) -> Shapes:
        """Shapes of the configured network, which is not built in memory."""
        from ambulo.policies.files.network_shapes import shapes_of
        from ambulo.policies.networks.motion_nn import MotionNN

        return shapes_of(lambda: MotionNN(self.run.model))


def describe_motion(
    run: MotionRunConfig,
    *,
    steps: int = 0,
    command: str = "",
    extra: Mapping[str, Any] | None = None,
) -> MotionMetadata:
    """Return the header of a network trained here and now with `run`."""
    names = tuple(Path(folder).name for folder in run.data)
    training = run.training.replace(output=Path(run.training.output).name)
    return MotionMetadata(
        run=run.replace(data=names, training=training.model_dump()),
        steps=steps,
        **stamp(command, extra),
    )


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
    exports={"onnx": "ambulo.policies.export.motion:export_motion"},
)
