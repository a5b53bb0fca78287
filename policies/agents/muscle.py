"""Checkpoints of muscle networks, as networks that are ready to use."""

from __future__ import annotations

import os

from ambulo.muscle.muscle_nn import MuscleNN, muscle_nn_from_bytes
from ambulo.policies.files.model_file import load_model
from ambulo.policies.kinds.locomotion import MUSCLES
from ambulo.policies.kinds.muscle_training import MuscleTrainingMetadata


def load_checkpoint_network(path: str | os.PathLike[str]) -> MuscleNN:
    """Return the network of a checkpoint."""
    file = load_model(path, MuscleTrainingMetadata)
    return muscle_nn_from_bytes(file.attachments[MUSCLES], path)
