"""The training of a body tracker: its task.

Streams begin anew at each epoch, seeded by the run's seed and the epoch, so that a run that is
resumed at the end of an epoch continues as an uninterrupted one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn

from ambulo.configs.body_tracker import TrackerRunConfig
from ambulo.ik.data.sequences import SequenceData
from ambulo.ik.trackers.sizes import (
    INPUTS,
    POSE,
)
from ambulo.motion.skeletons import load_skeleton
from ambulo.policies.device import start_torch
from ambulo.policies.kinds.body_tracker import TrackerMetadata
from ambulo.policies.networks.tracker_net import TrackerNet
from ambulo.train.ik.kinematics import TreeKinematics
from ambulo.train.shared.fit_settings import FitSettings
from ambulo.train.shared.optimizer_state import to_array
from ambulo.train.shared.supervised import Arrays, FitProgress, SupervisedTask
from ambulo.train.trackers.features import network_inputs
from ambulo.train.trackers.losses import TrackerLoss
from ambulo.train.trackers.sources import SequenceSource
from ambulo.train.trackers.streams import Streams, TrackerPiece
from ambulo.train.trackers.validation import TrackerValidation

STATISTICS_PIECES = 8
"""Pieces that statistics are taken from."""


class TrackerTask(SupervisedTask[TrackerPiece]):
    """Poses of a whole body from the trackers of head, hands and more."""

    network: TrackerNet

    def __init__(
        self,
        config: TrackerRunConfig,
        data: SequenceData,
        validation: SequenceData,
        *,
        command: str = "",
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """Build the network with the statistics of the data, and its optimiser."""
        training = config.training
        self.config, self.settings = config, FitSettings.of(training)
        self._command, self._extra = command, dict(extra or {})
        self.device = start_torch(training.device, training.seed, training.threads)
        skeleton = load_skeleton("human23")
        self._kinematics = TreeKinematics(skeleton, self.device)
        self._source = SequenceSource(data, self.device)
        self._loss = TrackerLoss(config.loss, self._kinematics, skeleton)
        self._validation = TrackerValidation(
            SequenceSource(validation, self.device), self._kinematics, self._loss,
            steps=training.steps, lead=config.network.lead,
        )  # fmt: skip
        self.network = TrackerNet(config.network).to(self.device)
        self.optimizer = torch.optim.AdamW(
            self.network.parameters(),
            lr=training.learning_rate,
            weight_decay=training.weight_decay,
        )
        self.total_steps = training.epochs * training.epoch_steps
        size = training.streams, config.network.state
        self._state = torch.zeros(size, device=self.device)
        self._measure()

    def batches(self, epoch: int, step: int) -> Iterator[TrackerPiece]:
        """Yield the pieces of new streams; a resumed epoch goes on behind its last one."""
        streams, length = self._streams(epoch), self.config.training.epoch_steps
        if step == epoch * length:
            self._state = torch.zeros_like(self._state)
        for _ in range(step - epoch * length):
            streams.draw()
        for _ in range(step, (epoch + 1) * length):
            yield streams.draw()

    def loss(self, batch: TrackerPiece, step: int) -> Mapping[str, Tensor]:
        """Return the terms of `TrackerLoss`; the state goes on to the next piece."""
        state = torch.where(batch.fresh[:, None], 0.0, self._state)
        outputs, last = self.network(network_inputs(batch.ticks, False), state)
        self._state = last.detach()
        return self._loss.terms(outputs, batch)

    def validate(self, network: nn.Module) -> tuple[float, dict[str, float]]:
        """Return the mean joint error seen from the head, [cm], and more scores."""
        return self._validation.scores(cast(TrackerNet, network))

    def header(self, progress: FitProgress) -> TrackerMetadata:
        """Return the header of a model file."""
        return TrackerMetadata.describe(
            self.config,
            steps=progress.step,
            command=self._command,
            extra=self._extra | {"validation_cm": progress.best_error},
        )

    def arrays(self) -> Arrays:
        """Return the state of the network in all streams."""
        return {"streams": to_array(self._state)}

    def restore(self, arrays: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Continue with the state of a checkpoint."""
        if "streams" in arrays:  # older checkpoints within an epoch lack it
            self._state = arrays["streams"].to(self.device)

    def _streams(self, epoch: int) -> Streams:
        training = self.config.training
        return Streams(
            self._source, self.config.dataset, self._kinematics,
            count=training.streams, steps=training.steps, lead=self.config.network.lead,
            seed=1_000_003 * training.seed + epoch,
        )  # fmt: skip

    def _measure(self) -> None:
        """Give the network the statistics of the data."""
        streams = self._streams(2**20)
        with torch.no_grad():
            pieces = [streams.draw() for _ in range(STATISTICS_PIECES)]
            inputs = [network_inputs(piece.ticks, False) for piece in pieces]
            poses = [self._loss.true_outputs(piece) for piece in pieces]
            self.network.set_statistics(
                torch.cat(inputs).reshape(-1, INPUTS),
                torch.cat(poses).reshape(-1, POSE),
            )
