"""Alternating updates of muscle network and policy (Lee et al. 2019, algorithm 1).

While the policy's roll-outs run, some of what stable PD asks of the muscles is kept. After
every few updates of the policy the network takes gradient steps on that, and is used from
then on. A new training begins with steps on a walk that the exact solver resolves.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.common.metrics_file import MetricsTable
from ambulo.configs.errors import ConfigError
from ambulo.configs.muscle import MuscleUpdatesConfig
from ambulo.envs.locomotion.protocol import WalkerBatch
from ambulo.muscle.actuation import MuscleActuation
from ambulo.muscle.muscle_nn import MuscleNN
from ambulo.policies.checked_steps import checked_reset, checked_steps
from ambulo.train.muscle.trainer import MuscleTrainer
from ambulo.train.shared.callbacks import BoundaryCallback

log = logging.getLogger(__name__)

WARM_UP_SECONDS = 4.0
"""Length of the walk that a new training begins with, [s]."""


def muscles_of(batch: WalkerBatch) -> list[MuscleActuation]:
    """Return the muscles of a batch, one for each reference; none for motors."""
    found = [simulation.actuation for simulation in batch.simulations]
    return [muscles for muscles in found if isinstance(muscles, MuscleActuation)]


def network_of(batch: WalkerBatch) -> MuscleNN | None:
    """Return the muscle network of a batch, or None."""
    return next((muscles.network for muscles in muscles_of(batch)), None)


def use_network(batch: WalkerBatch, network: MuscleNN) -> None:
    """Use `network` for the muscles of a batch from now on."""
    for muscles in muscles_of(batch):
        muscles.use(network)


class MuscleUpdates(BoundaryCallback):
    """Updates of the muscle network of a batch between roll-outs."""

    def __init__(
        self,
        batch: WalkerBatch,
        config: MuscleUpdatesConfig,
        seed: int,
        table: Path,
    ) -> None:
        """Prepare updates of the network that `batch` uses.

        Args:
            batch: What is trained on.
            config: How the network is trained.
            seed: Seed of the kept samples and of random torques.
            table: Where a row is written for each update.

        Raises:
            ConfigError: There is no muscle network.
        """
        super().__init__()
        network = network_of(batch)
        if network is None:
            raise ConfigError("training.muscle_updates needs resolver = nn")
        self._batch, self._config = batch, config
        factors = muscles_of(batch)[0].factors
        self.trainer = MuscleTrainer(network, config, seed, factors)
        self._updates: NDArray[np.int64] = np.zeros(1, np.int64)
        self._table = table
        for muscles in muscles_of(batch):
            muscles.listener = self.trainer.see

    def warm_up(self) -> None:
        """Train on a walk with the exact solver; the batch stays in its last state."""
        steps = self._config.warm_up_steps
        if not steps:
            return
        batch = self._batch
        for muscles in muscles_of(batch):
            muscles.network = None
        checked_reset(batch, np.arange(batch.num_envs))
        still = np.zeros((batch.num_envs, batch.action_size), np.float32)
        count = max(1, round(WARM_UP_SECONDS / batch.simulation.dt))
        for _ in checked_steps(batch, lambda: still, count):
            pass
        losses = self.trainer.train(steps)
        use_network(batch, self.trainer.network)
        self._write_row(0, losses)

    def at_boundary(self, before: int, now: int) -> None:
        """Update the network if it is due."""
        self._updates += 1
        if self._updates[0] % self._config.every == 0:
            losses = self.trainer.train(self._config.steps)
            use_network(self._batch, self.trainer.network)
            self._write_row(now, losses)

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return copies of the state that a resumed run needs besides the network."""
        return {**self.trainer.state_dict(), "updates": self._updates.copy()}

    def load_state_dict(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state_dict`."""
        self._updates[:] = arrays["updates"]
        self.trainer.load_state_dict(arrays)

    def _write_row(self, now: int, losses: NDArray[np.float64]) -> None:
        """Write a row to table and log; remove later rows of an interrupted run."""
        if not len(losses):
            return
        row = (now, float(losses[0]), float(losses.mean()))
        log.info("muscle network after %d: loss %.5f, mean %.5f", *row)
        names = ("timesteps", "loss_first", "loss_mean")
        MetricsTable(self._table, now - 1).add(dict(zip(names, row, strict=True)))
