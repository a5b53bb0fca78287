"""Training of the muscle network, with torch; see `muscle_nn` for what it is."""

from __future__ import annotations

import logging
import math

import numpy as np
import torch
from torch import Tensor, nn

from ambulo.configs.muscle import MuscleNNConfig
from ambulo.muscle.muscle_nn import LEAK, OFFSET, SLACK, SOFT, MuscleNN, Scales, Singles
from ambulo.muscle.muscles import MuscleLayer
from ambulo.muscle.sampling import MuscleSamples, muscle_groups, sample_muscles

_log = logging.getLogger(__name__)

_MISSED = 0.25
"""Share of training targets that are pushed off what muscles can make."""


class MuscleNet(nn.Module):
    """The trunk of the network; the output's form is applied by `activations`."""

    def __init__(self, inputs: int, outputs: int, hidden: tuple[int, ...]) -> None:
        """Layers with Xavier weights and zero bias, as published."""
        super().__init__()
        layers: list[nn.Module] = []
        for width in hidden:
            layers += [nn.Linear(inputs, width), nn.LeakyReLU(LEAK)]
            inputs = width
        layers.append(nn.Linear(inputs, outputs))
        for layer in layers:
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """Raw outputs, (B, outputs)."""
        return self.layers(x)


def activations(
    raw: Tensor, active: Tensor, wanted: Tensor, config: MuscleNNConfig
) -> Tensor:
    """Activations (B, m) of raw outputs; the torch twin of `MuscleNN.activations`."""
    if config.output == "relu_tanh":
        return torch.relu(torch.tanh(raw))
    made = torch.sigmoid(raw - OFFSET)
    for _ in range(config.corrections):
        free = made * (1.0 - made) + SLACK
        scaled = active * free[:, None, :]
        error = wanted - torch.einsum("bim,bm->bi", active, made)
        matrix = scaled @ active.mT + SOFT * torch.eye(active.shape[1])
        push = torch.linalg.solve(matrix, error)
        made = (made + torch.einsum("bim,bi->bm", scaled, push)).clamp(0.0, 1.0)
    return made


def train_muscle_nn(
    layer: MuscleLayer,
    config: MuscleNNConfig,
    seed: int,
    samples: MuscleSamples | None = None,
) -> MuscleNN:
    """A network for the muscles of `layer`; the same for the same seed and machine.

    Args:
        layer: of the model.
        config: of the network and its training.
        seed: of poses, targets and weights.
        samples: poses of roll-outs to use instead of random ones.
    """
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    if samples is None:
        samples = sample_muscles(
            layer, config.poses, rng,
            weakness=config.weakness, shortness=config.shortness,
        )  # fmt: skip
    names, _ = muscle_groups(layer.table.names)
    scales = _scales(samples, config)
    rows, count = samples.pattern.shape
    inputs = len(scales.values) + rows + (2 * len(names) if scales.conditioned else 0)
    net = MuscleNet(inputs, count, config.hidden)
    _fit(net, samples, scales, config, seed)
    weights: list[Singles] = []
    biases: list[Singles] = []
    for part in net.layers:
        if isinstance(part, nn.Linear):
            weights.append(part.weight.detach().numpy().copy())
            biases.append(part.bias.detach().numpy().copy())
    return MuscleNN(
        config=config,
        muscles=layer.table.names,
        groups=names,
        pattern=samples.pattern,
        scales=scales,
        weights=tuple(weights),
        biases=tuple(biases),
    )


def _scales(samples: MuscleSamples, config: MuscleNNConfig) -> Scales:
    """What the inputs are divided by, from the training poses."""
    spread = np.sqrt((samples.active**2).sum(axis=2).mean(axis=0))
    healthy = config.weakness == (1.0, 1.0) and config.shortness == (1.0, 1.0)
    return Scales(
        mean=samples.values.mean(axis=0).astype(np.float32),
        values=(samples.values.std(axis=0) + 1e-3).astype(np.float32),
        torque=(spread + 1e-3).astype(np.float32),
        conditioned=not healthy,
    )


def _fit(
    net: MuscleNet,
    samples: MuscleSamples,
    scales: Scales,
    config: MuscleNNConfig,
    seed: int,
) -> None:
    """Gradient steps on fresh targets in the poses of `samples`."""
    draw = torch.Generator().manual_seed(seed)
    values = torch.from_numpy(samples.values.astype(np.float32))
    groups = torch.from_numpy(samples.groups.astype(np.float32))
    normal = (values - torch.from_numpy(scales.mean)) / torch.from_numpy(scales.values)
    torque_scale = torch.from_numpy(scales.torque)
    rows, count = samples.pattern.shape
    flat = torch.from_numpy(samples.pattern.rows * count + samples.pattern.muscles)
    optimiser = torch.optim.Adam(net.parameters(), lr=config.learning_rate)
    size = config.batch_size
    for step in range(config.steps):
        share = step / config.steps
        for group in optimiser.param_groups:
            warm = min(1.0, (step + 1) / 100)
            cosine = 0.5 * (1.0 + math.cos(math.pi * share))
            group["lr"] = config.learning_rate * warm * cosine
        index = torch.randint(len(values), (size,), generator=draw)
        active = torch.zeros(size, rows * count)
        active[:, flat] = values[index]
        active = active.view(size, rows, count)
        wanted = _targets(active, draw)
        parts = [normal[index], wanted / torque_scale]
        if scales.conditioned:
            parts.append(groups[index] - 1.0)
        raw = net(torch.cat(parts, dim=1))
        made = activations(raw, active, wanted, config)
        error = (
            torch.einsum("bim,bm->bi", active, made) - wanted
        ) / config.torque_scale
        loss = error.square().mean() + config.activation_weight * made.square().mean()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        if step % 500 == 0:
            _log.info("step %d of %d: loss %.5f", step, config.steps, loss.item())


def _targets(active: Tensor, draw: torch.Generator) -> Tensor:
    """Active torques (B, na): most of them feasible, some pushed off, [N m].

    The feasible ones are drawn as in `sampling.random_activations`.
    """
    size, _, count = active.shape
    level = torch.rand(size, 1, generator=draw)
    share = 0.2 + 0.8 * torch.rand(size, 1, generator=draw)
    used = torch.rand(size, count, generator=draw) < share
    drawn = level * used * torch.rand(size, count, generator=draw)
    wanted = torch.einsum("bim,bm->bi", active, drawn)
    off = torch.rand(size, 1, generator=draw) < _MISSED
    noise = torch.randn(wanted.shape, generator=draw)
    return wanted + off * noise * 0.5 * wanted.abs().mean(dim=1, keepdim=True)
