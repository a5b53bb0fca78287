"""Gait estimators: the parameters of a gait from its motion."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from ambulo.motion.human23 import N_SIXDOF
from ambulo.policies.files.headers import GaitHeader, Shapes
from ambulo.policies.files.spec import ModelSpec

NOISE = "noise."
"""How the names of weights begin."""


class EstimatorMetadata(GaitHeader):
    """The contents of `ambulo.json` in a file of a gait estimator."""

    kind: Literal["gait_estimator"] = "gait_estimator"
    """Kind of the model."""
    given: tuple[str, ...] = ()
    """Parameters that were known when its errors were measured."""
    modes: Annotated[int, Field(ge=0, le=1000)]
    """Directions of the differences between captured poses and the network's."""
    ignored_weights: ClassVar[tuple[str, ...]] = ("vae.", "noise.vae_error")

    @model_validator(mode="before")
    @classmethod
    def _without_variational_network(cls, data: Any) -> Any:
        """Read older files, which also hold a variational network, `vae`."""
        if not isinstance(data, dict) or not isinstance(data.get("vae"), dict):
            return data
        rest = {key: value for key, value in data.items() if key != "vae"}
        return {"given": data["vae"].get("given", ()), **rest}

    def weight_shapes(self, stored: Shapes, source: str) -> Shapes:
        """Shapes of the noise model, for cycles of 30 frames."""
        shapes: dict[str, tuple[int, ...]] = {
            "deviation": (N_SIXDOF,),
            "modes": (self.modes, 30 * N_SIXDOF),
            "variances": (self.modes,),
            "floor": (1,),
            "trust": (len(self.space["parameters"]),),
        }
        return {NOISE + name: shape for name, shape in shapes.items()}


def _headline(header: EstimatorMetadata) -> str:
    return f"{len(header.space['parameters'])} parameters, {len(header.given)} given"


SPEC = ModelSpec(
    kind="gait_estimator",
    summary="estimates gaits: motion to parameters of body and gait",
    header=EstimatorMetadata,
    loader="ambulo.policies.agents.gait_estimator:load_estimator",
    headline=_headline,
)
