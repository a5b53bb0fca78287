"""Settings of the variational network from a motion to its gait parameters."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ambulo.configs.base import Config

Count = Annotated[int, Field(ge=1)]


class GaitVAEConfig(Config):
    """The size of the network and its given parameters."""

    given: tuple[str, ...] = ()
    """Parameters that are inputs, not estimated."""
    hidden: Count = 256
    """Width of the three hidden layers of encoder and decoder."""
    latent: Count = 32
    """Latent numbers."""
