"""Policies of simulated bodies: walkers that imitate, follow commands or gaits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field

from ambulo.configs.errors import ModelFileError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.locomotion_env import SUITE_BODIES
from ambulo.configs.motion_nn import MotionNNConfig
from ambulo.policies.files.headers import (
    DescribedLayout,
    FileHeader,
    ObservationPart,
    Shapes,
    StoredLayout,
    parts_of,
    size_of,
    stamp,
)
from ambulo.policies.files.spec import ModelSpec

if TYPE_CHECKING:
    from ambulo.policies.networks.simulation_nn import SimulationNN

REFERENCE = "reference_{}.npz"
"""Name of a member that holds a reference; the first is number 0."""
MUSCLES = "muscle_nn.safetensors"
"""Name of the member that holds a muscle network."""


class LocomotionMetadata(FileHeader):
    """The contents of `ambulo.json` in a file of a locomotion policy."""

    kind: Literal["locomotion"] = "locomotion"
    """Kind of the model."""
    num_timesteps: Annotated[int, Field(ge=0)] = 0
    """Control steps of its training, those of a teacher not counted."""
    config: LocomotionConfig
    """How it was trained; files by name only."""
    observation: Annotated[tuple[ObservationPart, ...], Field(min_length=1)]
    """Parts of its observation."""
    observation_scales: tuple[float, ...]
    """Fixed factor of each number of the observation."""
    actions: Annotated[tuple[str, ...], Field(min_length=1)]
    """Joint axes whose targets it moves."""
    encoder: MotionNNConfig | None = None
    """The motion network of its prior."""
    contract: str = ""
    """`contract_of` the policy; empty in files of older versions."""

    def checked(self, source: str) -> Self:
        """Refuse parts that do not fit; a file does not choose where faults go."""
        at = size_of(self.observation, source)
        if len(self.observation_scales) != at:
            raise ModelFileError(
                f"{source}: {len(self.observation_scales)} observation_scales, "
                f"expected {at}"
            )
        # A file from elsewhere does not choose where this machine writes.
        config = self.config.override("environment", fault_folder=None)
        # Nor which file or function it reads a body from: it brings it.
        env = config.environment
        if env.character not in SUITE_BODIES and env.prepared_body is None:
            raise ModelFileError(
                f"{source}: unknown character {env.character!r}: a body of the user's "
                "own comes with the file; get it anew"
            )
        if (self.encoder is None) != (config.network.prior is None):
            raise ModelFileError(f"{source}: encoder and network.prior need each other")
        contract = contract_of(config, self.observation, self.actions)
        if self.contract and self.contract != contract:
            raise ModelFileError(
                f"{source}: contract does not fit body, observation and actions: "
                "ambulo.json was edited; get the file anew"
            )
        return self.replace(config=config)

    def weight_shapes(self, stored: Shapes, source: str) -> Shapes:
        """Shapes of the policy class that the configuration chooses."""
        from ambulo.policies.files.network_shapes import shapes_of

        return shapes_of(self.new_policy)

    @property
    def layout(self) -> StoredLayout:
        """The observation layout that it was trained on."""
        return StoredLayout(self.observation, self.observation_scales)

    def new_policy(self) -> SimulationNN:
        """Return the policy with fresh weights; random generators stay as they are."""
        import torch

        from ambulo.policies.networks.locomotion_policy import make_policy

        with torch.random.fork_rng(devices=[]):
            return make_policy(
                self.config.network, self.layout, len(self.actions), self.encoder
            )

    def attachments(
        self, members: Mapping[str, bytes], source: str
    ) -> dict[str, bytes]:
        """Return the references and the muscle network among the members of a file."""
        count = 1 + len(self.config.environment.more_references)
        names = [REFERENCE.format(i) for i in range(count)]
        for name in names:
            if name not in members:
                raise ModelFileError(
                    f"{source}: {name}, which the policy follows, is missing; "
                    "get the file anew"
                )
        names += [MUSCLES] if MUSCLES in members else []
        return {name: members[name] for name in names}


def describe_locomotion(
    config: LocomotionConfig,
    layout: DescribedLayout,
    actions: Sequence[str],
    *,
    encoder: MotionNNConfig | None = None,
    num_timesteps: int = 0,
    command: str = "",
    extra: Mapping[str, Any] | None = None,
) -> LocomotionMetadata:
    """Return the header of a policy trained here and now with `config`.

    Its settings name the back end `cpu`, which all have; `extra` names the one of the training.
    """
    backend = config.environment.backend
    if backend != "cpu":
        extra = {**(extra or {}), "backend": backend}
    observation = parts_of(layout)
    return LocomotionMetadata(
        num_timesteps=num_timesteps,
        config=without_folders(config).override("environment", backend="cpu"),
        observation=observation,
        observation_scales=tuple(float(scale) for scale in layout.scales()),
        actions=tuple(actions),
        encoder=encoder,
        contract=contract_of(config, observation, actions),
        **stamp(command, extra),
    )


def contract_of(
    config: LocomotionConfig,
    observation: Sequence[ObservationPart],
    actions: Sequence[str],
) -> str:
    """Return the SHA-256 of what a policy sees and moves, whoever computes the physics.

    A policy can act in every environment of the same contract.
    """
    env = config.environment
    numbers = (env.body_name, env.actuation, env.control_rate, env.action_scale)
    rows = [[part.name, part.start, part.stop, part.unit] for part in observation]
    text = json.dumps([numbers, rows, list(actions)])
    return hashlib.sha256(text.encode()).hexdigest()


def without_folders(config: LocomotionConfig) -> LocomotionConfig:
    """Return a copy for files that are passed on: files by name, no local folder."""
    config = config.shareable()
    body = config.environment.prepared_body
    if body is not None:
        body = body.replace(source=Path(body.source).name)
        config = config.override("environment", character=body.source, body=body)
    reference, prior = config.environment.reference, config.network.prior
    if reference is not None:
        name = Path(reference).name
        config = config.override("environment", reference=name)
    named = {
        key: tuple(Path(path).name for path in getattr(config.environment, key))
        for key in ("more_references", "clips")
    }
    config = config.override("environment", **named)
    if prior is not None:
        shared = {**prior.model_dump(), "model": Path(prior.model).name}
        config = config.override("network", prior=shared)
    if config.gait.base is not None:
        config = config.override("gait", base=Path(config.gait.base).name)
    network = Path(config.environment.muscle_network).name
    config = config.override("environment", muscle_network=network)
    teacher = config.training.teacher
    if teacher is not None and teacher.model is not None:
        shown = teacher.replace(model=Path(teacher.model).name)
        config = config.override("training", teacher=shown)
    return config


def _headline(header: LocomotionMetadata) -> str:
    env = header.config.environment
    return (
        f"{env.task} on {env.body_name}, {env.actuation}, "
        f"{header.num_timesteps:,} steps, {len(header.actions)} actions"
    )


SPEC = ModelSpec(
    kind="locomotion",
    summary="moves a simulated body: joint states to target poses",
    header=LocomotionMetadata,
    loader="ambulo.policies.agents.locomotion:load_walker",
    headline=_headline,
    graph="ambulo.policies.export.walkers:walker_graph",
)
