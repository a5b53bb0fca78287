"""Supervised training of any network, from its first update or a checkpoint to its end.

`SupervisedRun` has the optimiser, the moving average of the weights (EMA), validation, the
best model, checkpoints, logs and interrupts. A `SupervisedTask` says what is learned: its
batches, its loss, its validation and its files. A resumed run continues exactly as an
uninterrupted one if the task's batches follow from its state and the number of the update.
"""

from __future__ import annotations

import copy
import logging
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ambulo.common.console import Display
from ambulo.common.run_folder import RunFolder
from ambulo.common.signals import Interrupted, StopRequest
from ambulo.configs.errors import DivergedError, ModelFileError
from ambulo.policies.files.headers import FileHeader
from ambulo.policies.files.model_file import ModelFile, TrainingState, save_model
from ambulo.train.shared.epoch_log import EpochLog
from ambulo.train.shared.fit_settings import FitSettings
from ambulo.train.shared.optimizer_state import (
    group,
    optimizer_arrays,
    restore_optimizer,
    to_array,
)

log = logging.getLogger(__name__)

MAX_BAD_GRADIENTS = 20
"""Updates in a row without a finite gradient after which a run is given up."""

Batch = TypeVar("Batch")
Arrays = dict[str, NDArray[Any]]


@dataclass
class FitProgress:
    """Progress of a run as plain numbers, for checkpoints."""

    epoch: int = 0
    """Whole epochs done."""
    step: int = 0
    """Updates done."""
    best: float = math.inf
    """Smallest validation error so far."""
    waited: int = 0
    """Epochs since then."""
    seconds: float = 0.0
    """Training time so far, [s]."""
    sums: dict[str, float] = field(default_factory=dict)
    """Sums of the loss terms over the updates of the running epoch."""
    counts: dict[str, int] = field(default_factory=dict)
    """Number of updates that had each term."""
    scores: dict[str, float] = field(default_factory=dict)
    """Validation scores of the best network."""

    @property
    def best_error(self) -> float | None:
        """Smallest validation error as plain JSON; None before the first validation."""
        return None if math.isinf(self.best) else round(self.best, 3)


class SupervisedTask(ABC, Generic[Batch]):
    """Task of a supervised run: a network, its data, its loss and its files."""

    settings: FitSettings
    """How it is learned."""
    device: torch.device
    """Where the network is."""
    network: nn.Module
    """The network that learns."""
    optimizer: torch.optim.Optimizer
    """The optimiser of its parameters."""
    total_steps: int
    """Updates of the whole run, for the schedule and the progress display."""
    half_precision: bool = False
    """Whether gradients are scaled for half precision on a GPU."""

    @abstractmethod
    def batches(self, epoch: int, step: int) -> Iterator[Batch]:
        """Yield the batches of an epoch that are still to come: those from update `step` on."""

    @abstractmethod
    def loss(self, batch: Batch, step: int) -> Mapping[str, Tensor]:
        """Return the terms of the loss of update `step`; `loss` is minimised."""

    @abstractmethod
    def validate(self, network: nn.Module) -> tuple[float, dict[str, float]] | None:
        """Return error and scores of `network` on held-out data; None: there are none."""

    def header(self, progress: FitProgress) -> FileHeader:
        """Return the header of a model file that `save` writes."""
        raise NotImplementedError

    def save(
        self,
        path: Path,
        network: nn.Module,
        progress: FitProgress,
        state: TrainingState | None,
    ) -> None:
        """Write a model file; with `state` it is a checkpoint."""
        model = ModelFile(self.header(progress), network.state_dict(), state)
        save_model(path, model)

    def rate(self, step: int) -> float:
        """Return the step size of update `step`."""
        return self.settings.rate(step, self.total_steps)

    def reading(self) -> AbstractContextManager[Any]:
        """Return a context in which the data can be read."""
        return nullcontext()

    def end_epoch(self, error: float | None) -> bool:
        """Adapt the data to the validation error; return whether patience starts anew."""
        return False

    def columns(self, progress: FitProgress) -> dict[str, float]:
        """Return further columns of the epoch log."""
        return {}

    def should_save(self, step: int) -> bool:
        """Return whether a checkpoint within an epoch is due after update `step`."""
        return False

    def arrays(self) -> Arrays:
        """Return arrays that a resume needs besides weights and optimiser."""
        return {}

    def values(self) -> dict[str, Any]:
        """Return plain values that a resume needs, such as the position in the data."""
        return {}

    def restore(self, arrays: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Continue from `arrays` and `values` of a checkpoint."""


class SupervisedRun(Generic[Batch]):
    """A task, and how far it has come."""

    def __init__(
        self,
        task: SupervisedTask[Batch],
        folder: RunFolder | None,
        checkpoint: ModelFile[Any] | None = None,
        initial: ModelFile[Any] | None = None,
    ) -> None:
        """Start a run, or continue one.

        Args:
            task: What is learned; its network has its initial weights and statistics.
            folder: Where results go; None: nothing is written.
            checkpoint: Where to continue, with averaged weights and training state.
            initial: A model whose weights and statistics a new run begins with, or None.

        Raises:
            ModelFileError: The checkpoint or the initial model does not fit the task.
        """
        self.task, self.settings, self.folder = task, task.settings, folder
        self.progress = FitProgress()
        self.network = task.network
        if initial is not None:
            self._begin_with(initial)
        scaled = task.half_precision and task.device.type == "cuda"
        self._scaler = torch.amp.GradScaler("cuda", enabled=scaled)
        self._bad_gradients = 0
        self.ema = self.network
        if self.settings.ema:
            self.ema = copy.deepcopy(self.network).requires_grad_(False).eval()
        if checkpoint is not None and checkpoint.training is not None:
            self._restore(checkpoint.weights, checkpoint.training)

    @property
    def total_steps(self) -> int:
        """Updates of the whole run."""
        return self.task.total_steps

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or validation has stopped getting better."""
        settings, progress = self.settings, self.progress
        patient = not settings.patience or progress.waited < settings.patience
        return progress.epoch >= settings.epochs or not patient

    def train(self, display: Display, stop: StopRequest) -> None:
        """Train to the last epoch, or until validation gets no better; save on the way.

        Raises:
            DivergedError: The gradients or the validation error stay without finite values.
            Interrupted: `stop` was requested; a checkpoint is saved.
        """
        progress = self.progress
        began = time.monotonic() - progress.seconds
        with display, self.task.reading(), self._open_log() as epochs:
            while not self.finished:
                for batch in self.task.batches(progress.epoch, progress.step):
                    self._update(batch)
                    progress.seconds = time.monotonic() - began
                    error = None if math.isinf(progress.best) else progress.best
                    rate = progress.step / max(progress.seconds, 1e-9)
                    label = f"epoch {progress.epoch + 1}"
                    display.update(progress.step, rate, error, label)
                    self._save_if_due(stop)
                self._end_epoch(epochs)
                if stop.signal_number is not None:
                    raise Interrupted(stop.signal_number)
        if self.folder is not None:
            self.save_model(self.folder.final_model)

    def save_model(self, path: Path) -> None:
        """Write the averaged network alone."""
        self.task.save(path, self.ema, self.progress, None)

    def save_checkpoint(self) -> None:
        """Write the network with everything that a resume needs."""
        if self.folder is None:
            return
        path = self.folder.checkpoint(self.progress.step)
        self.task.save(path, self.ema, self.progress, self._state())
        self.folder.keep_newest(path)
        log.info("saved %s", path)

    def _begin_with(self, model: ModelFile[Any]) -> None:
        """Take over weights and statistics of another network."""
        try:
            self.network.load_state_dict(model.weights)
        except RuntimeError as error:
            reason = str(error).strip().rpartition("\n")[2].strip()
            raise ModelFileError(
                f"the network to begin with is another one: {reason}"
            ) from None

    def _open_log(self) -> AbstractContextManager[EpochLog | None]:
        if self.folder is None:
            return nullcontext()
        return EpochLog(self.folder, self.progress.step)

    def _update(self, batch: Batch) -> None:
        """Take one step of the optimiser."""
        progress, optimizer, scaler = self.progress, self.task.optimizer, self._scaler
        rate = self.task.rate(progress.step)
        for parameters in optimizer.param_groups:
            parameters["lr"] = rate
        self.network.train()
        terms = self.task.loss(batch, progress.step)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(terms["loss"]).backward()  # type: ignore[no-untyped-call]
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(
            self.network.parameters(), self.settings.gradient_clip
        )
        finite = bool(torch.isfinite(norm))
        if finite or scaler.is_enabled():  # which skips the step and lowers its scale
            scaler.step(optimizer)
            scaler.update()
        if finite:
            self._bad_gradients = 0
        else:
            self._skip_update()
        progress.step += 1
        self._update_ema()
        self._add(terms)

    def _add(self, terms: Mapping[str, Tensor]) -> None:
        """Add the terms of an update to the epoch's sums, with one transfer from a GPU."""
        progress = self.progress
        values = torch.stack([value.detach() for value in terms.values()]).tolist()
        for name, value in zip(terms, values, strict=True):
            progress.sums[name] = progress.sums.get(name, 0.0) + value
            progress.counts[name] = progress.counts.get(name, 0) + 1

    def _skip_update(self) -> None:
        """Count a gradient that is not finite; give up after many in a row."""
        step = self.progress.step
        log.warning("step %d: the gradient is not finite: skipped", step)
        self._bad_gradients += 1
        if self._bad_gradients >= MAX_BAD_GRADIENTS:
            rule = f"{MAX_BAD_GRADIENTS} gradients in a row are not finite"
            raise DivergedError(f"step {step}: {rule}; lower --learning-rate")

    def _update_ema(self) -> None:
        """Move the averaged weights towards the weights; faster at the beginning."""
        if not self.settings.ema:
            return
        step = self.progress.step
        decay = min(self.settings.ema, (1.0 + step) / (10.0 + step))
        with torch.no_grad():
            torch._foreach_lerp_(
                list(self.ema.parameters()),
                list(self.network.parameters()),
                1.0 - decay,
            )

    def _save_if_due(self, stop: StopRequest) -> None:
        """Write a checkpoint within an epoch when it is due or the run is stopped."""
        every, step = self.settings.save_every, self.progress.step
        if stop.signal_number is not None:
            self.save_checkpoint()
            raise Interrupted(stop.signal_number)
        if (every and step % every == 0) or self.task.should_save(step):
            self.save_checkpoint()

    def _end_epoch(self, epochs: EpochLog | None) -> None:
        """Validate, keep the best network, write the log and a checkpoint."""
        progress = self.progress
        progress.epoch += 1
        row = {
            f"train/{name}": total / progress.counts[name]
            for name, total in progress.sums.items()
        }
        progress.sums, progress.counts = {}, {}
        result = self.task.validate(self.ema.eval())
        better = result is None
        if result is not None:
            error, scores = result
            row |= {f"validation/{name}": value for name, value in scores.items()}
            if not math.isfinite(error):
                rule = "the network's answers are not finite; lower --learning-rate"
                raise DivergedError(f"epoch {progress.epoch}: {rule}")
            better = error < progress.best
            progress.waited = 0 if better else progress.waited + 1
            if better:
                progress.best, progress.scores = error, scores
        if self.task.end_epoch(None if result is None else result[0]):
            progress.waited = 0
        row["learning_rate"] = self.task.rate(progress.step)
        row |= self.task.columns(progress)
        if epochs is not None:
            epochs.write(progress.step, progress.epoch, progress.seconds, row)
        if better and self.folder is not None:
            self.save_model(self.folder.best_model)
        self.save_checkpoint()

    def _state(self) -> TrainingState:
        """Return weights, optimiser, counters and the task's own state."""
        arrays = optimizer_arrays(self.network, self.task.optimizer)
        for name, tensor in self.network.state_dict().items():
            arrays[f"weights.{name}"] = to_array(tensor)
        best = None if math.isinf(self.progress.best) else self.progress.best
        values = {
            "progress": vars(self.progress) | {"best": best},
            "scaler": self._scaler.state_dict(),
        }
        return TrainingState(
            {**arrays, **self.task.arrays()}, values | self.task.values()
        )

    def _restore(self, weights: Mapping[str, Tensor], state: TrainingState) -> None:
        """Put a checkpoint into network, optimiser, counters and task."""
        try:
            tensors = {
                name: torch.from_numpy(array.copy())
                for name, array in state.arrays.items()
            }
            self.task.restore(tensors, state.values)
            self.network.load_state_dict(group(tensors, "weights"))
            if self.settings.ema:
                self.ema.load_state_dict(dict(weights))
            restore_optimizer(self.network, self.task.optimizer, tensors)
            values = state.values
            if values.get("scaler"):
                self._scaler.load_state_dict(values["scaler"])
            known = FitProgress.__dataclass_fields__
            counters = {k: v for k, v in values["progress"].items() if k in known}
            best = counters["best"]
            counters["best"] = math.inf if best is None else best
            if "count" in values["progress"]:  # one count for all terms, in older files
                count = values["progress"]["count"]
                counters["counts"] = dict.fromkeys(counters.get("sums", {}), count)
            self.progress = FitProgress(**counters)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            reason = (str(error).splitlines() or [""])[0]
            raise ModelFileError(
                f"the training state does not fit this configuration: {reason}"
            ) from error
