"""What a locomotion training plays: bodies, references and what policies see of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from gymnasium import spaces

from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.locomotion.extended import HistoryBatch, ModesBatch
from ambulo.envs.locomotion.reference import (
    Reference,
    body_of,
    reference_bytes,
    reference_from_bytes,
    reference_of,
)
from ambulo.policies.locomotion_model_file import LocomotionModel
from ambulo.policies.sb3_vec_env import BatchVecEnv

References = tuple[Reference, ...]


def references_for(config: LocomotionConfig) -> References:
    """The configured references, with balance laws if anything asks for them.

    A teacher needs the law also where it does not act.
    """
    env = config.environment
    if config.training.teacher is not None:
        env = config.override("environment", balance_law=True).environment
    names = (env.reference, *env.more_references)
    return tuple(
        reference_of(env.replace(reference=name), body_of(env)) for name in names
    )


def stored_references(model: LocomotionModel, source: str) -> References:
    """The references in a model file."""
    return tuple(reference_from_bytes(data, source) for data in model.references)


def bytes_of(references: References) -> tuple[bytes, ...]:
    """References for a model file."""
    return tuple(reference_bytes(reference) for reference in references)


def make_bodies(
    config: LocomotionConfig,
    count: int,
    references: References,
    *,
    seed: int,
    threads: int = 1,
) -> LocomotionBatch:
    """`count` bodies for `config`, not yet reset.

    They are shared out among several references, each a mode of its own; for a policy
    with a prior they also show their last states.
    """
    modes = len(references)
    if count < modes:
        raise ConfigError(f"{count} bodies for {modes} references: one each, at least")
    batches = [
        make_batch(
            config,
            count // modes + (mode < count % modes),
            seed=seed + mode * count,
            threads=threads,
            reference=reference,
        )
        for mode, reference in enumerate(references)
    ]
    batch = batches[0] if modes == 1 else cast(LocomotionBatch, ModesBatch(batches))
    prior = config.network.prior
    if prior is not None:
        batch = cast(LocomotionBatch, HistoryBatch(batch, prior.frames))
    return batch


def vector_env(batch: LocomotionBatch) -> BatchVecEnv:
    """The bodies for a learner."""
    space = spaces.Box(-1.0, 1.0, (batch.action_size,), np.float32)
    return BatchVecEnv(batch, space)


def action_names(batch: LocomotionBatch) -> Sequence[str]:
    """The joint axes that an action moves, such as `FemurR_x`."""
    model = batch.simulation.model
    names = []
    for dof in batch.dofs:
        joint = model.joint(int(model.dof_jntid[dof]))
        wide = int(joint.type[0]) == 1  # a ball joint has three axes
        axis = f"_{'xyz'[int(dof - joint.dofadr[0])]}" if wide else ""
        names.append(f"{joint.name}{axis}")
    return names
