"""The front door: a configured batch of bodies."""

from __future__ import annotations

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.imitate import ImitateBatch
from ambulo.envs.locomotion.locomote import LocomoteBatch
from ambulo.envs.locomotion.reference import (
    Reference,
    body_of,
    check_reference,
    reference_of,
)
from ambulo.envs.locomotion.stand import StandBatch

BATCHES: dict[str, type[LocomotionBatch]] = {
    "imitate": ImitateBatch,
    "locomote": LocomoteBatch,
    "stand": StandBatch,
}
"""The batch of each task."""


def make_batch(
    config: LocomotionConfig,
    num_bodies: int,
    *,
    seed: int | None = None,
    threads: int = 1,
    reference: Reference | None = None,
) -> LocomotionBatch:
    """A batch for the configured task, not yet reset.

    Args:
        config: All settings.
        num_bodies: Bodies stepped together.
        seed: Seeds body i with seed + i.
        threads: CPU threads for the physics.
        reference: What is followed, instead of `environment.reference`.

    Raises:
        ConfigError: A setting that cannot be used.
        MotionError: A clip that is no reference.
    """
    env = config.environment
    character = body_of(env)
    if reference is None:
        reference = reference_of(env, character)
    else:
        check_reference(reference, character, env)
    batch = BATCHES[env.task](
        config, reference, character, num_players=num_bodies, threads=threads
    )
    if seed is not None:
        batch.seed([seed + i for i in range(num_bodies)])
    return batch
