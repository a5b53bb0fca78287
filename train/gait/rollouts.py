"""Roll-outs of gait: jobs that any process can play, and the raw shards that they make.

A job is decided by the seed and its number alone, whoever plays it; its episodes become
one file. So a job whose worker died is simply played again, and nothing is lost.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.base import parse
from ambulo.configs.errors import MotionError
from ambulo.configs.gait import gait_space
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.reading import read_regular
from ambulo.envs.reference.configured import configured_character
from ambulo.envs.reference.reference import reference_from_bytes
from ambulo.envs.tasks.gait.batch import GaitBatch
from ambulo.envs.tasks.gait.sampling import random_parameters
from ambulo.evaluate.shared.rollout import Act, rollout
from ambulo.motion.gaits.shards import RawShard
from ambulo.motion.human23 import N_POSITIONS
from ambulo.policies.files.archive import MAX_BYTES

if TYPE_CHECKING:
    from ambulo.evaluate.locomotion.cascades import GaitPolicy


TRIES = 20
"""Parameter vectors drawn before one gives up to find a gait that can be made."""


@dataclass(frozen=True)
class RolloutPlan:
    """Settings that all jobs share; small enough to be sent to every worker."""

    config: dict[str, Any]
    """A `LocomotionConfig` of the task gait, as plain JSON."""
    reference: bytes
    """The healthy gait, a reference file."""
    model: str | None
    """File of the policy; None: actions of 0, the balance controller alone."""
    seed: int
    """Seed of parameters and starts."""
    steps: int
    """Control steps of an episode."""
    per_job: int
    """Episodes of a job."""
    cascaded: bool = False
    """Whether the policy is a cascade."""

    @property
    def digest(self) -> str:
        """Fingerprint of the plan: settings, gait, policy, seed and sizes."""
        policy = (
            b"" if self.model is None else read_regular(Path(self.model), MAX_BYTES)
        )
        parts = [self.config, self.seed, self.steps, self.per_job]
        settings = json.dumps(parts, sort_keys=True).encode()
        digest = hashlib.blake2b(digest_size=16)
        for part in (settings, self.reference, policy):
            digest.update(len(part).to_bytes(8, "little") + part)
        return digest.hexdigest()

    @property
    def settings(self) -> LocomotionConfig:
        """The configuration."""
        return parse(LocomotionConfig, self.config, "roll-out")


@dataclass(frozen=True, eq=False)
class RolloutResult:
    """Result of a job."""

    job: int
    """Its number."""
    shard: RawShard
    """Its episodes; those that fell are shorter."""
    fell: int
    """Episodes that did not last."""


def play_job(plan: RolloutPlan, job: int) -> RolloutResult:
    """Play job number `job`: each episode has parameters of its own.

    An episode's frames are those after each control step, up to the step before a fall.
    """
    config = plan.settings
    space = gait_space(config.environment.character)
    rng = np.random.default_rng([plan.seed, job])
    batch, values = _bodies(plan, config, rng)
    count = len(values)
    batch.seed([int(seed) for seed in rng.integers(0, 2**31, count)])
    batch.reset(np.arange(count))
    act = _acts(plan.model, batch)
    frames = np.zeros((count, plan.steps, N_POSITIONS + 1))
    lengths, standing = np.zeros(count, np.int64), np.ones(count, np.bool_)
    for step in rollout(batch, act, plan.steps):
        standing &= ~step.terminated
        if not standing.any():
            break
        frames[standing, step.number, :-1] = batch.positions()[standing]
        frames[standing, step.number, -1] = batch.phase[standing]
        lengths[standing] = step.number + 1
    batch.close()
    kept = lengths > 0
    shard = RawShard(
        lengths[kept],
        values[kept],
        np.concatenate([frames[i, : lengths[i]] for i in np.flatnonzero(kept)]),
        space.names,
        source_of(plan, job),
    )
    return RolloutResult(job, shard, int((lengths < plan.steps).sum()))


def source_of(plan: RolloutPlan, job: int) -> dict[str, Any]:
    """Where a job's episodes are from, for their file."""
    env = plan.settings.environment
    space = gait_space(env.character)
    return {
        "character": env.character,
        "policy": "balance law" if plan.model is None else Path(plan.model).name,
        "is_cascaded": plan.cascaded,
        "seed": plan.seed,
        "job": job,
        "plan": plan.digest,
        "impaired": plan.settings.gait.impaired,
        "rate": env.control_rate,
        "steps": plan.steps,
        "space": {
            "name": space.name,
            "parameters": [vars(parameter) for parameter in space.parameters],
        },
        "fixed": plan.settings.gait.parameters,
    }


def _bodies(
    plan: RolloutPlan, config: LocomotionConfig, rng: np.random.Generator
) -> tuple[GaitBatch, Floats]:
    """The job's bodies, and their parameters (E, P).

    Raises:
        MotionError: No parameters could be found whose gaits can be made.
    """
    reference = reference_from_bytes(plan.reference, "roll-out")
    character = configured_character(config.environment)
    problem: MotionError | None = None
    for _ in range(TRIES):
        values = random_parameters(config, reference, rng, plan.per_job)
        try:
            batch = GaitBatch(
                config,
                reference,
                character,
                num_envs=plan.per_job,
                parameters=values,
            )
        except MotionError as error:  # rare: other bodies
            problem = error
            continue
        return batch, values
    raise MotionError(f"no gaits for {TRIES} random sets of bodies: {problem}")


def _acts(path: str | None, batch: GaitBatch) -> Act[GaitBatch]:
    """Return what moves the bodies: a policy, or the balance controller alone."""
    if path is None:
        still = np.zeros((batch.num_envs, batch.action_size), np.float32)
        return lambda batch: still
    from ambulo.evaluate.locomotion.cascades import acting

    act = acting(_policy(path), batch)
    return lambda batch: act(batch.obs)


@lru_cache(maxsize=2)
def _policy(path: str) -> GaitPolicy:
    import torch  # which workers without a policy need not load

    from ambulo.evaluate.locomotion.cascades import load_gait_policy

    torch.set_num_threads(1)
    return load_gait_policy(path)
