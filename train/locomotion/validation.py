"""Scores of a locomotion policy while it trains."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Ints
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.locomotion.protocol import WalkerBatch
from ambulo.evaluate.locomotion.evaluation import episode_seconds
from ambulo.evaluate.locomotion.gait_probe import leg_joints
from ambulo.evaluate.shared.rollout import rollout
from ambulo.muscle.muscle_nn import MuscleNN
from ambulo.train.locomotion.bodies import References, make_bodies
from ambulo.train.locomotion.muscle_updates import use_network

SEED = 12_345
"""Seed of the validation environments; no training uses it."""


class WalkerPolicy(Protocol):
    """A policy that can be validated."""

    def act(
        self, obs: NDArray[np.float32], *, deterministic: bool = True
    ) -> NDArray[np.float32]:
        """Return actions, shape (N, A), for observations of shape (N, size)."""
        ...

    @property
    def muscles(self) -> MuscleNN | None:
        """Muscle network of the policy, for `resolver = nn`."""
        ...


class LocomotionValidation:
    """Evaluates one episode in each of `eval_episodes` environments with fixed starts."""

    def __init__(
        self,
        config: LocomotionConfig,
        references: References,
        *,
        deterministic: bool = True,
    ) -> None:
        """Keep the settings; environments are made at the first call."""
        training, env = config.training, config.environment
        seconds = episode_seconds(config, training.eval_seconds)
        self._steps = max(1, round(seconds * env.control_rate))
        longer = config.override("environment", max_episode_steps=self._steps)
        self._config, self._references = longer, references
        self._deterministic = deterministic
        self._batch: WalkerBatch | None = None

    def __call__(self, agent: WalkerPolicy) -> dict[str, float]:
        """Return the scores that are logged as `eval/<name>`."""
        batch = self._bodies(agent.muscles)
        return play(agent, batch, self._steps, self._deterministic)

    def _bodies(self, muscles: MuscleNN | None) -> WalkerBatch:
        if self._batch is None:
            training = self._config.training
            self._batch = make_bodies(
                self._config,
                training.eval_episodes,
                self._references,
                seed=SEED,
                threads=training.num_threads,
                muscles=muscles,
            )
        if muscles is not None:
            use_network(self._batch, muscles)
        count = self._batch.num_envs
        self._batch.seed([SEED + i for i in range(count)])
        return self._batch


def play(
    agent: WalkerPolicy | None,
    batch: WalkerBatch,
    steps: int,
    deterministic: bool = True,
) -> dict[str, float]:
    """Return mean scores of one episode in each environment, at most `steps` long.

    Args:
        agent: gives actions; None: action 0, the built-in controller alone.
        batch: seeded bodies; their limit of steps is `steps` or more.
        steps: control steps.
        deterministic: mean actions.
    """
    count, dt = batch.num_envs, batch.simulation.dt
    batch.reset(np.arange(count))
    alive, lived = np.ones(count, np.bool_), np.zeros(count)
    done = np.zeros(count, np.bool_)
    returns, error, speed = np.zeros(count), np.zeros(count), np.zeros(count)
    legs, first = leg_dofs(batch)
    still = np.zeros((count, batch.action_size), np.float32)

    def act(batch: WalkerBatch) -> NDArray[np.float32]:
        if agent is None:
            return still
        return agent.act(batch.obs, deterministic=deterministic)

    for step in rollout(batch, act, steps):
        running = step.running
        returns += np.where(running, step.rewards, 0.0)
        alive &= ~(running & step.terminated)
        done |= running & step.info["is_success"]
        walking = running & alive
        lived += walking
        squares = np.square(batch.state.deviation[:, legs])
        off = np.sqrt(np.add.reduceat(squares, first, axis=1)).mean(axis=1)
        error += np.where(walking, off, 0.0)
        speed += np.where(walking, step.info["speed"], 0.0)
        if not step.going.any():
            break
    walked = np.maximum(lived, 1.0)
    return {
        "success_rate": float(done.mean()),
        "survival_rate": float(alive.mean()),
        "survival_s": float(lived.mean() * dt),
        "mean_ep_length": float(lived.mean()),
        "joint_error_deg": float(np.rad2deg((error / walked).mean())),
        "speed": float((speed / walked).mean()),
        "return_mean": float(returns.mean()),
    }


def leg_dofs(batch: WalkerBatch) -> tuple[Ints, Ints]:
    """Return the degrees of freedom of hips, knees and ankles, and each joint's first one."""
    character = batch.character
    joints = leg_joints(character)
    dofs = [character.dofs(character.skeleton.joints[joint]) for joint in joints]
    return np.concatenate(dofs), np.cumsum([0, *map(len, dofs[:-1])])
