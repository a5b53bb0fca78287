"""Callbacks of locomotion between roll-outs."""

from __future__ import annotations

from typing import Any

from stable_baselines3.common.callbacks import BaseCallback

from ambulo.configs.simulation_nn import LocomotionTrainingConfig
from ambulo.envs.locomotion.protocol import WalkerBatch
from ambulo.policies.networks.motion_prior import SimulationNNWithPrior
from ambulo.policies.ppo import FastPPO
from ambulo.policies.sb3_batch_env import Sb3BatchEnv
from ambulo.train.shared.callbacks import Metrics
from ambulo.train.shared.dagger import critic_first


class LocomotionMetrics(Metrics):
    """Also logs speed, joint error and faults."""

    logged = ("speed", "joint_error", "power")

    def more(self, row: dict[str, Any], env: Sb3BatchEnv) -> None:
        """Add the number of simulations that diverged in the roll-out."""
        if "is_fault" in env.info_sums:
            row["rollout/faults"] = env.info_sums["is_fault"]


class Schedules(BaseCallback):
    """Changes with progress: critic alone first, frozen prior, weight of the reference."""

    def __init__(
        self,
        batch: WalkerBatch,
        training: LocomotionTrainingConfig,
        unfreeze_at: float | None,
        num_envs: int,
    ) -> None:
        """Set up for `batch`, a part of `num_envs` bodies that are trained on together.

        The prior learns after the fraction `unfreeze_at`.
        """
        super().__init__()
        self._num_envs = num_envs
        self._batch, self._training = batch, training
        self._unfreeze_at = unfreeze_at

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        learner, policy, training = self.model, self.model.policy, self._training
        assert isinstance(learner, FastPPO)
        now = learner.num_timesteps
        if training.teacher is not None:
            critic_first(learner, training.teacher.critic_updates, self._num_envs)
            if isinstance(policy, SimulationNNWithPrior):  # the actor's features too
                policy.scale_features.requires_grad_(not learner.critic_only)
        fraction = min(now / training.total_timesteps, 1.0)
        self._batch.set_progress(fraction)
        due = self._unfreeze_at is not None and fraction >= self._unfreeze_at
        if due and isinstance(policy, SimulationNNWithPrior) and policy.frozen:
            policy.unfreeze()
