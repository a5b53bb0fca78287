"""Further training of a muscle network on torques of roll-outs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ambulo.configs.arrays import Floats
from ambulo.configs.muscle import MuscleUpdatesConfig
from ambulo.muscle.muscle_nn import MuscleNN
from ambulo.policies.networks.muscle_net import MuscleNet
from ambulo.train.muscle.fitting import Fitting, random_targets
from ambulo.train.shared.optimizer_state import optimizer_arrays, restore_optimizer


class MuscleTrainer:
    """Trains a network further on the torques that roll-outs requested."""

    def __init__(
        self,
        network: MuscleNN,
        config: MuscleUpdatesConfig,
        seed: int,
        factors: Floats | None = None,
    ) -> None:
        """Start with the weights of `network`.

        Args:
            network: Initial weights, and everything that stays.
            config: Sizes of buffer, batches and steps.
            seed: Of all random choices.
            factors: Condition of the muscle groups in the roll-outs, (2 G,); None:
                healthy.
        """
        self._factors: Tensor | None = None
        if factors is not None and network.scales.conditioned:
            self._factors = torch.from_numpy(factors.astype(np.float32))
        self._network, self._config = network, config
        rows, count = network.pattern.shape
        with torch.random.fork_rng(devices=[]):
            inputs = network.weights[0].shape[1]
            net = MuscleNet(inputs, count, network.config.hidden)
        net.copy_from(network)
        self._fitting = Fitting(net, network.pattern, network.scales, network.config)
        self._draw = torch.Generator().manual_seed(seed)
        size = len(network.pattern.rows)
        self._values = np.zeros((config.capacity, size), np.float32)
        self._targets = np.zeros((config.capacity, rows), np.float32)
        self._seen = np.zeros(1, np.int64)

    @property
    def network(self) -> MuscleNN:
        """The network with its current weights."""
        weights, biases = self._fitting.net.arrays()
        return dataclasses.replace(self._network, weights=weights, biases=biases)

    def see(self, active: Floats, target: Floats) -> None:
        """Keep a random part of JtA (N, na, m) and target torques (N, na), [N m]."""
        drawn = torch.rand(len(target), generator=self._draw).numpy()
        finite = np.isfinite(target).all(axis=1) & np.isfinite(active).all(axis=(1, 2))
        picked = np.flatnonzero((drawn < self._config.keep) & finite)
        slots = (self._seen[0] + np.arange(len(picked))) % self._config.capacity
        self._values[slots] = self._network.pattern.reduce(active[picked])
        self._targets[slots] = target[picked]
        self._seen += len(picked)

    def train(self, steps: int) -> Floats:
        """Take gradient steps; return their losses, (steps,), or none without tuples."""
        filled = min(int(self._seen[0]), self._config.capacity)
        losses = []
        for _ in range(steps if filled else 0):
            size = self._config.batch_size
            index = torch.randint(filled, (size,), generator=self._draw).numpy()
            active = self._fitting.full(torch.from_numpy(self._values[index]))
            target = torch.from_numpy(self._targets[index])
            target[size // 2 :] = random_targets(active, self._draw)[size // 2 :]
            rate = self._config.learning_rate
            factors = None if self._factors is None else self._factors.expand(size, -1)
            losses.append(self._fitting.step(active, target, factors, rate))
        return np.array(losses)

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return copies of everything besides the network that later steps depend on."""
        return {
            "values": self._values.copy(),
            "wanted": self._targets.copy(),
            "seen": self._seen.copy(),
            "random": self._draw.get_state().numpy().copy(),
            **optimizer_arrays(self._fitting.net, self._fitting.optimizer),
        }

    def load_state_dict(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state_dict`; `KeyError` or `ValueError` where it does not fit."""
        for name, array in (("values", self._values), ("wanted", self._targets)):
            if arrays[name].shape != array.shape:
                raise ValueError(f"{name} has another shape than {array.shape}")
            array[...] = arrays[name]
        self._seen[:] = arrays["seen"]
        self._draw.set_state(torch.from_numpy(np.array(arrays["random"], np.uint8)))
        restore_optimizer(self._fitting.net, self._fitting.optimizer, arrays)
