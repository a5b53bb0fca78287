"""A trained locomotion policy, ready to act on batches of observations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ambulo.configs.errors import ModelFileError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.tasks import environment_id
from ambulo.muscle.muscle_nn import MuscleNN, muscle_nn_from_bytes
from ambulo.policies.agents.navigation import tensor_of
from ambulo.policies.files.model_file import ModelFile, TrainingState, load_model
from ambulo.policies.kinds.locomotion import MUSCLES, REFERENCE, LocomotionMetadata

LocomotionModel = ModelFile[LocomotionMetadata]
"""The contents of a file of a locomotion policy."""


class LocomotionAgent:
    """A locomotion policy ready to act, with its config and metadata."""

    def __init__(self, model: LocomotionModel, source: str = "the model") -> None:
        """The agent in `model`, whose weights are copied; errors name `source`."""
        self.metadata = model.metadata
        self.config: LocomotionConfig = model.metadata.config
        self.references = references_of(model)
        """The references that it follows, one a mode, as bytes of NPZ files."""
        self.muscles: MuscleNN | None = None
        """The muscle network of its training; None: the exact solver, or no muscles."""
        if MUSCLES in model.attachments:
            self.muscles = muscle_nn_from_bytes(model.attachments[MUSCLES], source)
        self.layout = model.metadata.layout
        self.policy = model.metadata.new_policy()
        self.policy.load_state_dict(model.weights)
        self.policy.eval().requires_grad_(False)

    @property
    def env_id(self) -> str:
        """The environment that it was trained in."""
        return environment_id(self.config.environment.task)

    def env_settings(self) -> dict[str, Any]:
        """Return the keyword arguments of its environment.

        Raises:
            ModelFileError: It follows several references, of which environments have one.
        """
        if len(self.references) > 1:
            raise ModelFileError(
                f"this policy follows {len(self.references)} references; an "
                "environment has one (`ambulo eval` plays it)"
            )
        follow = self.references[0] if self.references else None
        return {"config": self.config, "follow": follow, "muscles": self.muscles}

    def act(
        self, obs: NDArray[np.float32], *, deterministic: bool = True
    ) -> NDArray[np.float32]:
        """Actions (N, A) in [-1, 1] for observations (N, size).

        Args:
            obs: Observations (N, size), or one (size,).
            deterministic: the mean instead of a sample of torch's own generator.

        Raises:
            ModelFileError: observations of another size than the agent was trained on.
            ObservationError: a number is not finite.
        """
        if obs.ndim == 1:
            single: NDArray[np.float32] = self.act(
                obs[None], deterministic=deterministic
            )[0]
            return single
        with torch.inference_mode():
            seen = tensor_of(obs, self.layout)
            policy: Any = self.policy
            if deterministic:
                actions = policy.means(seen)
            else:
                actions = policy.get_distribution(seen).sample()
            clipped: NDArray[np.float32] = actions.clamp(-1.0, 1.0).numpy()
            return clipped


def load_locomotion(path: str | os.PathLike[str]) -> LocomotionModel:
    """Return the contents of a file of a locomotion policy, checked."""
    return load_model(path, LocomotionMetadata)


def load_locomotion_agent(path: str | os.PathLike[str]) -> LocomotionAgent:
    """Return the agent in a model file; it may be a correction of another policy."""
    return LocomotionAgent(load_locomotion(path), str(path))


def load_walker(path: str | os.PathLike[str]) -> LocomotionAgent:
    """Return the agent in a model file; `ModelFileError` for a correction alone."""
    agent = load_locomotion_agent(path)
    check_alone(agent, path)
    return agent


def check_alone(agent: LocomotionAgent, file: str | os.PathLike[str]) -> None:
    """`ModelFileError` for a correction, which does not act without its base."""
    base = agent.config.gait.base
    if base is not None:
        raise ModelFileError(
            f"{os.fspath(file)}: only corrects {base}; make one policy of both with "
            f"`ambulo gait compose BASE {os.path.basename(file)} --out FILE`"
        )


def locomotion_model(
    metadata: LocomotionMetadata,
    weights: dict[str, Tensor],
    references: Sequence[bytes] = (),
    training: TrainingState | None = None,
    muscles: bytes | None = None,
) -> LocomotionModel:
    """Return the contents of a file of a locomotion policy.

    Args:
        metadata: Its header.
        weights: By the names of its policy class.
        references: NPZ files of the references that it follows, one a mode.
        training: For checkpoints.
        muscles: File of the muscle network that it was trained with.
    """
    attachments = {REFERENCE.format(i): data for i, data in enumerate(references)}
    if muscles is not None:
        attachments[MUSCLES] = muscles
    return ModelFile(metadata, weights, training, attachments)


def references_of(model: LocomotionModel) -> tuple[bytes, ...]:
    """Return the references in a model file, one a mode, as bytes of NPZ files."""
    count = sum(name != MUSCLES for name in model.attachments)
    return tuple(model.attachments[REFERENCE.format(i)] for i in range(count))
