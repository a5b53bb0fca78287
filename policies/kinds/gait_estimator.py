"""Gait estimators: the parameters of a gait from its motion."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field

from ambulo.configs.gait import GaitSpace
from ambulo.configs.gait_vae import GaitVAEConfig
from ambulo.motion.human23 import N_SIXDOF
from ambulo.policies.files.headers import FileHeader, Shapes, check_gait_space
from ambulo.policies.files.spec import ModelSpec

NOISE, VAE = "noise.", "vae."
"""How the names of weights begin that belong to each part."""


class EstimatorMetadata(FileHeader):
    """The contents of `ambulo.json` in a file of a gait estimator."""

    kind: Literal["gait_estimator"] = "gait_estimator"
    """What the model does."""
    space: dict[str, Any]
    """The parameters that it estimates (`GaitSpace.to_json`)."""
    vae: GaitVAEConfig
    """The variational network."""
    modes: Annotated[int, Field(ge=0, le=1000)]
    """Directions of the differences between captured poses and the network's."""

    def gait_space(self) -> GaitSpace:
        """Return its parameters; `ConfigError` if they are damaged."""
        return GaitSpace.from_json(self.space)

    def checked(self, source: str) -> Self:
        """Refuse damaged parameters."""
        check_gait_space(self.space, source)
        return self

    def weight_shapes(self, stored: Shapes, source: str) -> Shapes:
        """Shapes of the variational network and of the noise model."""
        from ambulo.policies.files.network_shapes import shapes_of
        from ambulo.policies.networks.gait_vae import GaitVAE
        from ambulo.policies.networks.pose_noise import CYCLE_FRAMES

        space = self.gait_space()
        parts = shapes_of(lambda: GaitVAE(space, self.vae))
        shapes = {VAE + name: shape for name, shape in parts.items()}
        noise: dict[str, tuple[int, ...]] = {
            "deviation": (N_SIXDOF,),
            "modes": (self.modes, CYCLE_FRAMES * N_SIXDOF),
            "variances": (self.modes,),
            "floor": (1,),
            "trust": (space.size,),
            "vae_error": (space.size,),
        }
        return shapes | {NOISE + name: shape for name, shape in noise.items()}


def _headline(header: EstimatorMetadata) -> str:
    return (
        f"{len(header.space['parameters'])} parameters, {len(header.vae.given)} given"
    )


SPEC = ModelSpec(
    kind="gait_estimator",
    summary="estimates gaits: motion to parameters of body and gait",
    header=EstimatorMetadata,
    loader="ambulo.policies.agents.gait_estimator:load_estimator",
    headline=_headline,
    exports={"onnx": "ambulo.policies.export.gaits:export_estimator"},
)
