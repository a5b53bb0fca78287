"""The training of a network of poses: its task.

Every update draws from a generator of its own, seeded by the run's seed and the update's
number, so that a resumed run continues exactly as an uninterrupted one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from ambulo.configs.neural_ik import IKRunConfig
from ambulo.ik.solver.headers import IKNetworkHeader
from ambulo.ik.solver.network import save_ik_network
from ambulo.policies.device import start_torch
from ambulo.policies.files.model_file import TrainingState
from ambulo.policies.kinds.ik_training import IKMetadata
from ambulo.policies.networks.ik_net import IKNet
from ambulo.train.ik.losses import PoseLoss
from ambulo.train.ik.poses import PoseBatch, Poses
from ambulo.train.ik.validation import validate
from ambulo.train.shared.fit_settings import FitSettings
from ambulo.train.shared.supervised import FitProgress, SupervisedTask

STATISTICS_POSES = 16_384
"""Poses that statistics are taken from."""


class IKTask(SupervisedTask[PoseBatch]):
    """Full-body poses from the targets of a few effectors."""

    network: IKNet

    def __init__(
        self,
        config: IKRunConfig,
        poses: Poses,
        validation: Poses,
        *,
        command: str = "",
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """Build the network with the statistics of the data, and its optimiser.

        Args:
            config: All settings.
            poses: Training data.
            validation: Poses of other people.
            command: Command line, for model files.
            extra: Plain JSON for the header of model files.
        """
        training = config.training
        self.config, self.settings = config, FitSettings.of(training)
        device = self.device = start_torch(
            training.device, training.seed, training.threads
        )
        self.poses, self._validation = poses, validation
        self._command, self._extra = command, dict(extra or {})
        self.network = IKNet(config.network, poses.rig).to(device)
        self.pose_loss = PoseLoss(config, poses.rig, device)
        self.optimizer = torch.optim.AdamW(
            self.network.parameters(),
            lr=training.learning_rate,
            weight_decay=training.weight_decay,
        )
        self._amp = training.amp and device.type == "cuda"
        self.half_precision = self._amp
        self.epoch_steps = max(1, len(poses) // training.batch_size)
        self.total_steps = training.epochs * self.epoch_steps
        self._measure()

    def batches(self, epoch: int, step: int) -> Iterator[PoseBatch]:
        """Yield random poses, some of their targets left out."""
        training = self.config.training
        for number in range(step, (epoch + 1) * self.epoch_steps):
            rng = np.random.default_rng([training.seed, number])
            torch.manual_seed(int(rng.integers(2**62)))  # of the dropout
            varied = number < training.vary_until * self.total_steps
            batch = self.poses.draw(rng, training.batch_size, varied=varied)
            yield batch.to(self.device)

    def loss(self, batch: PoseBatch, step: int) -> Mapping[str, Tensor]:
        """Return the terms of `PoseLoss`."""
        with torch.autocast(self.device.type, enabled=self._amp):
            offset = self.network(batch.inputs)
        return self.pose_loss(offset, self.network.mean, batch)

    def validate(self, network: nn.Module) -> tuple[float, dict[str, float]]:
        """Return the mean joint error, [cm], and the scores of each set of targets."""
        return validate(cast(IKNet, network), self._validation)

    def header(self, progress: FitProgress) -> IKMetadata:
        """Return the header of a checkpoint."""
        return IKMetadata.describe(
            self.config,
            rig=self.poses.rig.name,
            steps=progress.step,
            command=self._command,
            extra=self._extra,
        )

    def save(
        self,
        path: Path,
        network: nn.Module,
        progress: FitProgress,
        state: TrainingState | None,
    ) -> None:
        """Write a checkpoint, or a folder that `ambulo.ik` loads."""
        if state is not None:
            super().save(path, network, progress, state)
            return
        metadata = self.header(progress)
        extra = {
            "run": metadata.run.model_dump(mode="json"),
            "steps": progress.step,
            "versions": metadata.versions,
            "command": self._command,
            "created": metadata.created,
            "validation_cm": progress.best_error,
            **self._extra,
        }
        net = cast(IKNet, network)
        header = IKNetworkHeader.of(net.config, self.poses.rig.name, **extra)
        save_ik_network(path, header, net.tensors())

    def _measure(self) -> None:
        """Give the network the statistics of the data."""
        rng = np.random.default_rng([self.config.training.seed, 2**31])
        batch = self.poses.draw(rng, STATISTICS_POSES)
        with torch.no_grad():
            self.network.set_statistics(
                batch.inputs.to(self.device), batch.outputs.to(self.device)
            )
