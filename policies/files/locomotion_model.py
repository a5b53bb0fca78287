"""Files of locomotion policies: weights, settings and the reference they follow.

One zip of JSON, safetensors and a reference's NPZ; nothing in it is executed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from ambulo.configs.errors import ModelFileError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.motion_nn import MotionNNConfig
from ambulo.policies.agent import StoredLayout
from ambulo.policies.files.archive import write_atomic, zipped
from ambulo.policies.files.model_format import (
    HEADER,
    FileHeader,
    ObservationPart,
    TrainingState,
    check_weights,
    header_of,
    members_of,
    parts_of,
    plain,
    read_members,
    read_tensors,
    read_training,
    shapes_of,
    size_of,
    stamp,
)
from ambulo.policies.locomotion_learner import make_policy
from ambulo.policies.networks.simulation_nn import SimulationNN

KIND = "locomotion"
REFERENCE = "reference_{}.npz"
"""Name of a member that holds a reference; the first is number 0."""
MUSCLES = "muscle_nn.safetensors"
"""Name of the member that holds a muscle network."""


class LocomotionMetadata(FileHeader):
    """The contents of `ambulo.json` in a file of a locomotion policy."""

    kind: Literal["locomotion"] = "locomotion"
    """What the model does."""
    num_timesteps: Annotated[int, Field(ge=0)] = 0
    """Control steps that it was trained for, those of a teacher not counted."""
    config: LocomotionConfig
    """How it was trained; files by name only."""
    observation: Annotated[tuple[ObservationPart, ...], Field(min_length=1)]
    """What it sees."""
    observation_scales: tuple[float, ...]
    """Fixed factor of each number that it sees."""
    actions: Annotated[tuple[str, ...], Field(min_length=1)]
    """Joint axes whose targets it moves."""
    encoder: MotionNNConfig | None = None
    """The motion network of its prior."""


@dataclass(frozen=True)
class LocomotionModel:
    """Everything in a file of a locomotion policy."""

    metadata: LocomotionMetadata
    """What it is."""
    policy: dict[str, Tensor]
    """Weights and statistics, float32, by the names of its policy class."""
    references: tuple[bytes, ...] = ()
    """What it follows, one a mode, as bytes of NPZ files."""
    training: TrainingState | None = None
    """Only in checkpoints."""
    muscles: bytes | None = None
    """The muscle network that it was trained with, as bytes of a safetensors file."""


@dataclass(frozen=True)
class StoredScales(StoredLayout):
    """An observation layout with its fixed factors, as a file tells them."""

    factors: tuple[float, ...] = field(default=())
    """One a number."""

    def scales(self) -> Any:
        """The factors, (size,)."""
        return torch.tensor(self.factors).numpy()


def describe_locomotion(
    config: LocomotionConfig,
    layout: Any,
    actions: Sequence[str],
    *,
    encoder: MotionNNConfig | None = None,
    num_timesteps: int = 0,
    command: str = "",
    extra: Mapping[str, Any] | None = None,
) -> LocomotionMetadata:
    """The metadata of a policy trained here and now with `config`."""
    return LocomotionMetadata(
        num_timesteps=num_timesteps,
        config=without_folders(config),
        observation=parts_of(layout),
        observation_scales=tuple(float(scale) for scale in layout.scales()),
        actions=tuple(actions),
        encoder=encoder,
        **stamp(command, extra),
    )


def without_folders(config: LocomotionConfig) -> LocomotionConfig:
    """A copy for files that are passed on: files by name, no folder of this machine."""
    config = config.shareable()
    reference, prior = config.environment.reference, config.network.prior
    if reference is not None:
        name = Path(reference).name
        config = config.override("environment", reference=name)
    more = tuple(Path(path).name for path in config.environment.more_references)
    config = config.override("environment", more_references=more)
    if prior is not None:
        named = {**prior.model_dump(), "model": Path(prior.model).name}
        config = config.override("network", prior=named)
    if config.gait.base is not None:
        config = config.override("gait", base=Path(config.gait.base).name)
    network = Path(config.environment.muscle_network).name
    config = config.override("environment", muscle_network=network)
    teacher = config.training.teacher
    if teacher is not None and teacher.model is not None:
        shown = teacher.replace(model=Path(teacher.model).name)
        config = config.override("training", teacher=shown)
    return config


def save_locomotion(path: str | os.PathLike[str], model: LocomotionModel) -> None:
    """Write `model`; the file appears whole or stays as it was."""
    file = Path(path)
    policy = plain(model.policy)
    policy_of(model.metadata, policy, str(file))
    header = model.metadata.to_json()
    members = members_of(header, policy, model.training, str(file))
    for i, data in enumerate(model.references):
        members[REFERENCE.format(i)] = data
    if model.muscles is not None:
        members[MUSCLES] = model.muscles
    write_atomic(file, zipped(members))


def load_locomotion(path: str | os.PathLike[str]) -> LocomotionModel:
    """The locomotion policy in the file `path`, checked.

    Raises:
        ModelFileError: missing, damaged, unsafe, newer, or made for something else.
    """
    file = Path(path)
    return locomotion_of(read_members(file), str(file))


def locomotion_of(members: Mapping[str, bytes], source: str) -> LocomotionModel:
    """The locomotion policy in the `members` of a model file, checked.

    Raises:
        ModelFileError: damaged, newer, or made for something else; begins with `source`.
    """
    metadata = _metadata(members[HEADER], f"{source}: {HEADER}")
    policy = read_tensors(members, source)
    policy_of(metadata, policy, source)
    count = 1 + len(metadata.config.environment.more_references)
    names = [REFERENCE.format(i) for i in range(count)]
    for name in names:
        if name not in members:
            raise ModelFileError(
                f"{source}: {name}, which the policy follows, is missing; "
                "get the file anew"
            )
    references = tuple(members[name] for name in names)
    training = read_training(members, source)
    muscles = members.get(MUSCLES)
    return LocomotionModel(metadata, policy, references, training, muscles)


def layout_of(metadata: LocomotionMetadata) -> StoredScales:
    """The observation layout that a policy was trained on."""
    return StoredScales(metadata.observation, metadata.observation_scales)


def policy_of(
    metadata: LocomotionMetadata, weights: Mapping[str, Tensor], source: str
) -> SimulationNN:
    """The policy with its weights; `ModelFileError` for those of another or not finite."""
    with torch.random.fork_rng(devices=[]):
        policy = make_policy(
            metadata.config.network,
            layout_of(metadata),
            len(metadata.actions),
            metadata.encoder,
        )
    check_weights(weights, shapes_of(policy.state_dict()), source)
    policy.load_state_dict(dict(weights))
    return policy.eval().requires_grad_(False)


def _metadata(data: bytes, source: str) -> LocomotionMetadata:
    metadata = header_of(LocomotionMetadata, data, source, KIND)
    at = size_of(metadata.observation, source)
    if len(metadata.observation_scales) != at:
        raise ModelFileError(
            f"{source}: {len(metadata.observation_scales)} observation_scales, "
            f"expected {at}"
        )
    # A file that was handed over does not choose where this machine writes.
    calm = metadata.config.override("environment", fault_folder=None)
    metadata = metadata.replace(config=calm)
    if (metadata.encoder is None) != (metadata.config.network.prior is None):
        raise ModelFileError(f"{source}: encoder and network.prior need each other")
    return metadata
