"""The header of a muscle network's file; importing it loads no compiled code."""

from __future__ import annotations

from typing import Literal

from ambulo.configs.base import Config
from ambulo.configs.muscle import MuscleNNConfig

FORMAT = "ambulo-muscle-nn"
VERSION = 1


class MuscleNNHeader(Config):
    """JSON in the metadata of the file of tensors."""

    format: Literal["ambulo-muscle-nn"] = "ambulo-muscle-nn"
    """Names this format."""
    version: Literal[1] = 1
    """Of the format."""
    config: MuscleNNConfig
    """How the network was made."""
    muscles: tuple[str, ...]
    """Names of the muscles, in the order of the activations."""
    groups: tuple[str, ...]
    """Names of the muscle groups."""
    shape: tuple[int, int]
    """Joint axes and muscles of JtA."""
    conditioned: bool
    """Whether the factors of the muscle groups are inputs."""
