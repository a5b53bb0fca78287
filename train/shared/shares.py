"""How environments and samples are divided between the workers of a training."""

from __future__ import annotations

from math import gcd
from typing import Literal

from ambulo.configs.errors import ConfigError
from ambulo.policies.ppo import FastPPO
from ambulo.policies.sequence_ppo import SequencePPO
from ambulo.train.shared.rl_task import Share

Schedule = Literal["rollouts", "gradients"]
"""Workers make roll-outs alone, or also take gradient steps together; see `fleet`."""


def most_workers(learner: FastPPO, cpus: int, schedule: Schedule | None) -> int:
    """Return the largest number of workers up to `cpus` between which `learner` divides."""
    most = max(1, min(cpus, learner.n_envs))
    if schedule != "gradients":
        return most
    shared = gcd(learner.n_envs, learner.batch_size)
    return next(count for count in range(most, 0, -1) if shared % count == 0)


def shares_of(learner: FastPPO, workers: int, schedule: Schedule) -> list[Share]:
    """Return what each worker gets of the environments and of each gradient step.

    Raises:
        ConfigError: fewer environments or samples than workers, shares that differ
            where learners must take equal steps, or a recurrent policy with `rollouts`.
    """
    envs, batch = learner.n_envs, learner.batch_size
    if workers < 1 or envs < workers:
        raise ConfigError(
            f"--workers {workers}: must be 1 to {envs}, the number of environments "
            "(--num-envs)"
        )
    if schedule == "rollouts" and isinstance(learner, SequencePPO):
        raise ConfigError(
            f"--workers {workers}: a recurrent policy (network.recurrent) needs "
            "--schedule gradients: its states stay with the workers"
        )
    if schedule == "gradients" and (envs % workers or batch % workers):
        raise ConfigError(
            f"--workers {workers}: with --schedule gradients it must divide the "
            f"{envs} environments and the {batch} samples of a gradient step "
            "(--num-envs, --set ppo.batch_size)"
        )
    counts = [envs // workers + (rank < envs % workers) for rank in range(workers)]
    part = batch // workers if schedule == "gradients" else batch
    return [Share(count, part, learner.seed or 0, envs) for count in counts]
