"""The training of a motion network, from its first step or a checkpoint to its end.

Every step draws from generators of its own, seeded by the run's seed and the step's
number, so that a resumed training goes on exactly as an uninterrupted one would.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ambulo.common.console import Display
from ambulo.common.signals import Interrupted, StopRequest
from ambulo.configs.errors import MotionError
from ambulo.configs.motion_nn import MotionRunConfig
from ambulo.motion.datasets.curriculum import CurriculumProgress
from ambulo.motion.datasets.windows import WindowBatch, WindowedDataset
from ambulo.policies.agents.motion import MotionModelFile
from ambulo.policies.files.model_file import TrainingState, save_model
from ambulo.policies.kinds.motion_nn import describe_motion
from ambulo.policies.networks.motion_nn import MotionNN
from ambulo.train.motion.losses import MotionLoss
from ambulo.train.motion.run_folder import MotionRunFolder
from ambulo.train.motion.statistics import Statistics, statistics_of
from ambulo.train.motion.validation import calibrated, validation_error
from ambulo.train.shared.epoch_log import EpochLog

log = logging.getLogger(__name__)

Arrays = Mapping[str, NDArray[Any]]
STATISTICS_WINDOWS = 16_384
"""Windows that statistics are taken from, at most."""


@dataclass
class Progress:
    """Where a training stands; plain numbers, for a checkpoint."""

    epoch: int = 0
    """Whole epochs done."""
    step: int = 0
    """Updates done."""
    best: float = math.inf
    """Smallest validation error so far, [mm]."""
    waited: int = 0
    """Epochs since then."""
    seconds: float = 0.0
    """Spent so far, [s]."""
    sums: dict[str, float] = field(default_factory=dict)
    """Sums of the loss terms over the steps of the running epoch."""
    counts: dict[str, int] = field(default_factory=dict)
    """Number of each term's steps."""


class MotionTraining:
    """A network, what it learns from, and how far it has come."""

    def __init__(
        self,
        config: MotionRunConfig,
        folder: MotionRunFolder,
        data: WindowedDataset,
        validation: Tensor,
        *,
        command: str = "",
        extra: Mapping[str, Any] | None = None,
        checkpoint: MotionModelFile | None = None,
    ) -> None:
        """Build network and optimiser, fresh or from a checkpoint.

        Args:
            config: All settings.
            folder: Where results go; it exists.
            data: Windows of `config.window` frames, shuffled.
            validation: Windows that are never trained on. Shape (N, T, 112).
            command: Command line, for model files.
            extra: Plain JSON that model files also tell: the split.
            checkpoint: What to go on from, or None.
        """
        if not len(data):
            raise MotionError(
                f"no training clip is as long as a window of {config.window} "
                "frames; lower model.chunk or training.rollout_steps, or add data"
            )
        training = config.training
        self.config, self.folder = config, folder
        self.device = pick_device(training.device)
        self._data, self._validation = data, validation.to(self.device)
        self._command, self._extra = command, dict(extra or {})
        torch.manual_seed(training.seed)
        self.network = MotionNN(config.model).to(self.device)
        self.average = MotionNN(config.model).to(self.device).eval()
        self.average.requires_grad_(False)
        decays = [p for p in self.network.parameters() if p.ndim > 1]
        others = [p for p in self.network.parameters() if p.ndim <= 1]
        self._optimizer = torch.optim.AdamW(
            [
                {"params": decays, "weight_decay": training.weight_decay},
                {"params": others, "weight_decay": 0.0},
            ],
            lr=training.learning_rate,
        )
        self.progress = Progress()
        self._curriculum = CurriculumProgress(config.dataset.curriculum)
        self.total_steps = training.epochs * data.num_batches
        self._statistics = (
            self._measure() if checkpoint is None else self._restore(checkpoint)
        )
        self._loss = MotionLoss(config, self._statistics, self.device)

    def train(self, display: Display, stop: StopRequest) -> None:
        """Train to the last epoch, or until validation gets no better; saves as it goes."""
        folder, progress = self.folder, self.progress
        began = time.monotonic() - progress.seconds
        with display, EpochLog(folder, progress.step) as diary:
            while not self.finished:
                self._begin_epoch()
                for batch in self._data:
                    self._step(batch)
                    progress.seconds = time.monotonic() - began
                    error = None if math.isinf(progress.best) else progress.best
                    rate = progress.step / progress.seconds
                    display.update(
                        progress.step, rate, error, f"epoch {progress.epoch + 1}"
                    )
                    self._save_if_due(stop)
                self._end_epoch(diary)
                if stop.signal_number is not None:
                    raise Interrupted(stop.signal_number)
        self.save_model(folder.final_model)

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or validation has stopped getting better."""
        training, progress = self.config.training, self.progress
        patient = not training.patience or progress.waited < training.patience
        return progress.epoch >= training.epochs or not patient

    def save_model(self, path: Path) -> None:
        """Write the averaged network alone."""
        network = self.average
        if self.config.training.calibrate:
            network = calibrated(network, self._validation)
        save_model(path, self._model(network, None))

    def save_checkpoint(self) -> None:
        """Write the network with everything that a resume needs."""
        path = self.folder.checkpoint(self.progress.step)
        save_model(path, self._model(self.average, self._captured()))
        self.folder.keep_newest(path)
        log.info("saved %s", path)

    def _begin_epoch(self) -> None:
        """Let the activities of the curriculum's stage take part; skip empty stages."""
        data, curriculum = self._data, self._curriculum
        state = data.state_dict()
        while True:
            data.set_epoch(state["epoch"], curriculum.activities, batch=state["batch"])
            if len(data) or curriculum.activities is None:
                return
            curriculum.index += 1

    def _step(self, batch: WindowBatch) -> None:
        """One update."""
        training, progress = self.config.training, self.progress
        rng = np.random.default_rng([training.seed, progress.step])
        torch.manual_seed(int(rng.integers(2**62)))
        rate = learning_rate(self.config, progress.step, self.total_steps)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        windows = torch.from_numpy(batch.states).to(self.device)
        self.network.train()
        terms = self._loss(self.network, windows, rng)
        self._optimizer.zero_grad(set_to_none=True)
        terms["loss"].backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(
            self.network.parameters(), training.gradient_clip
        )
        if not bool(torch.isfinite(norm)):
            log.warning("step %d: the gradient is not finite: left out", progress.step)
        else:
            self._optimizer.step()
        progress.step += 1
        self._follow()
        for name, value in terms.items():
            progress.sums[name] = progress.sums.get(name, 0.0) + float(value.detach())
            progress.counts[name] = progress.counts.get(name, 0) + 1

    def _follow(self) -> None:
        """Move the average towards the weights; faster at the beginning."""
        step = self.progress.step
        decay = min(self.config.training.average, (1.0 + step) / (10.0 + step))
        with torch.no_grad():
            for slow, new in zip(
                self.average.parameters(), self.network.parameters(), strict=True
            ):
                slow.lerp_(new, 1.0 - decay)

    def _end_epoch(self, diary: EpochLog) -> None:
        """Validate, log, and save."""
        progress = self.progress
        progress.epoch += 1
        means = {k: v / progress.counts[k] for k, v in progress.sums.items()}
        progress.sums, progress.counts = {}, {}
        errors = validation_error(self.average, self._validation)
        score = errors["mean"]
        better = score < progress.best
        progress.waited = 0 if better else progress.waited + 1
        progress.best = min(progress.best, score)
        if self._curriculum.advance(score):
            progress.waited = 0
        rate = learning_rate(self.config, progress.step, self.total_steps)
        row = {f"train/{name}": value for name, value in means.items()}
        row |= {f"validation/{name}": value for name, value in errors.items()}
        row["learning_rate"] = rate
        diary.write(progress.step, progress.epoch, progress.seconds, row)
        if better:
            self.save_model(self.folder.best_model)
        self.save_checkpoint()

    def _save_if_due(self, stop: StopRequest) -> None:
        """A checkpoint inside an epoch, when it is time or the run is asked to stop."""
        every, step = self.config.training.save_every, self.progress.step
        if stop.signal_number is not None:
            self.save_checkpoint()
            raise Interrupted(stop.signal_number)
        if every and step % every == 0:
            self.save_checkpoint()

    def _measure(self) -> Statistics:
        """Statistics of the first windows of the data, given to both networks."""
        state = self._data.state_dict()
        found, count = [], 0
        for batch in self._data:
            found.append(torch.from_numpy(batch.states))
            count += len(batch.states)
            if count >= STATISTICS_WINDOWS:
                break
        self._data.load_state_dict(state)
        windows = torch.cat(found).to(self.device)
        with torch.no_grad():
            statistics = statistics_of(self.network, windows)
            for network in (self.network, self.average):
                network.set_statistics(
                    mean=statistics.mean,
                    deviation=statistics.deviation,
                    scale=statistics.scale,
                    damping=statistics.damping,
                    linear=statistics.linear,
                )
            self.average.load_state_dict(self.network.state_dict())
        return statistics

    def _model(
        self, average: MotionNN, training: TrainingState | None
    ) -> MotionModelFile:
        best = self.progress.best
        metadata = describe_motion(
            self.config,
            steps=self.progress.step,
            command=self._command,
            extra=self._extra
            | {"validation_mm": None if math.isinf(best) else round(best, 3)},
        )
        network = {k: v.clone() for k, v in average.state_dict().items()}
        return MotionModelFile(metadata, network, training)

    def _captured(self) -> TrainingState:
        """Weights, optimiser, statistics and counters."""
        names = {id(p): name for name, p in self.network.named_parameters()}
        arrays: dict[str, NDArray[Any]] = {}
        for name, tensor in self.network.state_dict().items():
            arrays[f"weights.{name}"] = _numbers(tensor)
        for parameter, state in self._optimizer.state.items():
            for key, value in state.items():
                arrays[f"optimizer.{key}.{names[id(parameter)]}"] = _numbers(value)
        for name, tensor in vars(self._statistics).items():
            arrays[f"statistics.{name}"] = _numbers(tensor)
        values = dict(vars(self.progress))
        values["best"] = None if math.isinf(self.progress.best) else self.progress.best
        values = {"progress": values, "data": self._data.state_dict()}
        return TrainingState(
            arrays, values | {"curriculum": self._curriculum.state_dict()}
        )

    def _restore(self, checkpoint: MotionModelFile) -> Statistics:
        """Put a checkpoint into this training; the statistics it was made with."""
        state = checkpoint.training
        assert state is not None
        self.average.load_state_dict(checkpoint.weights)
        try:
            arrays = {k: torch.from_numpy(np.array(v)) for k, v in state.arrays.items()}
            self.network.load_state_dict(_group(arrays, "weights"))
            self._restore_moments(_group(arrays, "optimizer"))
            statistics = {
                k: v.to(self.device) for k, v in _group(arrays, "statistics").items()
            }
            values = dict(state.values["progress"])
            values["best"] = math.inf if values["best"] is None else values["best"]
            self.progress = Progress(**values)
            self._data.load_state_dict(state.values["data"])
            self._curriculum.load_state_dict(state.values["curriculum"])
            return Statistics(**statistics)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            reason = (str(error).splitlines() or [""])[0]
            raise MotionError(
                f"the training state does not fit this configuration: {reason}"
            ) from error

    def _restore_moments(self, tensors: Mapping[str, Tensor]) -> None:
        order = [p for group in self._optimizer.param_groups for p in group["params"]]
        names = {id(p): name for name, p in self.network.named_parameters()}
        state: dict[int, dict[str, Tensor]] = {}
        for index, parameter in enumerate(order):
            name = names[id(parameter)]
            moments = {
                key.removesuffix(f".{name}"): value
                for key, value in tensors.items()
                if key.endswith(f".{name}") and key.count(".") == name.count(".") + 1
            }
            for key, value in moments.items():
                if key != "step" and value.shape != parameter.shape:
                    raise ValueError(f"optimizer.{key}.{name} has another shape")
            if moments:
                state[index] = moments
        self._optimizer.load_state_dict(
            {**self._optimizer.state_dict(), "state": state}
        )


def pick_device(name: str) -> torch.device:
    """The torch device `name`; `auto` is a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise MotionError(f"device {name!r} cannot be used: {reason}") from None
    return device


def learning_rate(config: MotionRunConfig, step: int, total: int) -> float:
    """AdamW's step size at update `step` of `total`: a ramp, then a cosine to 1 %."""
    training = config.training
    if step < training.warmup_steps:
        return training.learning_rate * (step + 1) / training.warmup_steps
    left = max(total - training.warmup_steps, 1)
    share = min((step - training.warmup_steps) / left, 1.0)
    return training.learning_rate * (
        0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * share))
    )


def _numbers(tensor: Tensor) -> NDArray[Any]:
    return tensor.detach().cpu().numpy().copy()


def _group(tensors: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    """The tensors `name.<rest>` by `<rest>`."""
    start = f"{name}."
    return {k[len(start) :]: v for k, v in tensors.items() if k.startswith(start)}
