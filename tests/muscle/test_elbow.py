"""The elbow driven towards a target pose: tracking, capacity, networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import mujoco.batch
import numpy as np
import pytest

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MuscleError
from ambulo.configs.muscle import ActivationCost, MuscleNNConfig, SpdGains
from ambulo.muscle.actuation import MuscleActuation
from ambulo.muscle.dynamics import dynamics_of_batch
from ambulo.muscle.muscles import MuscleLayer
from ambulo.muscle.spd import SpdController
from ambulo.train.muscle.training import train_muscle_nn

Load = Callable[[str], mujoco.MjModel]
GAINS = SpdGains(stiffness=30.0, damping=2.0)
CHEAP = ActivationCost(effort=0.01)
VELOCITY = mujoco.mjtStage.mjSTAGE_VEL


class Elbows:
    """N elbows at given angles, with stable PD and muscle actuation."""

    def __init__(
        self,
        model: mujoco.MjModel,
        angles: list[float],
        gains: SpdGains = GAINS,
        **settings: Any,
    ) -> None:
        self.batch = mujoco.batch.Batch(model, len(angles), 1, persistent=True)
        self.batch.reset()
        self.muscles = MuscleActuation(model, self.batch, **settings)
        self.spd = SpdController(model, gains)
        self.dynamics = dynamics_of_batch(self.batch)
        self.qpos, self.ctrl = self.batch.bind("qpos"), self.batch.bind("ctrl")
        self.qpos[:] = np.array(angles)[:, None]
        self.batch.forward(stage=VELOCITY)

    def apply(self, target: list[float]) -> Floats:
        """Return the torque requested for the targets, (N, 1), after its application."""
        torque, _ = self.spd.torques(self.dynamics, np.array(target)[:, None])
        self.muscles.apply(torque, self.ctrl)
        return torque

    def step(self, target: list[float], steps: int) -> None:
        for _ in range(steps):
            self.apply(target)
            self.batch.step(stage=VELOCITY)


@pytest.mark.integration
def test_elbow_reaches_its_target(packaged: Load) -> None:
    elbow = Elbows(packaged("myoelbow"), [0.0], cost=CHEAP)
    elbow.step([1.2], 400)
    # Gravity leaves what stiffness allows: torque / 30 N m a radian.
    assert abs(elbow.qpos[0, 0] - 1.2) < 0.1
    assert abs(elbow.batch.bind("qvel")[0, 0]) < 0.05
    activation = elbow.muscles.activation
    assert 0.0 <= activation.min() <= activation.max() <= 1.0
    assert np.abs(elbow.muscles.residual).max() < 0.1


@pytest.mark.integration
def test_activations_are_held(packaged: Load) -> None:
    model = packaged("myoelbow")
    elbow = Elbows(model, [0.0], cost=CHEAP, refresh=4)
    elbow.step([1.0], 1)
    first = elbow.muscles.activation.copy()
    elbow.step([2.0], 3)
    np.testing.assert_array_equal(elbow.muscles.activation, first)
    assert elbow.batch.bind("time")[0] == pytest.approx(4 * model.opt.timestep)


def test_torque_stays_in_the_capacity(packaged: Load) -> None:
    model = packaged("myoelbow")
    stiff = SpdGains(stiffness=1e5, damping=100.0)
    elbow = Elbows(model, [0.0], stiff, cost=CHEAP)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    low, high = MuscleLayer(model).at(data).capacity()
    requested = elbow.apply([2.2])
    assert requested[0, 0] > high[0, 0]
    made = requested + elbow.muscles.residual
    assert low[0, 0] <= made[0, 0] <= high[0, 0] + 1e-9
    assert abs(made[0, 0] - high[0, 0]) < 1.0


def test_batch_equals_single_and_bad_rows_stay_alone(packaged: Load) -> None:
    model = packaged("myoelbow")
    angles, targets = [0.3, 0.6, 0.9], [1.0, 1.5, float("nan")]
    many = Elbows(model, angles)
    many.apply(targets)
    assert np.isfinite(many.muscles.activation).all()
    for i in range(2):
        one = Elbows(model, [angles[i]])
        one.apply([targets[i]])
        np.testing.assert_allclose(
            many.muscles.activation[i], one.muscles.activation[0], atol=1e-9
        )


@pytest.mark.integration
def test_a_network_can_replace_the_solver(packaged: Load) -> None:
    model = packaged("myoelbow")
    config = MuscleNNConfig(
        hidden=(16,), steps=100, poses=100, batch_size=32, torque_scale=10.0
    )
    network = train_muscle_nn(MuscleLayer(model), config, 0)
    elbow = Elbows(model, [0.0], network=network)
    elbow.step([1.2], 400)
    assert abs(elbow.qpos[0, 0] - 1.2) < 0.15
    with pytest.raises(MuscleError, match="made for 6 other muscles than the 5"):
        Elbows(packaged("myofinger"), [0.0], network=network)


def test_bad_input_is_named(packaged: Load, leg: mujoco.MjModel) -> None:
    with pytest.raises(MuscleError, match="no muscle actuators"):
        MuscleActuation(leg, mujoco.batch.Batch(leg, 1, 1, persistent=True))
    with pytest.raises(MuscleError, match="refresh: expected 1 or more steps, got 0"):
        Elbows(packaged("myoelbow"), [0.0], refresh=0)
