"""Training of the muscle network on what muscles were asked: it learns, and resumes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest

from ambulo.configs.arrays import Floats
from ambulo.configs.muscle import MuscleNNConfig, MuscleUpdatesConfig
from ambulo.muscle.conditions import condition
from ambulo.muscle.muscle_nn import MuscleNN, group_factors
from ambulo.muscle.muscles import MuscleLayer
from ambulo.muscle.sampling import feasible_targets, sample_muscles
from ambulo.train.muscle.fitting import Fitting
from ambulo.train.muscle.trainer import MuscleTrainer
from ambulo.train.muscle.training import train_muscle_nn

Load = Callable[[str], mujoco.MjModel]
SMALL = MuscleNNConfig(
    hidden=(32,), steps=5, poses=100, batch_size=32, torque_scale=10.0, corrections=0
)
UPDATES = MuscleUpdatesConfig(
    steps=20, batch_size=64, learning_rate=3e-3, capacity=128, keep=0.5
)


@pytest.fixture
def elbow(packaged: Load) -> tuple[MuscleNN, Floats, Floats]:
    """A network that has hardly learnt, and 200 tuples."""
    layer = MuscleLayer(packaged("myoelbow"))
    network = train_muscle_nn(layer, SMALL, 0)
    samples = sample_muscles(layer, 200, np.random.default_rng(1))
    return network, samples.active, feasible_targets(samples, np.random.default_rng(2))


@pytest.mark.integration
def test_the_loss_falls_over_the_updates(
    elbow: tuple[MuscleNN, Floats, Floats],
) -> None:
    network, active, wanted = elbow
    trainer = MuscleTrainer(network, UPDATES, 0)
    losses = []
    for _ in range(10):
        trainer.see(active, wanted)
        losses.append(trainer.train(UPDATES.steps).mean())
    assert losses[-1] < 0.5 * losses[0]
    error = np.einsum("bim,bm->bi", active, trainer.network.activations(active, wanted))
    before = np.einsum("bim,bm->bi", active, network.activations(active, wanted))
    assert np.abs(error - wanted).mean() < 0.6 * np.abs(before - wanted).mean()


def test_a_restored_trainer_goes_on_bit_for_bit(
    elbow: tuple[MuscleNN, Floats, Floats],
) -> None:
    network, active, wanted = elbow
    one = MuscleTrainer(network, UPDATES, 0)
    one.see(active, wanted)
    one.train(3)
    two = MuscleTrainer(one.network, UPDATES, 7)
    two.load_state_dict(one.state_dict())
    for trainer in (one, two):
        trainer.see(active, 0.5 * wanted)
        trainer.train(3)
    for a, b in zip(one.network.weights, two.network.weights, strict=True):
        np.testing.assert_array_equal(a, b)


def test_keeps_the_newest_and_nothing_that_is_not_finite(
    elbow: tuple[MuscleNN, Floats, Floats],
) -> None:
    network, active, wanted = elbow
    trainer = MuscleTrainer(network, UPDATES.replace(keep=1.0), 0)
    assert len(trainer.train(5)) == 0
    spoilt = wanted.copy()
    spoilt[::2] = np.nan
    trainer.see(active, spoilt)
    kept = trainer.state_dict()
    assert kept["seen"][0] == 100
    assert np.isfinite(kept["wanted"]).all()
    trainer.see(active, wanted)
    newest = trainer.state_dict()["wanted"]
    assert trainer.state_dict()["seen"][0] == 300
    np.testing.assert_allclose(newest[:44], wanted[156:].astype(np.float32))
    with pytest.raises(ValueError, match="shape"):
        MuscleTrainer(network, UPDATES.replace(capacity=64), 0).load_state_dict(kept)


def test_a_conditioned_network_learns_of_the_muscles_that_were_asked(
    packaged: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = MuscleLayer(packaged("myoelbow"))
    network = train_muscle_nn(layer, SMALL.replace(weakness=(0.3, 1.0)), 0)
    samples = sample_muscles(layer, 20, np.random.default_rng(1))
    wanted = feasible_targets(samples, np.random.default_rng(2))
    state = condition(layer.table.names, {layer.table.names[0]: 0.4})
    factors = group_factors(layer.table.names, state)
    assert factors.shape == (2 * len(network.groups),)
    assert factors.min() < 1.0
    seen = []
    step = Fitting.step

    def watched(fitting: Fitting, *arguments: Any) -> float:
        seen.append(arguments[2])
        return step(fitting, *arguments)

    monkeypatch.setattr(Fitting, "step", watched)
    trainer = MuscleTrainer(network, UPDATES, 0, factors)
    trainer.see(samples.active, wanted)
    assert len(trainer.train(2)) == 2
    np.testing.assert_allclose(seen[0].numpy(), np.tile(factors, (64, 1)), rtol=1e-6)
