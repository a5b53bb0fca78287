"""Training of the muscle network, with torch; see `muscle_nn` for what it is."""

from __future__ import annotations

import dataclasses
import logging
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ambulo.configs.arrays import Floats, Singles
from ambulo.configs.muscle import MuscleNNConfig, MuscleUpdatesConfig
from ambulo.muscle.activation import next_activation, time_constants
from ambulo.muscle.muscle_nn import LEAK, OFFSET, SLACK, SOFT, MuscleNN, Scales
from ambulo.muscle.muscles import MuscleLayer
from ambulo.muscle.sampling import (
    MuscleSamples,
    ReducedPattern,
    muscle_groups,
    sample_muscles,
)

_log = logging.getLogger(__name__)

_MISSED = 0.25
"""Share of training targets that are pushed off what muscles can make."""


class MuscleNet(nn.Module):
    """The trunk of the network; the output's form is applied by `activations`."""

    def __init__(self, inputs: int, outputs: int, hidden: tuple[int, ...]) -> None:
        """Layers with Xavier weights and zero bias, as published."""
        super().__init__()
        self.inputs = inputs
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

    def arrays(self) -> tuple[tuple[Singles, ...], tuple[Singles, ...]]:
        """Copies of the weights (out, in) and biases (out,) of each layer."""
        parts = self._linear()
        return (
            tuple(part.weight.detach().numpy().copy() for part in parts),
            tuple(part.bias.detach().numpy().copy() for part in parts),
        )

    def take(self, network: MuscleNN) -> None:
        """Take over the weights of `network`."""
        with torch.no_grad():
            for part, weight, bias in zip(
                self._linear(), network.weights, network.biases, strict=True
            ):
                part.weight.copy_(torch.from_numpy(weight))
                part.bias.copy_(torch.from_numpy(bias))

    def _linear(self) -> list[nn.Linear]:
        return [part for part in self.layers if isinstance(part, nn.Linear)]


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
    constants = np.ones((2, count))
    if config.reach > 0.0:
        constants = time_constants(layer.model, layer.table.actuator)
    _fit(net, samples, scales, constants, config, seed)
    weights, biases = net.arrays()
    return MuscleNN(
        config=config,
        muscles=layer.table.names,
        groups=names,
        pattern=samples.pattern,
        scales=scales,
        weights=weights,
        biases=biases,
    )


class Fitting:
    """Gradient steps of one network on tuples that a caller brings."""

    def __init__(
        self,
        net: MuscleNet,
        pattern: ReducedPattern,
        scales: Scales,
        config: MuscleNNConfig,
    ) -> None:
        """An Adam of its own for `net`."""
        self.net, self._config, self._scales = net, config, scales
        self._shape = pattern.shape
        flat = pattern.rows * pattern.shape[1] + pattern.muscles
        self._flat = torch.from_numpy(flat)
        self._mean = torch.from_numpy(scales.mean)
        self._values = torch.from_numpy(scales.values)
        self._torque = torch.from_numpy(scales.torque)
        self.optimiser = torch.optim.Adam(net.parameters())

    def full(self, values: Tensor) -> Tensor:
        """JtA (B, na, m) of its entries (B, P)."""
        active = torch.zeros(len(values), self._shape[0] * self._shape[1])
        active[:, self._flat] = values
        return active.view(-1, *self._shape)

    def step(
        self, active: Tensor, wanted: Tensor, factors: Tensor | None, rate: float
    ) -> float:
        """One step; the loss before it.

        Args:
            active: JtA, (B, na, m), [N m].
            wanted: active torques, (B, na), [N m].
            factors: of the muscle groups, (B, 2 G), for a conditioned network.
            rate: learning rate.
        """
        config = self._config
        values = active.flatten(1)[:, self._flat]
        parts = [(values - self._mean) / self._values, wanted / self._torque]
        if self._scales.conditioned:
            groups = (self.net.inputs - sum(part.shape[1] for part in parts),)
            parts.append(
                torch.zeros(len(wanted), *groups) if factors is None else factors - 1.0
            )
        made = activations(self.net(torch.cat(parts, dim=1)), active, wanted, config)
        error = torch.einsum("bim,bm->bi", active, made) - wanted
        scaled = (error / config.torque_scale).square().mean()
        loss = scaled + config.activation_weight * made.square().mean()
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimiser.step()
        return float(loss.item())


class MuscleTrainer:
    """Trains a network further on what muscles were asked in roll-outs."""

    def __init__(
        self,
        network: MuscleNN,
        config: MuscleUpdatesConfig,
        seed: int,
        factors: Floats | None = None,
    ) -> None:
        """Begin with `network`.

        Args:
            network: what is trained.
            config: how.
            seed: of all random choices.
            factors: condition of the muscle groups that the roll-outs are of, (2 G,);
                healthy if None.
        """
        self._factors: Tensor | None = None
        if factors is not None and network.scales.conditioned:
            self._factors = torch.from_numpy(factors.astype(np.float32))
        self._network, self._config = network, config
        rows, count = network.pattern.shape
        with torch.random.fork_rng(devices=[]):
            inputs = network.weights[0].shape[1]
            net = MuscleNet(inputs, count, network.config.hidden)
        net.take(network)
        self._fitting = Fitting(net, network.pattern, network.scales, network.config)
        self._draw = torch.Generator().manual_seed(seed)
        size = len(network.pattern.rows)
        self._values = np.zeros((config.capacity, size), np.float32)
        self._wanted = np.zeros((config.capacity, rows), np.float32)
        self._seen = np.zeros(1, np.int64)

    @property
    def network(self) -> MuscleNN:
        """The network as it is now."""
        weights, biases = self._fitting.net.arrays()
        return dataclasses.replace(self._network, weights=weights, biases=biases)

    def see(self, active: Floats, wanted: Floats) -> None:
        """Keep some of what is asked: JtA (N, na, m) and torques (N, na), [N m]."""
        drawn = torch.rand(len(wanted), generator=self._draw).numpy()
        asked = np.isfinite(wanted).all(axis=1) & np.isfinite(active).all(axis=(1, 2))
        picked = np.flatnonzero((drawn < self._config.keep) & asked)
        place = (self._seen[0] + np.arange(len(picked))) % self._config.capacity
        self._values[place] = self._network.pattern.reduce(active[picked])
        self._wanted[place] = wanted[picked]
        self._seen += len(picked)

    def train(self, steps: int) -> Floats:
        """Take gradient steps; their losses, (steps,), or none without tuples."""
        have = min(int(self._seen[0]), self._config.capacity)
        losses = []
        for _ in range(steps if have else 0):
            size = self._config.batch_size
            index = torch.randint(have, (size,), generator=self._draw).numpy()
            active = self._fitting.full(torch.from_numpy(self._values[index]))
            wanted = torch.from_numpy(self._wanted[index])
            wanted[size // 2 :] = _targets(active, self._draw)[size // 2 :]
            rate = self._config.learning_rate
            factors = None if self._factors is None else self._factors.expand(size, -1)
            losses.append(self._fitting.step(active, wanted, factors, rate))
        return np.array(losses)

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Copies of everything but the network that later steps depend on."""
        arrays: dict[str, NDArray[Any]] = {
            "values": self._values.copy(),
            "wanted": self._wanted.copy(),
            "seen": self._seen.copy(),
            "random": self._draw.get_state().numpy().copy(),
        }
        for i, state in self._fitting.optimiser.state_dict()["state"].items():
            for key, value in state.items():
                arrays[f"adam.{i}.{key}"] = value.numpy().copy()
        return arrays

    def load_state_dict(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state_dict`; `KeyError` or `ValueError` where it does not fit."""
        for name, array in (("values", self._values), ("wanted", self._wanted)):
            if arrays[name].shape != array.shape:
                raise ValueError(f"{name} has another shape than {array.shape}")
            array[...] = arrays[name]
        self._seen[:] = arrays["seen"]
        self._draw.set_state(torch.from_numpy(np.array(arrays["random"], np.uint8)))
        moments: dict[int, dict[str, Tensor]] = {}
        for name, array in arrays.items():
            kind, _, rest = name.partition(".")
            if kind == "adam":
                index, _, key = rest.partition(".")
                moments.setdefault(int(index), {})[key] = torch.from_numpy(
                    np.array(array)
                )
        optimiser = self._fitting.optimiser
        optimiser.load_state_dict({**optimiser.state_dict(), "state": moments})


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
    constants: Floats,
    config: MuscleNNConfig,
    seed: int,
) -> None:
    """Gradient steps on fresh targets in the poses of `samples`."""
    draw = torch.Generator().manual_seed(seed)
    values = torch.from_numpy(samples.values.astype(np.float32))
    groups = torch.from_numpy(samples.groups.astype(np.float32))
    trainer = Fitting(net, samples.pattern, scales, config)
    size = config.batch_size
    for step in range(config.steps):
        share = step / config.steps
        warm = min(1.0, (step + 1) / 100)
        cosine = 0.5 * (1.0 + math.cos(math.pi * share))
        index = torch.randint(len(values), (size,), generator=draw)
        active = trainer.full(values[index])
        active = active * _spans(size, active.shape[2], constants, config, draw)
        wanted = _targets(active, draw)
        factors = groups[index] if scales.conditioned else None
        loss = trainer.step(
            active, wanted, factors, config.learning_rate * warm * cosine
        )
        if step % 500 == 0:
            _log.info("step %d of %d: loss %.5f", step, config.steps, loss)


def _spans(
    size: int,
    count: int,
    constants: Floats,
    config: MuscleNNConfig,
    draw: torch.Generator,
) -> Tensor:
    """How far muscles can get until they are asked again, (B, 1, m), in [0, 1].

    Where the muscles have no lag, 1; else what activation dynamics allow from random
    activations.
    """
    level = torch.rand(size, 1, generator=draw)
    now = (level * torch.rand(size, count, generator=draw)).double().numpy()
    low, high = now, now
    for _ in range(2):
        half = 0.5 * config.reach_time
        low = next_activation(low, np.zeros_like(low), constants, half)
        high = next_activation(high, np.ones_like(high), constants, half)
    span = torch.from_numpy(np.clip(high, 0.0, 1.0) - np.clip(low, 0.0, 1.0)).float()
    lags = torch.rand(size, 1, generator=draw) < config.reach
    return torch.where(lags, span, 1.0)[:, None]


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
