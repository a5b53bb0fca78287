"""Muscle networks: activations of muscles from the torques they shall make."""

from __future__ import annotations

from ambulo.configs.muscle import MUSCLE_NN_FORMAT, MuscleNNHeader
from ambulo.policies.files.spec import ModelSpec


def _headline(header: MuscleNNHeader) -> str:
    groups = f", {len(header.groups)} groups" if header.conditioned else ""
    return f"{len(header.muscles)} muscles, {header.shape[0]} joint axes{groups}"


SPEC = ModelSpec(
    kind="muscle_nn",
    summary="activates muscles: target torques to activations",
    header=MuscleNNHeader,
    loader="ambulo.muscle.muscle_nn:load_muscle_nn",
    headline=_headline,
    formats=(MUSCLE_NN_FORMAT,),
    graph="ambulo.policies.export.muscles:muscle_graph",
)
