"""The training of a muscle network: its task.

See `muscle_nn` for the network. Every update draws poses and torques from one generator,
whose state is in checkpoints, so that a resumed run continues exactly as an uninterrupted
one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from ambulo.common.console import Display
from ambulo.common.signals import StopRequest
from ambulo.configs.jobs import Apply, here
from ambulo.configs.muscle import MuscleNNConfig, MuscleRunConfig, MuscleTrainingConfig
from ambulo.muscle.activation import next_activation, time_constants
from ambulo.muscle.muscle_nn import (
    MuscleNN,
    Scales,
    muscle_groups,
    muscle_nn_bytes,
    save_muscle_nn,
)
from ambulo.muscle.muscles import MuscleLayer
from ambulo.muscle.sampling import MuscleSamples, feasible_targets, sample_muscles
from ambulo.policies.device import start_torch
from ambulo.policies.files.model_file import ModelFile, TrainingState, save_model
from ambulo.policies.kinds.locomotion import MUSCLES
from ambulo.policies.kinds.muscle_training import MuscleTrainingMetadata
from ambulo.policies.networks.muscle_net import MuscleNet
from ambulo.train.muscle.fitting import Fitting, random_targets
from ambulo.train.shared.fit_settings import FitSettings
from ambulo.train.shared.supervised import (
    Arrays,
    FitProgress,
    SupervisedRun,
    SupervisedTask,
)

WARMUP_STEPS = 100
"""Updates in which the step size rises."""
VALIDATION_STREAM = 1
"""Separates the random stream of the validation from that of the training."""


@dataclass(frozen=True)
class MuscleBatch:
    """Torques of B poses."""

    active: Tensor
    """JtA. Shape (B, na, m), [N m]."""
    target: Tensor
    """Active torques. Shape (B, na), [N m]."""
    factors: Tensor | None
    """Force, then length factors of the muscle groups, for a conditioned network.
    Shape (B, 2 G)."""


class MuscleTask(SupervisedTask[MuscleBatch]):
    """Activations of muscles from the torques that they shall make."""

    network: MuscleNet

    def __init__(
        self,
        layer: MuscleLayer,
        config: MuscleNNConfig,
        training: MuscleTrainingConfig,
        *,
        samples: MuscleSamples | None = None,
        run: MuscleRunConfig | None = None,
        command: str = "",
        apply: Apply = here,
    ) -> None:
        """Draw poses, build the network and its optimiser.

        Args:
            layer: Muscles of a body.
            config: The network, its data and its optimiser.
            training: The run.
            samples: Poses of roll-outs, instead of random ones.
            run: All settings, for checkpoints.
            command: Command line, for checkpoints.
            apply: Runs the jobs that make the random poses.
        """
        self.config, self._training = config, training
        self.device = start_torch(training.device, training.seed, training.threads)
        self.settings = FitSettings(
            epochs=math.ceil(config.steps / training.epoch_steps),
            learning_rate=config.learning_rate,
            save_every=training.save_every,
        )
        self._run, self._command = run, command
        rng = np.random.default_rng(training.seed)
        if samples is None:
            samples = sample_muscles(
                layer, config.poses, rng,
                weakness=config.weakness, shortness=config.shortness, apply=apply,
            )  # fmt: skip
        self._muscles, self._pattern = layer.table.names, samples.pattern
        self._names, _ = muscle_groups(self._muscles)
        self._scales = scales = _scales(samples, config)
        rows, count = samples.pattern.shape
        inputs = len(scales.values) + rows
        inputs += 2 * len(self._names) if scales.conditioned else 0
        self.network = MuscleNet(inputs, count, config.hidden)
        self._fitting = Fitting(self.network, samples.pattern, scales, config)
        self.optimizer = self._fitting.optimizer
        self._constants = np.ones((2, count))
        if config.reach > 0.0:
            self._constants = time_constants(layer.model, layer.table.actuator)
        self._draw = torch.Generator().manual_seed(training.seed)
        self._values = torch.from_numpy(samples.values.astype(np.float32))
        self._groups = torch.from_numpy(samples.groups.astype(np.float32))
        self._validation = self._held_out(layer) if training.validation_poses else None
        self.total_steps = config.steps

    def batches(self, epoch: int, step: int) -> Iterator[MuscleBatch]:
        """Yield random poses with fresh targets."""
        size = self.config.batch_size
        end = min((epoch + 1) * self._training.epoch_steps, self.total_steps)
        for _ in range(step, end):
            index = torch.randint(len(self._values), (size,), generator=self._draw)
            active = self._fitting.full(self._values[index])
            active = active * self._reachable(size, active.shape[2])
            target = random_targets(active, self._draw)
            factors = self._groups[index] if self._scales.conditioned else None
            yield MuscleBatch(active, target, factors)

    def loss(self, batch: MuscleBatch, step: int) -> Mapping[str, Tensor]:
        """Return scaled torque error, activation, and their weighted sum."""
        return self._fitting.terms(batch.active, batch.target, batch.factors)

    def validate(self, network: nn.Module) -> tuple[float, dict[str, float]] | None:
        """Return loss, torque error [N m] and mean squared activation on other poses.

        `network` is the one that learns: the run has no moving average.
        """
        if self._validation is None:
            return None
        with torch.no_grad():
            terms = {k: float(v) for k, v in self.loss(self._validation, 0).items()}
        rms = self.config.torque_scale * math.sqrt(terms["torque"])
        scores = {"torque_error_rms": rms, "effort": terms["effort"]}
        return terms["loss"], {"loss": terms["loss"], **scores}

    def rate(self, step: int) -> float:
        """Return the product of a ramp and a cosine that falls to 0."""
        warm = min(1.0, (step + 1) / WARMUP_STEPS)
        cosine = 0.5 * (1.0 + math.cos(math.pi * (step / self.total_steps)))
        return self.settings.learning_rate * warm * cosine

    def model(self, network: nn.Module, corrections: int | None = None) -> MuscleNN:
        """Return `network` as a model, with other `corrections` than in training or None."""
        config = self.config
        if corrections is not None:
            config = config.replace(corrections=corrections)
        weights, biases = cast(MuscleNet, network).arrays()
        return MuscleNN(
            config=config,
            muscles=self._muscles,
            groups=self._names,
            pattern=self._pattern,
            scales=self._scales,
            weights=weights,
            biases=biases,
        )

    def save(
        self,
        path: Path,
        network: nn.Module,
        progress: FitProgress,
        state: TrainingState | None,
    ) -> None:
        """Write a file of tensors, or a checkpoint, which holds that file."""
        model = self.model(network, self._training.final_corrections)
        if state is None:
            save_muscle_nn(path, model)
            return
        assert self._run is not None
        metadata = MuscleTrainingMetadata.describe(
            self._run, steps=progress.step, command=self._command
        )
        files = {MUSCLES: muscle_nn_bytes(model)}
        save_model(path, ModelFile(metadata, {}, state, files))

    def arrays(self) -> Arrays:
        """Return the state of the generator."""
        return {"random": self._draw.get_state().numpy().copy()}

    def restore(self, arrays: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
        """Continue with the generator of a checkpoint."""
        self._draw.set_state(arrays["random"])

    def _held_out(self, layer: MuscleLayer) -> MuscleBatch:
        """Return feasible torques in random poses that are not trained on."""
        config, training = self.config, self._training
        rng = np.random.default_rng([training.seed, VALIDATION_STREAM])
        samples = sample_muscles(
            layer, training.validation_poses, rng, pattern=self._pattern,
            weakness=config.weakness, shortness=config.shortness,
        )  # fmt: skip
        values = torch.from_numpy(samples.values.astype(np.float32))
        target = feasible_targets(samples, rng).astype(np.float32)
        groups = torch.from_numpy(samples.groups.astype(np.float32))
        factors = groups if self._scales.conditioned else None
        return MuscleBatch(
            self._fitting.full(values), torch.from_numpy(target), factors
        )

    def _reachable(self, size: int, count: int) -> Tensor:
        """Return by how much activations can change until the next request, in [0, 1].

        Without lag, 1; else what activation dynamics allow from random activations. Shape
        (B, 1, m).
        """
        config, draw = self.config, self._draw
        level = torch.rand(size, 1, generator=draw)
        now = (level * torch.rand(size, count, generator=draw)).double().numpy()
        low, high = now, now
        for _ in range(2):
            half = 0.5 * config.reach_time
            low = next_activation(low, np.zeros_like(low), self._constants, half)
            high = next_activation(high, np.ones_like(high), self._constants, half)
        reach = np.clip(high, 0.0, 1.0) - np.clip(low, 0.0, 1.0)
        lags = torch.rand(size, 1, generator=draw) < config.reach
        return torch.where(lags, torch.from_numpy(reach).float(), 1.0)[:, None]


def train_muscle_nn(
    layer: MuscleLayer,
    config: MuscleNNConfig,
    seed: int,
    samples: MuscleSamples | None = None,
) -> MuscleNN:
    """Return a network for the muscles of `layer`; the same for the same seed and machine.

    Args:
        layer: Muscles of a body.
        config: The network and its training.
        seed: Of poses, targets and weights.
        samples: Poses of roll-outs, instead of random ones.
    """
    training = MuscleTrainingConfig(seed=seed, validation_poses=0)
    task = MuscleTask(layer, config, training, samples=samples)
    run = SupervisedRun(task, None)
    run.train(Display(), StopRequest())
    return task.model(run.network)


def _scales(samples: MuscleSamples, config: MuscleNNConfig) -> Scales:
    """Return the divisors of the inputs, from the training poses."""
    spread = np.sqrt((samples.active**2).sum(axis=2).mean(axis=0))
    healthy = config.weakness == (1.0, 1.0) and config.shortness == (1.0, 1.0)
    return Scales(
        mean=samples.values.mean(axis=0).astype(np.float32),
        values=(samples.values.std(axis=0) + 1e-3).astype(np.float32),
        torque=(spread + 1e-3).astype(np.float32),
        conditioned=not healthy,
    )
