"""Settings of the variational network from a motion to its gait parameters."""

from __future__ import annotations

from ambulo.configs.base import Config
from ambulo.configs.types import Width


class GaitVAEConfig(Config):
    """The size of the network and its given parameters."""

    given: tuple[str, ...] = ()
    """Parameters that are inputs, not estimated."""
    hidden: Width = 256
    """Width of the three hidden layers of encoder and decoder."""
    latent: Width = 32
    """Latent numbers."""
