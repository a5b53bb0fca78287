"""The training of a motion network: its task.

Every update draws from generators of its own, seeded by the run's seed and the update's
number, so that a resumed run continues exactly as an uninterrupted one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from ambulo.configs.errors import MotionError
from ambulo.configs.motion_nn import MotionRunConfig
from ambulo.motion.datasets.curriculum import CurriculumProgress
from ambulo.motion.datasets.windows import WindowBatch, WindowedDataset
from ambulo.policies.device import start_torch
from ambulo.policies.files.model_file import TrainingState
from ambulo.policies.kinds.motion_nn import MotionMetadata
from ambulo.policies.networks.motion_nn import MotionNN
from ambulo.train.motion.losses import MotionLoss
from ambulo.train.motion.statistics import Statistics, statistics_of
from ambulo.train.motion.validation import calibrated, validation_error
from ambulo.train.shared.fit_settings import FitSettings
from ambulo.train.shared.optimizer_state import group, to_array
from ambulo.train.shared.supervised import Arrays, FitProgress, SupervisedTask

STATISTICS_WINDOWS = 16_384
"""Windows that statistics are taken from, at most."""


class MotionTask(SupervisedTask[WindowBatch]):
    """Prediction of the next states of a moving body."""

    network: MotionNN

    def __init__(
        self,
        config: MotionRunConfig,
        data: WindowedDataset,
        validation: Tensor,
        *,
        command: str = "",
        extra: Mapping[str, Any] | None = None,
        state: TrainingState | None = None,
    ) -> None:
        """Build the network and its optimiser.

        Args:
            config: All settings.
            data: Windows of `config.window` frames, shuffled.
            validation: Windows that are never trained on. Shape (N, T, 112).
            command: Command line, for model files.
            extra: Plain JSON for the header of model files: the split.
            state: Of the checkpoint that is resumed, with the statistics of its data; None
                measures them.

        Raises:
            MotionError: No clip is long enough.
        """
        if not len(data):
            raise MotionError(
                f"no training clip is as long as a window of {config.window} "
                "frames; lower model.chunk or training.rollout_steps, or add data"
            )
        training = config.training
        self.config, self.settings = config, FitSettings.of(training)
        device = self.device = start_torch(training.device, training.seed)
        self._data, self._validation = data, validation.to(device)
        self._command, self._extra = command, dict(extra or {})
        self.network = MotionNN(config.model).to(device)
        decays = [p for p in self.network.parameters() if p.ndim > 1]
        others = [p for p in self.network.parameters() if p.ndim <= 1]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": decays, "weight_decay": training.weight_decay},
                {"params": others, "weight_decay": 0.0},
            ],
            lr=training.learning_rate,
        )
        self._curriculum = CurriculumProgress(config.dataset.curriculum)
        self.total_steps = training.epochs * data.num_batches
        self._statistics = (
            self._measure() if state is None else _statistics(state, device)
        )
        self._loss = MotionLoss(config, self._statistics, device)

    def batches(self, epoch: int, step: int) -> Iterator[WindowBatch]:
        """Yield the rest of the epoch's windows of the curriculum's stage."""
        data, curriculum = self._data, self._curriculum
        state = data.state_dict()
        while True:
            data.set_epoch(state["epoch"], curriculum.activities, batch=state["batch"])
            if len(data) or curriculum.activities is None:
                break
            curriculum.index += 1  # an empty stage
        return iter(data)

    def loss(self, batch: WindowBatch, step: int) -> Mapping[str, Tensor]:
        """Return the terms of `MotionLoss` for a batch of windows."""
        rng = np.random.default_rng([self.config.training.seed, step])
        torch.manual_seed(int(rng.integers(2**62)))
        windows = torch.from_numpy(batch.states).to(self.device)
        return self._loss(self.network, windows, rng)

    def validate(self, network: nn.Module) -> tuple[float, dict[str, float]]:
        """Return the mean joint error, [mm], and the errors by horizon."""
        errors = validation_error(cast(MotionNN, network), self._validation)
        return errors["mean"], errors

    def end_epoch(self, error: float | None) -> bool:
        """Advance the curriculum; return whether it did."""
        return error is not None and self._curriculum.advance(error)

    def save(
        self,
        path: Path,
        network: nn.Module,
        progress: FitProgress,
        state: TrainingState | None,
    ) -> None:
        """Write a model file; a model without training state is calibrated if asked."""
        if state is None and self.config.training.calibrate:
            network = calibrated(cast(MotionNN, network), self._validation)
        super().save(path, network, progress, state)

    def header(self, progress: FitProgress) -> MotionMetadata:
        """Return the header of a model file."""
        return MotionMetadata.describe(
            self.config,
            steps=progress.step,
            command=self._command,
            extra=self._extra | {"validation_mm": progress.best_error},
        )

    def arrays(self) -> Arrays:
        """Return the statistics of the data."""
        return {
            f"statistics.{name}": to_array(tensor)
            for name, tensor in vars(self._statistics).items()
        }

    def values(self) -> dict[str, Any]:
        """Return the position in the data and in the curriculum."""
        return {
            "data": self._data.state_dict(),
            "curriculum": self._curriculum.state_dict(),
        }

    def restore(self, arrays: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Continue at the position of a checkpoint."""
        self._data.load_state_dict(values["data"])
        self._curriculum.load_state_dict(values["curriculum"])

    def _measure(self) -> Statistics:
        """Return statistics of the first windows of the data; the network gets them."""
        state = self._data.state_dict()
        parts, count = [], 0
        for batch in self._data:
            parts.append(torch.from_numpy(batch.states))
            count += len(batch.states)
            if count >= STATISTICS_WINDOWS:
                break
        self._data.load_state_dict(state)
        windows = torch.cat(parts).to(self.device)
        with torch.no_grad():
            statistics = statistics_of(self.network, windows)
            self.network.set_statistics(
                mean=statistics.mean,
                deviation=statistics.deviation,
                scale=statistics.scale,
                damping=statistics.damping,
                linear=statistics.linear,
            )
        return statistics


def _statistics(state: TrainingState, device: torch.device) -> Statistics:
    """Return the statistics in a checkpoint."""
    tensors = {k: torch.from_numpy(np.array(v)) for k, v in state.arrays.items()}
    found = group(tensors, "statistics")
    try:
        return Statistics(**{name: value.to(device) for name, value in found.items()})
    except TypeError:
        raise MotionError("the checkpoint has no statistics of its data") from None
