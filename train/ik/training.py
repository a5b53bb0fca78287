"""The training of a network of poses, from its first step or a checkpoint to its end.

Every step draws from a generator of its own, seeded by the run's seed and the step's
number, so that a resumed training goes on exactly as an uninterrupted one would.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ambulo.common.console import Display
from ambulo.common.signals import Interrupted, StopRequest
from ambulo.configs.errors import DivergedError, IKError
from ambulo.configs.neural_ik import IKRunConfig
from ambulo.evaluate.ik.data import Poses
from ambulo.policies.agents.ik import IKModelFile
from ambulo.policies.files.model_file import TrainingState, save_model
from ambulo.policies.kinds.neural_ik import describe_ik
from ambulo.policies.networks.ik_net import IKNet
from ambulo.train.ik.losses import PoseLoss
from ambulo.train.ik.run_folder import IKRunFolder
from ambulo.train.ik.validation import export, validate
from ambulo.train.shared.epoch_log import EpochLog

log = logging.getLogger(__name__)

LOST = 20
"""Gradients in a row that are not finite, after which a training is lost."""
STATISTICS_POSES = 16_384
"""Poses that statistics are taken from."""


@dataclass
class Progress:
    """Where a training stands; plain numbers, for a checkpoint."""

    epoch: int = 0
    """Whole epochs done."""
    step: int = 0
    """Updates done."""
    best: float = math.inf
    """Smallest validation error so far, [cm]."""
    waited: int = 0
    """Epochs since then."""
    seconds: float = 0.0
    """Spent so far, [s]."""
    sums: dict[str, float] = field(default_factory=dict)
    """Sums of the loss terms over the steps of the running epoch."""
    count: int = 0
    """Number of these steps."""


class IKTraining:
    """A network, what it learns from, and how far it has come."""

    def __init__(
        self,
        config: IKRunConfig,
        folder: IKRunFolder,
        poses: Poses,
        validation: Poses,
        *,
        command: str = "",
        extra: Mapping[str, Any] | None = None,
        checkpoint: IKModelFile | None = None,
        init: IKModelFile | None = None,
    ) -> None:
        """Build network and optimiser, fresh or from a checkpoint.

        Args:
            config: All settings.
            folder: Where results go; it exists.
            poses: What is learnt from.
            validation: Poses of other people.
            command: Command line, for model files.
            extra: Plain JSON that model files also tell.
            checkpoint: What to go on from, or None.
            init: A fresh run's weights and statistics instead of random ones, or None.
        """
        training = config.training
        self.config, self.folder = config, folder
        self.poses, self._validation = poses, validation
        self.device = pick_device(training.device)
        self._command, self._extra = command, dict(extra or {})
        if training.threads:
            torch.set_num_threads(training.threads)
        torch.manual_seed(training.seed)
        self.network = IKNet(config.network, poses.rig).to(self.device)
        self.average = IKNet(config.network, poses.rig).to(self.device)
        self.average.requires_grad_(False).eval()
        self.loss = PoseLoss(config, poses.rig, self.device)
        self._optimizer = torch.optim.AdamW(
            self.network.parameters(),
            lr=training.learning_rate,
            weight_decay=training.weight_decay,
        )
        self._amp = training.amp and self.device.type == "cuda"
        self._scaler = torch.amp.GradScaler("cuda", enabled=self._amp)
        self.progress = Progress()
        self._left_out = 0
        self.epoch_steps = max(1, len(poses) // training.batch_size)
        self.total_steps = training.epochs * self.epoch_steps
        if checkpoint is not None:
            self._restore(checkpoint)
        elif init is not None:
            self._begin_with(init)
        else:
            self._measure()

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or validation has stopped getting better."""
        training, progress = self.config.training, self.progress
        patient = not training.patience or progress.waited < training.patience
        return progress.epoch >= training.epochs or not patient

    def train(self, display: Display, stop: StopRequest) -> None:
        """Train to the last epoch, or until validation gets no better; saves as it goes."""
        progress = self.progress
        began = time.monotonic() - progress.seconds
        with display, EpochLog(self.folder, progress.step) as diary:
            while not self.finished:
                while progress.step < (progress.epoch + 1) * self.epoch_steps:
                    self._step()
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
        export(self.average, self.folder.final_model, self.poses.rig, self._told())

    def save_checkpoint(self) -> None:
        """Write the network with everything that a resume needs."""
        path = self.folder.checkpoint(self.progress.step)
        metadata = describe_ik(
            self.config,
            self.poses.rig.name,
            steps=self.progress.step,
            command=self._command,
            extra=self._extra,
        )
        network = {k: v.clone() for k, v in self.average.state_dict().items()}
        save_model(path, IKModelFile(metadata, network, self._captured()))
        self.folder.keep_newest(path)
        log.info("saved %s", path)

    def _step(self) -> None:
        """One update."""
        training, progress = self.config.training, self.progress
        rng = np.random.default_rng([training.seed, progress.step])
        torch.manual_seed(int(rng.integers(2**62)))  # of the dropout
        varied = progress.step < training.vary_until * self.total_steps
        batch = self.poses.draw(rng, training.batch_size, varied=varied).to(self.device)
        rate = learning_rate(self.config, progress.step, self.total_steps)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        with torch.autocast(self.device.type, enabled=self._amp):
            offset = self.network(batch.inputs)
        terms = self.loss(offset, self.network.mean, batch)
        self._optimizer.zero_grad(set_to_none=True)
        self._scaler.scale(terms["loss"]).backward()  # type: ignore[no-untyped-call]
        self._scaler.unscale_(self._optimizer)
        norm = torch.nn.utils.clip_grad_norm_(
            self.network.parameters(), training.gradient_clip
        )
        if not (self._amp or bool(torch.isfinite(norm))):
            log.warning("step %d: the gradient is not finite: left out", progress.step)
            self._left_out += 1
            if self._left_out >= LOST:
                rule = f"{LOST} gradients in a row are not finite"
                raise DivergedError(
                    f"step {progress.step}: {rule}; lower learning_rate"
                )
        else:
            self._left_out = 0
            self._scaler.step(self._optimizer)
            self._scaler.update()
        progress.step += 1
        self._follow()
        progress.count += 1
        for name, value in terms.items():
            progress.sums[name] = progress.sums.get(name, 0.0) + float(value.detach())

    def _follow(self) -> None:
        """Move the average towards the weights; faster at the beginning."""
        step = self.progress.step
        decay = min(self.config.training.average, (1.0 + step) / (10.0 + step))
        with torch.no_grad():
            torch._foreach_lerp_(
                list(self.average.parameters()),
                list(self.network.parameters()),
                1.0 - decay,
            )

    def _save_if_due(self, stop: StopRequest) -> None:
        every = self.config.training.save_every
        at_end = self.progress.step == (self.progress.epoch + 1) * self.epoch_steps
        if at_end:
            return  # the end of the epoch saves
        asked = stop.signal_number is not None
        if asked or (every and self.progress.step % every == 0):
            self.save_checkpoint()
        if asked:
            assert stop.signal_number is not None
            raise Interrupted(stop.signal_number)

    def _end_epoch(self, diary: EpochLog) -> None:
        """Validate, keep the best network, write everything down."""
        progress = self.progress
        progress.epoch += 1
        error, row = validate(self.average, self._validation)
        if error < progress.best:
            progress.best, progress.waited = error, 0
            export(self.average, self.folder.best_model, self.poses.rig, self._told())
        else:
            progress.waited += 1
        losses = {
            f"train/{name}": total / progress.count
            for name, total in progress.sums.items()
        }
        progress.sums, progress.count = {}, 0
        rate = learning_rate(self.config, progress.step, self.total_steps)
        diary.write(
            progress.step,
            progress.epoch,
            progress.seconds,
            losses | row | {"learning_rate": rate},
        )
        self.save_checkpoint()

    def _told(self) -> dict[str, Any]:
        """What an exported network tells about itself."""
        metadata = describe_ik(self.config, self.poses.rig.name, command=self._command)
        best = self.progress.best
        return {
            "run": metadata.run.model_dump(mode="json"),
            "steps": self.progress.step,
            "versions": metadata.versions,
            "command": self._command,
            "created": metadata.created,
            "validation_cm": None if math.isinf(best) else round(best, 3),
            **self._extra,
        }

    def _measure(self) -> None:
        """Statistics of the data, given to both networks."""
        rng = np.random.default_rng([self.config.training.seed, 2**31])
        batch = self.poses.draw(rng, STATISTICS_POSES)
        with torch.no_grad():
            self.network.set_statistics(
                batch.inputs.to(self.device), batch.outputs.to(self.device)
            )
        self.average.load_state_dict(self.network.state_dict())

    def _begin_with(self, model: IKModelFile) -> None:
        """The weights and statistics of `model` for both networks."""
        try:
            self.network.load_state_dict(model.weights)
        except RuntimeError:
            theirs = model.metadata.run.network
            raise IKError(
                "the network to begin with is another one: "
                f"{theirs.kind}, hidden layers {list(theirs.hidden)}"
            ) from None
        self.average.load_state_dict(self.network.state_dict())

    def _captured(self) -> TrainingState:
        """Weights, optimiser and counters."""
        names = {id(p): name for name, p in self.network.named_parameters()}
        arrays: dict[str, NDArray[Any]] = {}
        for name, tensor in self.network.state_dict().items():
            arrays[f"weights.{name}"] = _numbers(tensor)
        for parameter, state in self._optimizer.state.items():
            for key, value in state.items():
                arrays[f"optimizer.{key}.{names[id(parameter)]}"] = _numbers(value)
        values = dict(vars(self.progress))
        values["best"] = None if math.isinf(self.progress.best) else self.progress.best
        return TrainingState(
            arrays, {"progress": values, "scaler": self._scaler.state_dict()}
        )

    def _restore(self, checkpoint: IKModelFile) -> None:
        """Put a checkpoint into this training."""
        state = checkpoint.training
        assert state is not None
        try:
            self.average.load_state_dict(checkpoint.weights)
            arrays = {k: torch.from_numpy(np.array(v)) for k, v in state.arrays.items()}
            self.network.load_state_dict(_group(arrays, "weights"))
            self._restore_moments(_group(arrays, "optimizer"))
            if state.values["scaler"]:
                self._scaler.load_state_dict(state.values["scaler"])
            values = dict(state.values["progress"])
            values["best"] = math.inf if values["best"] is None else values["best"]
            self.progress = Progress(**values)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            reason = (str(error).splitlines() or [""])[0]
            raise IKError(
                f"the training state does not fit this configuration: {reason}"
            ) from error

    def _restore_moments(self, tensors: Mapping[str, Tensor]) -> None:
        names = [name for name, _ in self.network.named_parameters()]
        state: dict[int, dict[str, Tensor]] = {}
        for index, (name, parameter) in enumerate(self.network.named_parameters()):
            moments = {
                key.removesuffix(f".{name}"): value
                for key, value in tensors.items()
                if key.endswith(f".{name}") and key.count(".") == name.count(".") + 1
            }
            for key, value in moments.items():
                if key != "step" and value.shape != parameter.shape:
                    raise ValueError(
                        f"optimizer.{key}.{names[index]} has another shape"
                    )
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
        raise IKError(f"device {name!r} cannot be used: {reason}") from None
    return device


def learning_rate(config: IKRunConfig, step: int, total: int) -> float:
    """Adam's step size at update `step` of `total`: a ramp, then a cosine to 1 %."""
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
