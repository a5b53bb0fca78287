"""The training of a gait network, from its first step or a checkpoint to its end.

An iteration learns from one buffer of the stream, gone through several times in small
batches. Orders follow from seed, epoch, buffer and pass, so that a resumed training goes
on exactly as an uninterrupted one would.
"""

from __future__ import annotations

import logging
import math
import time

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ambulo.common.console import Display
from ambulo.common.signals import Interrupted, StopRequest
from ambulo.configs.errors import DivergedError, GaitDataError
from ambulo.configs.ref_nn import RefRunConfig
from ambulo.evaluate.gait.data import GaitData, GaitSet, GaitStream, load_part
from ambulo.evaluate.gait.scores import asymmetry, score
from ambulo.motion.gaits.shards import FRAMES, PER_CYCLE
from ambulo.policies.agents.gait_training import RefNNFile, save_ref_nn
from ambulo.policies.files.model_file import TrainingState
from ambulo.policies.kinds.ref_nn import RefNNMetadata, describe_ref_nn
from ambulo.policies.networks.ref_nn import make_ref_nn
from ambulo.train.gait.foot_loss import Legs, feet_loss, legs_of
from ambulo.train.gait.losses import motion_loss, pose_loss, row_noise, squared_weights
from ambulo.train.gait.run_folder import GaitRunFolder
from ambulo.train.gait.training_state import Progress, captured, restored
from ambulo.train.shared.epoch_log import EpochLog

log = logging.getLogger(__name__)

VALIDATED = 512
"""Sequences that an epoch is validated with, at most, evenly spread."""
STATISTICS = 32_768
"""Frames that statistics are taken from, at most."""
ASYMMETRIC = 2.0
"""Difference between mean gait and mirrored mean gait above which mirroring is doubted,
[deg] of the legs' joints."""
SPEED_WEIGHT = 0.5
"""An error of 1 % of the speed counts in the validation error as much as so many degrees."""
JITTER = 1
"""Sets the noise on parameters apart from the orders."""
HALVES = {"cuda": torch.float16, "cpu": torch.bfloat16}
"""What matrices are multiplied in with half precision."""


class GaitTraining:
    """A network, what it learns from, and how far it has come."""

    def __init__(
        self,
        config: RefRunConfig,
        folder: GaitRunFolder,
        data: GaitData,
        *,
        command: str = "",
        checkpoint: RefNNFile | None = None,
    ) -> None:
        """Build network and optimiser, fresh or from a checkpoint."""
        training = config.training
        self.config, self.folder, self.data = config, folder, data
        self._command = command
        if training.threads:
            torch.set_num_threads(training.threads)
        torch.manual_seed(training.seed)
        self.device = _device(training.device)
        self.network = make_ref_nn(data.space, config.network).to(self.device)
        self.average = make_ref_nn(data.space, config.network).to(self.device)
        self.average.requires_grad_(False)
        self.stream = GaitStream(data, config.dataset, training.seed)
        self._validation = load_part(data, "validation", VALIDATED)
        if config.dataset.mirror:
            off = asymmetry(load_part(data, "train", VALIDATED).motions)
            if off > ASYMMETRIC:
                log.warning(
                    "dataset.mirror: the mean gait is %.1f deg off its mirror image; "
                    "leave mirror false where gaits differ between the sides",
                    off,
                )
        self._optimizer = torch.optim.AdamW(
            self.network.parameters(),
            lr=training.learning_rate,
            weight_decay=training.weight_decay,
            fused=True,
        )
        self._half = _halves(self.device)
        scaled = self._half and self.device.type == "cuda" and training.half_until > 0.0
        self._scaler = torch.amp.GradScaler("cuda", enabled=scaled)
        self._weights = squared_weights(config.loss).to(self.device)
        turns = torch.arange(PER_CYCLE, dtype=torch.float32) / PER_CYCLE
        none = torch.zeros((PER_CYCLE, 0))
        self._phases = self.network.inputs(none.to(self.device), turns.to(self.device))
        self.progress = Progress()
        self.total_steps = sum(
            self._batches(rows)
            for epoch in range(training.epochs)
            for rows in self.stream.rows(epoch)
        )
        if checkpoint is None:
            self._measure()
        else:
            self._restore(checkpoint)

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
        with display, self.stream, EpochLog(self.folder, progress.step) as diary:
            while not self.finished:
                groups = len(self.stream.plan(progress.epoch))
                due = False
                while progress.buffer < groups:
                    held = self.stream.buffer(progress.epoch, progress.buffer)
                    self._learn(held, display, stop, began)
                    progress.buffer += 1
                    progress.batch = 0
                    progress.iteration += 1
                    every = self.config.training.save_every
                    due = progress.iteration % every == 0
                    if due and progress.buffer < groups:
                        self.save_checkpoint()
                self._end_epoch(diary)
                stopped = stop.signal_number
                if due or stopped is not None:
                    self.save_checkpoint()
                if stopped is not None:
                    raise Interrupted(stopped)
        if not self.folder.checkpoint(progress.step).exists():
            self.save_checkpoint()
        save_ref_nn(self.folder.final_model, self._kept(), self._told())

    def save_checkpoint(self) -> None:
        """Write the network with everything that a resume needs."""
        path = self.folder.checkpoint(self.progress.step)
        save_ref_nn(path, self._kept(), self._told(), self._captured())
        self.folder.keep_newest(path)
        log.info("saved %s", path)

    def validation(self) -> dict[str, float]:
        """Scores of the kept network on sequences that are not learnt from."""
        held = self._validation
        if not len(held):
            return {}
        return score(self.predict(held.params), held.motions).as_dict()

    def predict(self, params: NDArray[np.float32]) -> NDArray[np.float32]:
        """Frames (N, 60, 101) of normalised parameters (N, P) by the kept network."""
        network = self.average if self.config.training.average else self.network
        phase = torch.arange(FRAMES, device=self.device) / PER_CYCLE
        out = np.empty((len(params), FRAMES, self._weights.shape[0]), np.float32)
        with torch.no_grad():
            for row, values in enumerate(params):
                repeated = torch.from_numpy(values).to(self.device).expand(FRAMES, -1)
                out[row] = network(repeated, phase).cpu().numpy()
        return out

    def _learn(
        self, held: GaitSet, display: Display, stop: StopRequest, began: float
    ) -> None:
        """Go through a buffer; from the batch at which a resumed run stopped."""
        training, progress = self.config.training, self.progress
        params = torch.from_numpy(held.params)
        motions = torch.from_numpy(held.motions).view(-1, held.motions.shape[-1])
        count = len(motions)
        size = min(training.batch_size, count)
        per_pass = count // size
        place = [training.seed, progress.epoch, progress.buffer]
        order = torch.zeros(0, dtype=torch.int64)
        current = -1
        legs = None
        if self.config.loss.feet:
            legs = legs_of(self.data.space, held.params).to(self.device)
        while progress.batch < per_pass * training.passes:
            number, batch = divmod(progress.batch, per_pass)
            if number != current:
                mixed = np.random.default_rng([*place, number]).permutation(count)
                order, current = torch.from_numpy(mixed), number
            rows = self._rows(order[batch * size : (batch + 1) * size])
            sequences = torch.div(rows, FRAMES, rounding_mode="floor")
            phase = self._phases[rows % PER_CYCLE]
            values = params[sequences]
            if training.jitter:
                rng = np.random.default_rng([*place, number, batch, JITTER])
                pairs = self.config.loss.pairs
                values = values + training.jitter * row_noise(rng, values, pairs)
            inputs = torch.cat([values.to(self.device), phase], dim=1)
            own = None if legs is None else legs[sequences[: len(rows) // 2]]
            self._step(inputs, motions[rows].to(self.device), own)
            progress.batch += 1
            progress.rows += size
            progress.seconds = time.monotonic() - began
            error = None if math.isinf(progress.best) else progress.best
            rate = progress.step / progress.seconds
            display.update(progress.step, rate, error, f"epoch {progress.epoch + 1}")
            if stop.signal_number is not None:
                self.save_checkpoint()
                raise Interrupted(stop.signal_number)

    def _rows(self, rows: Tensor) -> Tensor:
        """`rows` (B,), or the first half and the frame after each where motion counts."""
        if not self.config.loss.pairs:
            return rows
        first = rows[: len(rows) // 2]
        first = first - (first % FRAMES == FRAMES - 1).long()
        return torch.cat([first, first + 1])

    def _step(self, inputs: Tensor, true: Tensor, legs: Legs | None) -> None:
        """One update; `legs` of the first half of the rows."""
        training, progress = self.config.training, self.progress
        rate = learning_rate(self.config, progress.step, self.total_steps)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        half = self._half and progress.step < training.half_until * self.total_steps
        with torch.autocast(self.device.type, HALVES.get(self.device.type), half):
            predicted = self.network.of_inputs(inputs)
        loss = self._loss(predicted.float(), true, legs)
        self._optimizer.zero_grad(set_to_none=True)
        self._scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        self._scaler.unscale_(self._optimizer)
        # Of a list: the published code used up the parameters' generator, and clipped none.
        norm = torch.nn.utils.clip_grad_norm_(
            list(self.network.parameters()), training.gradient_clip
        )
        if self._scaler.is_enabled() or bool(torch.isfinite(norm)):
            self._scaler.step(self._optimizer)
            self._scaler.update()
        else:
            log.warning("step %d: the gradient is not finite: left out", progress.step)
        progress.step += 1
        progress.total += float(loss.detach())
        progress.count += 1
        if training.average:
            decay = min(
                training.average, (1.0 + progress.step) / (10.0 + progress.step)
            )
            with torch.no_grad():
                torch._foreach_lerp_(
                    list(self.average.parameters()),
                    list(self.network.parameters()),
                    1.0 - decay,
                )

    def _loss(self, predicted: Tensor, true: Tensor, legs: Legs | None) -> Tensor:
        """The configured sum."""
        config = self.config.loss
        loss = pose_loss(predicted, true, self._weights)
        if config.motion:
            loss = loss + config.motion * motion_loss(predicted, true, self._weights)
        if legs is not None:
            loss = loss + config.scale * config.feet * feet_loss(predicted, true, legs)
        return loss

    def _batches(self, rows: int) -> int:
        """Updates that a buffer of so many rows makes."""
        training = self.config.training
        return training.passes * (rows // min(training.batch_size, rows))

    def _end_epoch(self, diary: EpochLog) -> None:
        """Validate, keep the best network, write everything down."""
        progress = self.progress
        progress.epoch += 1
        progress.buffer = 0
        scores = self.validation()
        row = {"train/loss": progress.total / max(progress.count, 1)}
        progress.total, progress.count = 0.0, 0
        if scores:
            error = scores["legs_deg"] + SPEED_WEIGHT * scores["speed_percent"]
            row |= {f"validation/{name}": value for name, value in scores.items()}
            row["validation/error"] = error
            if not math.isfinite(error):
                rule = "the network's answers are not finite; lower --learning-rate"
                raise DivergedError(f"epoch {progress.epoch}: {rule}")
            if error < progress.best:
                progress.best, progress.waited, progress.scores = error, 0, scores
                save_ref_nn(self.folder.best_model, self._kept(), self._told())
            else:
                progress.waited += 1
        else:
            save_ref_nn(self.folder.best_model, self._kept(), self._told())
        rate = learning_rate(self.config, progress.step, self.total_steps)
        row |= {
            "learning_rate": rate,
            "rows_per_second": progress.rows / max(progress.seconds, 1e-9),
        }
        diary.write(progress.step, progress.epoch, progress.seconds, row)

    def _kept(self) -> dict[str, Tensor]:
        network = self.average if self.config.training.average else self.network
        return {name: value.clone() for name, value in network.state_dict().items()}

    def _told(self) -> RefNNMetadata:
        """What the file of the network tells about itself."""
        progress, data = self.progress, self.data
        shared = self.config.replace(
            data=[place.rstrip("/").split("/")[-1] for place in self.config.data]
        ).model_dump(mode="json")
        shared["training"].pop("output")
        return describe_ref_nn(
            self.network,
            is_cascaded=data.is_cascaded,
            training={
                "run": shared,
                "steps": progress.step,
                "epochs": progress.epoch,
                "rows": progress.rows,
                "validation": progress.scores,
                "held": data.held(),
                "sequences": {
                    name: data.count(name) for name in ("train", "validation", "test")
                },
                "test_subjects": sorted(data.table("test"))
                if self.config.dataset.split == "subject"
                else [],
            },
            command=self._command,
        )

    def _measure(self) -> None:
        """Give both networks the statistics of the data, if the settings ask for it."""
        if self.config.network.statistics:
            with self.stream:
                held = self.stream.buffer(0, 0)
            count = len(held) * FRAMES
            rows = np.linspace(0, count - 1, min(STATISTICS, count)).astype(np.int64)
            phase = self._phases[torch.from_numpy(rows % PER_CYCLE)]
            params = torch.from_numpy(held.params[rows // FRAMES]).to(self.device)
            poses = torch.from_numpy(held.motions.reshape(count, -1)[rows])
            with torch.no_grad():
                inputs = torch.cat([params, phase], dim=1)
                self.network.set_statistics(inputs, poses.to(self.device))
        self.average.load_state_dict(self.network.state_dict())

    def _captured(self) -> TrainingState:
        """Weights, optimiser and counters."""
        return captured(
            self.network, self._optimizer, self._scaler, self.progress, self._files
        )

    def _restore(self, checkpoint: RefNNFile) -> None:
        """Put a checkpoint into this training."""
        state = checkpoint.training
        assert state is not None
        self.average.load_state_dict(checkpoint.weights)
        self.progress = restored(
            state, self.network, self._optimizer, self._scaler, self._files
        )

    @property
    def _files(self) -> list[list[int]]:
        """What tells these data from others."""
        return [[len(head), head.crc] for head in self.data.heads]


def learning_rate(config: RefRunConfig, step: int, total: int) -> float:
    """Adam's step size at update `step` of `total`."""
    training = config.training
    if step < training.warmup_steps:
        return training.learning_rate * (step + 1) / training.warmup_steps
    if training.schedule == "constant":
        return training.learning_rate
    left = max(total - training.warmup_steps, 1)
    share = min((step - training.warmup_steps) / left, 1.0)
    wave = 0.5 * (1.0 + math.cos(math.pi * share))
    return training.learning_rate * (0.01 + 0.99 * wave)


def _device(name: str) -> torch.device:
    """The torch device `name`; `auto` is a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise GaitDataError(f"device {name!r} cannot be used: {reason}") from None
    return device


def _halves(device: torch.device) -> bool:
    """Whether `device` multiplies matrices of half precision faster than others."""
    if device.type == "cpu":
        return bool(torch.cpu.get_capabilities().get("amx_bf16", False))
    return device.type == "cuda"
