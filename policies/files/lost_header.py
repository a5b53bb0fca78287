"""What a model file says of its head that gives the probability of being lost."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ambulo.configs.base import Config
from ambulo.configs.errors import ModelFileError
from ambulo.policies.files.headers import Shapes

PREFIX = "lost_net"
"""Begins the names of the weights of the head."""
Probability = Annotated[float, Field(ge=0.0, le=1.0)]
LogitMap = tuple[float, float]
"""Factor and offset: the logit of a probability is factor x + offset."""


class LostHeader(Config):
    """How the head was fitted and calibrated, and what it is compared with."""

    definition: str
    """What *lost* means, in words."""
    hidden: Annotated[int, Field(ge=0, le=4096)]
    """Width of its hidden layer (ReLU); 0: one linear layer."""
    levels: str
    """Levels that it was fitted and calibrated in, in words."""
    episodes: Annotated[int, Field(ge=1)]
    """Episodes on training levels that it was fitted to."""
    calibration_episodes: Annotated[int, Field(ge=1)]
    """Episodes on validation levels that it was calibrated with."""
    base_rate: Probability
    """Fraction of the decisions of the calibration in which the agent was lost."""
    calibration: LogitMap
    """Platt scaling of the fitted logits; the stored weights contain it."""
    stalled: LogitMap
    """The baseline of log(1 + seconds without a new least distance to the goal)."""
    critic: LogitMap | None = None
    """The baseline of the critic's value; null: the model has no critic to ask."""


def lost_shapes(header: LostHeader, latent: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of each weight of a head on `latent` numbers, by name."""
    hidden = header.hidden
    if hidden == 0:
        return {f"{PREFIX}.0.weight": (1, latent), f"{PREFIX}.0.bias": (1,)}
    return {
        f"{PREFIX}.0.weight": (hidden, latent),
        f"{PREFIX}.0.bias": (hidden,),
        f"{PREFIX}.2.weight": (1, hidden),
        f"{PREFIX}.2.bias": (1,),
    }


def check_lost(header: LostHeader | None, stored: Shapes, source: str) -> None:
    """Raise `ModelFileError` for weights of a head that the header does not describe."""
    if header is None and any(name.startswith(f"{PREFIX}.") for name in stored):
        raise ModelFileError(
            f"{source}: weights of {PREFIX}, but no 'lost' in the header"
        )
