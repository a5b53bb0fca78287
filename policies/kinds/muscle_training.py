"""Checkpoints of muscle networks, from which a training continues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ambulo.configs.errors import ModelFileError
from ambulo.configs.muscle import MuscleRunConfig
from ambulo.policies.files.headers import Shapes, TrainedHeader
from ambulo.policies.files.spec import ModelSpec
from ambulo.policies.kinds.locomotion import MUSCLES


class MuscleTrainingMetadata(TrainedHeader):
    """The contents of `ambulo.json` in a checkpoint of a muscle network."""

    kind: Literal["muscle_training"] = "muscle_training"
    """Kind of the file."""
    run: MuscleRunConfig
    """The network, and how it is trained."""

    def weight_shapes(self, stored: Shapes, source: str) -> Shapes:
        """No weights besides those of the network's own file."""
        return {}

    def attachments(
        self, members: Mapping[str, bytes], source: str
    ) -> dict[str, bytes]:
        """Return the network's own file."""
        if MUSCLES not in members:
            raise ModelFileError(f"{source}: no {MUSCLES} inside")
        return {MUSCLES: members[MUSCLES]}


def _headline(header: MuscleTrainingMetadata) -> str:
    return f"{header.run.character}, {header.steps:,} updates"


SPEC = ModelSpec(
    kind="muscle_training",
    summary="checkpoint of a muscle network: target torques to activations",
    header=MuscleTrainingMetadata,
    loader="ambulo.policies.agents.muscle:load_checkpoint_network",
    headline=_headline,
    graph="ambulo.policies.export.muscles:muscle_graph",
)
