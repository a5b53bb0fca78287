"""The training of a gait network: its task.

The data come as buffers, each gone through several times in small batches. Orders follow
from seed, epoch, buffer and pass, so that a resumed run continues exactly as an
uninterrupted one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ambulo.configs.errors import GaitDataError
from ambulo.configs.gait_net import GaitNetRunConfig
from ambulo.evaluate.gait.scores import asymmetry, score
from ambulo.motion.gaits.gait_sets import GaitData, GaitSet, GaitStream, load_part
from ambulo.motion.gaits.shards import FRAMES, PER_CYCLE
from ambulo.policies.device import start_torch
from ambulo.policies.kinds.gait_net import GaitNetMetadata, describe_gait_net
from ambulo.policies.networks.gait_net import GaitNet
from ambulo.train.gait.foot_loss import Legs, feet_loss, legs_of
from ambulo.train.gait.losses import motion_loss, pose_loss, row_noise, squared_weights
from ambulo.train.shared.fit_settings import FitSettings
from ambulo.train.shared.supervised import FitProgress, SupervisedTask

log = logging.getLogger(__name__)

MAX_VALIDATION = 512
"""Sequences that an epoch is validated with, at most, evenly spread."""
MAX_STATISTICS = 32_768
"""Frames that statistics are taken from, at most."""
MAX_ASYMMETRY = 2.0
"""Difference between mean gait and mirrored mean gait above which mirroring is doubted,
[deg] of the legs' joints."""
SPEED_WEIGHT = 0.5
"""Degrees in the validation error that equal an error of 1 % of the speed."""
JITTER_STREAM = 1
"""Separates the random stream of the noise on parameters from that of the orders."""
HALF_TYPES = {"cuda": torch.float16, "cpu": torch.bfloat16}
"""Number types of half precision by device."""


@dataclass
class GaitPosition:
    """Position in the stream of buffers; plain numbers, for a checkpoint."""

    buffer: int = 0
    """Whole buffers of the running epoch done."""
    batch: int = 0
    """Batches of the running buffer done, over its passes."""
    iteration: int = 0
    """Buffers done in all."""
    rows: int = 0
    """Frames learned from, repeats counted."""


@dataclass(frozen=True)
class GaitPoseBatch:
    """One batch of frames."""

    inputs: Tensor
    """Normalised parameters and phase. Shape (B, I)."""
    poses: Tensor
    """True poses. Shape (B, 101)."""
    legs: Legs | None
    """Legs of the first half of the rows, where sliding feet are punished."""


class GaitTask(SupervisedTask[GaitPoseBatch]):
    """Poses of a gait from its parameters and phase."""

    network: GaitNet

    def __init__(
        self,
        config: GaitNetRunConfig,
        data: GaitData,
        *,
        command: str = "",
        statistics: bool = True,
    ) -> None:
        """Build the network and its optimiser.

        Args:
            config: All settings.
            data: Refined sequences and their split.
            command: Command line, for model files.
            statistics: Whether to measure statistics of the data; a resumed run has them.
        """
        training = config.training
        self.config, self.data = config, data
        device = self.device = start_torch(
            training.device, training.seed, training.threads
        )
        schedule = training.schedule  # buffers count between checkpoints, not updates
        self.settings = FitSettings.of(training, schedule=schedule, save_every=0)
        self._command = command
        net = config.network
        network = GaitNet(data.space, net.hidden, net.layers, net.harmonics)
        self.network = network.to(device)
        self.stream = GaitStream(data, config.dataset, training.seed)
        self._validation = load_part(data, "validation", MAX_VALIDATION)
        if config.dataset.mirror:
            self._warn_of_asymmetry()
        self.optimizer = torch.optim.AdamW(
            self.network.parameters(),
            lr=training.learning_rate,
            weight_decay=training.weight_decay,
            fused=True,
        )
        self._half = _has_fast_half_precision(device)
        self.half_precision = self._half and training.half_until > 0.0
        self._weights = squared_weights(config.loss).to(device)
        phases = torch.arange(PER_CYCLE, dtype=torch.float32) / PER_CYCLE
        none = torch.zeros((PER_CYCLE, 0))
        self._phases = self.network.inputs(none.to(device), phases.to(device))
        self.position = GaitPosition()
        self._buffer_done = False
        self.total_steps = sum(
            training.passes * (rows // min(training.batch_size, rows))
            for epoch in range(training.epochs)
            for rows in self.stream.rows(epoch)
        )
        if statistics and config.network.statistics:
            self._measure()

    def reading(self) -> AbstractContextManager[Any]:
        """Return the stream, which reads ahead while it is open."""
        return self.stream

    def batches(self, epoch: int, step: int) -> Iterator[GaitPoseBatch]:
        """Yield the rest of the epoch's batches, buffer after buffer."""
        position, buffers = self.position, len(self.stream.plan(epoch))
        while position.buffer < buffers:
            yield from self._buffer_batches(epoch)
            position.buffer += 1
            position.batch = 0
            position.iteration += 1
        position.buffer = 0

    def loss(self, batch: GaitPoseBatch, step: int) -> Mapping[str, Tensor]:
        """Return the configured sum of pose, motion and foot errors."""
        config, training = self.config.loss, self.config.training
        half = self._half and step < training.half_until * self.total_steps
        kind = self.device.type
        with torch.autocast(kind, HALF_TYPES.get(kind), half):
            predicted = self.network.of_inputs(batch.inputs)
        predicted = predicted.float()
        loss = pose_loss(predicted, batch.poses, self._weights)
        if config.motion:
            motion = motion_loss(predicted, batch.poses, self._weights)
            loss = loss + config.motion * motion
        if batch.legs is not None:
            feet = feet_loss(predicted, batch.poses, batch.legs)
            loss = loss + config.scale * config.feet * feet
        return {"loss": loss}

    def validate(self, network: nn.Module) -> tuple[float, dict[str, float]] | None:
        """Return the weighted error of legs and speed, and all scores."""
        part = self._validation
        if not len(part):
            return None
        poses = self.predict(cast(GaitNet, network), part.params)
        scores = asdict(score(poses, part.motions))
        error = scores["legs_deg"] + SPEED_WEIGHT * scores["speed_percent"]
        return error, scores | {"error": error}

    def predict(
        self, network: GaitNet, params: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return frames (N, 60, 101) of normalised parameters (N, P)."""
        phase = torch.arange(FRAMES, device=self.device) / PER_CYCLE
        out = np.empty((len(params), FRAMES, self._weights.shape[0]), np.float32)
        with torch.no_grad():
            for row, values in enumerate(params):
                repeated = torch.from_numpy(values).to(self.device).expand(FRAMES, -1)
                out[row] = network(repeated, phase).cpu().numpy()
        return out

    def columns(self, progress: FitProgress) -> dict[str, float]:
        """Return the speed of the training."""
        return {"rows_per_second": self.position.rows / max(progress.seconds, 1e-9)}

    def should_save(self, step: int) -> bool:
        """Return whether `save_every` more buffers are done."""
        every = self.config.training.save_every
        return self._buffer_done and (self.position.iteration + 1) % every == 0

    def values(self) -> dict[str, Any]:
        """Return the position in the data, and a fingerprint of their files."""
        return {"position": asdict(self.position), "files": self._fingerprint()}

    def restore(self, arrays: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Continue at the position of a checkpoint.

        Raises:
            GaitDataError: The checkpoint is of other data.
        """
        if values.get("files") != self._fingerprint():
            raise GaitDataError(
                "the data are not those that the run began with; start a new run"
            )
        saved = values.get("position", values["progress"])
        names = GaitPosition.__dataclass_fields__
        self.position = GaitPosition(**{name: saved[name] for name in names})

    def _buffer_batches(self, epoch: int) -> Iterator[GaitPoseBatch]:
        """Yield the rest of the batches of the current buffer, pass after pass."""
        training, position = self.config.training, self.position
        part = self.stream.buffer(epoch, position.buffer)
        motions = torch.from_numpy(part.motions).view(-1, part.motions.shape[-1])
        params, count = torch.from_numpy(part.params), len(motions)
        size = min(training.batch_size, count)
        per_pass = count // size
        place = [training.seed, epoch, position.buffer]
        legs = None
        if self.config.loss.feet:
            legs = legs_of(self.data.space, part.params).to(self.device)
        order, current = torch.zeros(0, dtype=torch.int64), -1
        while position.batch < per_pass * training.passes:
            number, batch = divmod(position.batch, per_pass)
            if number != current:
                mixed = np.random.default_rng([*place, number]).permutation(count)
                order, current = torch.from_numpy(mixed), number
            rows = self._rows(order[batch * size : (batch + 1) * size])
            sequences = torch.div(rows, FRAMES, rounding_mode="floor")
            values = params[sequences]
            if training.jitter:
                rng = np.random.default_rng([*place, number, batch, JITTER_STREAM])
                pairs = self.config.loss.pairs
                values = values + training.jitter * row_noise(rng, values, pairs)
            phase = self._phases[rows % PER_CYCLE]
            inputs = torch.cat([values.to(self.device), phase], dim=1)
            own = None if legs is None else legs[sequences[: len(rows) // 2]]
            position.batch += 1
            position.rows += size
            self._buffer_done = position.batch == per_pass * training.passes
            yield GaitPoseBatch(inputs, motions[rows].to(self.device), own)

    def _rows(self, rows: Tensor) -> Tensor:
        """Return `rows` (B,), or their first half and the frame after each of it."""
        if not self.config.loss.pairs:
            return rows
        first = rows[: len(rows) // 2]
        first = first - (first % FRAMES == FRAMES - 1).long()
        return torch.cat([first, first + 1])

    def header(self, progress: FitProgress) -> GaitNetMetadata:
        """Return the header of a model file."""
        data = self.data
        run = self.config.replace(
            data=[place.rstrip("/").split("/")[-1] for place in self.config.data]
        ).model_dump(mode="json")
        run["training"].pop("output")
        by_subject = self.config.dataset.split == "subject"
        return describe_gait_net(
            self.network,
            is_cascaded=data.is_cascaded,
            training={
                "run": run,
                "steps": progress.step,
                "epochs": progress.epoch,
                "rows": self.position.rows,
                "validation": {
                    k: v for k, v in progress.scores.items() if k != "error"
                },
                "held": data.held(),
                "sequences": {
                    name: data.count(name) for name in ("train", "validation", "test")
                },
                "test_subjects": sorted(data.table("test")) if by_subject else [],
            },
            command=self._command,
        )

    def _measure(self) -> None:
        """Give the network the statistics of the data."""
        with self.stream:
            part: GaitSet = self.stream.buffer(0, 0)
        count = len(part) * FRAMES
        rows = np.linspace(0, count - 1, min(MAX_STATISTICS, count)).astype(np.int64)
        phase = self._phases[torch.from_numpy(rows % PER_CYCLE)]
        params = torch.from_numpy(part.params[rows // FRAMES]).to(self.device)
        poses = torch.from_numpy(part.motions.reshape(count, -1)[rows])
        with torch.no_grad():
            inputs = torch.cat([params, phase], dim=1)
            self.network.set_statistics(inputs, poses.to(self.device))

    def _warn_of_asymmetry(self) -> None:
        """Warn where mirrored data would contradict the data."""
        off = asymmetry(load_part(self.data, "train", MAX_VALIDATION).motions)
        if off > MAX_ASYMMETRY:
            log.warning(
                "dataset.mirror: the mean gait is %.1f deg off its mirror image; "
                "leave mirror false where gaits differ between the sides",
                off,
            )

    def _fingerprint(self) -> list[list[int]]:
        """Return length and checksum of each data file."""
        return [[len(head), head.crc] for head in self.data.heads]


def _has_fast_half_precision(device: torch.device) -> bool:
    """Return whether `device` multiplies half-precision matrices faster than others."""
    if device.type == "cpu":
        return bool(torch.cpu.get_capabilities().get("amx_bf16", False))
    return device.type == "cuda"
