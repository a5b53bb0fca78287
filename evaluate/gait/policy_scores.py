"""Scores of gait policies on bodies drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.gait import gait_space
from ambulo.configs.healthy_gait import HEALTHY
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.reference.configured import configured_character
from ambulo.envs.reference.reference import Reference
from ambulo.envs.tasks.gait.batch import GaitBatch
from ambulo.envs.tasks.gait.sampling import random_parameters
from ambulo.evaluate.locomotion.cascades import GaitPolicy, acting
from ambulo.evaluate.shared.result import AgentMetrics, Metric, metric, rate_metric
from ambulo.evaluate.shared.rollout import rollout
from ambulo.motion.gaits.skeleton import leg_length

SETTLED = 1.0
"""Beginning that does not count for stride, cadence and speed, [s]."""


@dataclass(frozen=True)
class GaitPolicyScores:
    """One episode of each of N bodies; errors only over those that did not fall."""

    metrics: AgentMetrics
    """Means. Errors of stride and cadence are of their ratios, that of the speed is over the
    requested one; the return counts until a fall."""
    per_body: list[dict[str, Any]]
    """One row per body."""


def drawn_bodies(
    config: LocomotionConfig, healthy: Reference, seed: int, count: int
) -> Floats:
    """Parameters (count, P) as `config` draws them, decided by `seed`."""
    rng = np.random.default_rng(seed)
    return random_parameters(config, healthy, rng, count)


def play_bodies(
    config: LocomotionConfig,
    healthy: Reference,
    values: Floats,
    actor: GaitPolicy | None,
    seed: int,
    *,
    deterministic: bool = True,
    progress: Callable[[], None] = lambda: None,
) -> GaitPolicyScores:
    """Scores of one episode of each body of `values` (N, P).

    Args:
        config: All settings; pushes and `max_episode_steps` are taken from here.
        healthy: The healthy gait with its balance controller.
        values: The bodies' parameters.
        actor: The policy; None: actions of 0, the balance controller alone.
        seed: Of starts and pushes.
        deterministic: Mean actions instead of samples.
        progress: Called after each control step.
    """
    count = len(values)
    batch = GaitBatch(
        config,
        healthy,
        configured_character(config.environment),
        num_envs=count,
        parameters=values,
    )
    batch.seed([seed + i for i in range(count)])
    batch.reset(np.arange(count))
    steps, dt = config.environment.max_episode_steps, config.environment.control_dt
    settled = min(round(SETTLED / dt), steps - 1)
    alive, lived = np.ones(count, np.bool_), np.zeros(count)
    returns, error = np.zeros(count), np.zeros(count)
    turns, phase, start = np.zeros(count), batch.phase, np.zeros(count)
    still = np.zeros((count, batch.action_size), np.float32)
    act = None if actor is None else acting(actor, batch, deterministic=deterministic)
    for step in rollout(batch, lambda b: still if act is None else act(b.obs), steps):
        alive &= ~step.terminated
        lived += alive
        returns += np.where(alive, step.rewards, 0.0)
        error += np.where(alive, step.info["joint_error"], 0.0)
        turns += (batch.phase - phase) % 1.0  # of those alive
        phase = batch.phase
        if step.number == settled:
            start, turns = batch.positions()[:, 3].copy(), np.zeros(count)
        progress()
    way = batch.positions()[:, 3] - start
    batch.close()
    time = max(steps - 1 - settled, 1) * dt
    space = gait_space(config.environment.character)
    legs = leg_length(space, values)
    stride, cadence = HEALTHY.ratios(way / np.maximum(turns, 1e-9), turns / time, legs)
    strides, cadences = (values[:, space.index(n)] for n in ("stride", "cadence"))
    wanted = HEALTHY.stride_of(strides, legs) * HEALTHY.rate_of(cadences, legs)

    def off(errors: Floats) -> Metric:
        return metric(float(np.abs(errors)[alive].mean()) if alive.any() else None)

    joints = np.rad2deg((error / np.maximum(lived, 1)).mean())
    return GaitPolicyScores(
        {
            "survival_rate": rate_metric(int(alive.sum()), count),
            "survival_s": metric(float((lived * dt).mean()), "s"),
            "joint_error_deg": metric(float(joints), "deg"),
            "stride_error": off(stride - strides),
            "cadence_error": off(cadence - cadences),
            "speed_error": off(way / time / wanted - 1.0),
            "return_mean": metric(float(returns.mean())),
        },
        per_body=[
            {
                "episode": k,
                "survived": bool(alive[k]),
                "survival_s": float(lived[k] * dt),
                "return": float(returns[k]),
                "stride": float(strides[k]),
                "cadence": float(cadences[k]),
            }
            for k in range(count)
        ],
    )
