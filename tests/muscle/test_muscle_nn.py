"""The muscle network: learns, equals its torch twin, and lives in a safe file."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
import torch

from ambulo.configs.errors import MuscleError
from ambulo.configs.muscle import MuscleNNConfig
from ambulo.muscle.muscle_nn import MuscleNN, load_muscle_nn, save_muscle_nn
from ambulo.muscle.muscles import MuscleLayer
from ambulo.muscle.sampling import MuscleSamples, feasible_targets, sample_muscles
from ambulo.policies.networks.muscle_net import activations
from ambulo.train.muscle.training import train_muscle_nn

Load = Callable[[str], mujoco.MjModel]
SMALL = MuscleNNConfig(
    hidden=(32, 32),
    steps=300,
    poses=200,
    batch_size=64,
    torque_scale=10.0,
    corrections=0,
)


def error_of(network: MuscleNN, samples: MuscleSamples) -> float:
    """Torque error over the torque on feasible targets, both RMS."""
    wanted = feasible_targets(samples, np.random.default_rng(5))
    made = network.activations(samples.active, wanted)
    error = np.einsum("bim,bm->bi", samples.active, made) - wanted
    return float(np.sqrt((error**2).mean() / (wanted**2).mean()))


@pytest.mark.integration
def test_training_learns_and_corrections_help(packaged: Load) -> None:
    layer = MuscleLayer(packaged("myofinger"))
    samples = sample_muscles(layer, 100, np.random.default_rng(9))
    unborn = train_muscle_nn(layer, SMALL.replace(steps=1), 0)
    trained = train_muscle_nn(layer, SMALL.replace(learning_rate=5e-3), 0)
    assert error_of(trained, samples) < 0.7 * error_of(unborn, samples)
    helped = dataclasses.replace(trained, config=SMALL.replace(corrections=2))
    assert error_of(helped, samples) < 0.5 * error_of(trained, samples)
    again = train_muscle_nn(layer, SMALL.replace(learning_rate=5e-3), 0)
    for one, two in zip(trained.weights, again.weights, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    "changes",
    [{"output": "relu_tanh"}, {"corrections": 0}, {"corrections": 2},
     {"weakness": (0.3, 1.0), "corrections": 1}],
)  # fmt: skip
def test_numpy_equals_torch(packaged: Load, changes: dict[str, object]) -> None:
    layer = MuscleLayer(packaged("myofinger"))
    config = SMALL.replace(steps=5, poses=50, **changes)
    network = train_muscle_nn(layer, config, 1)
    samples = sample_muscles(layer, 8, np.random.default_rng(2))
    wanted = feasible_targets(samples, np.random.default_rng(3))
    made = network.activations(samples.active, wanted)
    assert made.shape == (8, 5)
    assert ((made >= 0.0) & (made <= 1.0)).all()
    scales = network.scales
    parts = [(samples.values - scales.mean) / scales.values, wanted / scales.torque]
    if scales.conditioned:
        parts.append(np.zeros((8, 2 * len(network.groups))))
    x = torch.from_numpy(np.concatenate(parts, axis=1))
    for k, (weight, bias) in enumerate(
        zip(network.weights, network.biases, strict=True)
    ):
        x = x @ torch.from_numpy(weight.T).double() + torch.from_numpy(bias)
        if k < len(network.weights) - 1:
            x = torch.nn.functional.leaky_relu(x, 0.2)
    twin = activations(
        x, torch.from_numpy(samples.active), torch.from_numpy(wanted), config
    )
    np.testing.assert_allclose(made, twin.numpy(), atol=1e-4)


def test_factors_are_an_input(packaged: Load) -> None:
    layer = MuscleLayer(packaged("myofinger"))
    config = SMALL.replace(steps=50, weakness=(0.3, 1.0), shortness=(0.9, 1.0))
    network = train_muscle_nn(layer, config, 1)
    samples = sample_muscles(layer, 3, np.random.default_rng(2))
    wanted = feasible_targets(samples, np.random.default_rng(3))
    healthy = network.activations(samples.active, wanted)
    ones = np.ones((3, 2 * len(network.groups)))
    same = network.activations(samples.active, wanted, ones)
    np.testing.assert_array_equal(healthy, same)
    weak = network.activations(samples.active, wanted, 0.5 * ones)
    assert np.abs(weak - healthy).max() > 1e-3


def test_file_keeps_everything(packaged: Load, tmp_path: Path) -> None:
    network = train_muscle_nn(
        MuscleLayer(packaged("myoelbow")), SMALL.replace(steps=2), 0
    )
    path = tmp_path / "elbow.safetensors"
    save_muscle_nn(path, network)
    loaded = load_muscle_nn(path)
    assert (loaded.config, loaded.muscles) == (network.config, network.muscles)
    active, wanted = np.full((2, 1, 6), 3.0), np.array([[1.0], [9.0]])
    np.testing.assert_array_equal(
        loaded.activations(active, wanted), network.activations(active, wanted)
    )
    assert [entry.name for entry in tmp_path.iterdir()] == ["elbow.safetensors"]


def test_bad_files_are_named(packaged: Load, tmp_path: Path) -> None:
    network = train_muscle_nn(
        MuscleLayer(packaged("myoelbow")), SMALL.replace(steps=2), 0
    )
    path = tmp_path / "x.safetensors"
    with pytest.raises(MuscleError, match="no such muscle network"):
        load_muscle_nn(path)
    path.write_bytes(b"not tensors at all")
    with pytest.raises(MuscleError, match="cannot be read"):
        load_muscle_nn(path)
    bad = np.array(network.weights[1])
    bad[0, 0] = np.nan
    save_muscle_nn(
        path, dataclasses.replace(network, weights=(network.weights[0], bad, bad))
    )
    with pytest.raises(MuscleError, match=r"layer\.1\.weight has values that are not"):
        load_muscle_nn(path)
    fewer = dataclasses.replace(network, biases=network.biases[::-1])
    save_muscle_nn(path, fewer)
    with pytest.raises(MuscleError, match=r"layer\.0\.bias: expected \(32,\)"):
        load_muscle_nn(path)
    import safetensors.numpy

    path.write_bytes(safetensors.numpy.save({"a": np.zeros(2)}))
    with pytest.raises(MuscleError, match="not a muscle network"):
        load_muscle_nn(path)
    with pytest.raises(MuscleError, match=r"expected JtA \(B, 1, 6\)"):
        network.activations(np.zeros((1, 2, 6)), np.zeros((1, 2)))
