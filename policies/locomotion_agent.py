"""A trained locomotion policy, ready to act on batches of observations."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.muscle.muscle_nn import MuscleNN, muscle_nn_from_bytes
from ambulo.policies.agent import tensor_of
from ambulo.policies.files.locomotion_model import (
    LocomotionModel,
    layout_of,
    load_locomotion,
    policy_of,
)


class LocomotionAgent:
    """Acts; `config` and `metadata` tell how it was trained."""

    def __init__(self, model: LocomotionModel, source: str = "the model") -> None:
        """The agent in `model`, whose weights are copied; errors name `source`."""
        self.metadata = model.metadata
        self.config: LocomotionConfig = model.metadata.config
        self.references = model.references
        """What it follows, one a mode, as bytes of NPZ files."""
        self.muscles: MuscleNN | None = None
        """The muscle network that it was trained with; None: the exact solver, or none."""
        if model.muscles is not None:
            self.muscles = muscle_nn_from_bytes(model.muscles, source)
        self.layout = layout_of(model.metadata)
        weights = {name: tensor.clone() for name, tensor in model.policy.items()}
        self.policy = policy_of(model.metadata, weights, source)

    def act(
        self, obs: NDArray[np.float32], *, deterministic: bool = True
    ) -> NDArray[np.float32]:
        """Actions (N, A) in [-1, 1] for observations (N, size).

        Args:
            obs: what the batch that it was trained on gives.
            deterministic: the mean instead of a sample of torch's own generator.

        Raises:
            ModelFileError: observations of another size than the agent was trained on.
        """
        with torch.inference_mode():
            seen = tensor_of(obs, self.layout.size)
            policy: Any = self.policy
            if deterministic:
                actions = policy.means(seen)
            else:
                actions = policy.get_distribution(seen).sample()
            clipped: NDArray[np.float32] = actions.clamp(-1.0, 1.0).numpy()
            return clipped


def load_locomotion_agent(path: str | os.PathLike[str]) -> LocomotionAgent:
    """The agent in a model file."""
    return LocomotionAgent(load_locomotion(path), str(path))
