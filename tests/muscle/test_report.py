"""Muscle reports: forces as simulated, metabolic power by hand."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest

from ambulo.configs.errors import MuscleError
from ambulo.muscle.muscles import MuscleLayer, MuscleTable
from ambulo.muscle.report import metabolic_rate, muscle_mass, muscle_report

Load = Callable[[str], mujoco.MjModel]
Pose = Callable[[MuscleLayer, int], mujoco.MjData]


def one_muscle() -> MuscleTable:
    """1000 N, 10 cm fibres: 0.42388 kg."""
    one = np.ones(1)
    return MuscleTable(
        np.zeros(1, np.int64), ("m",), 1000.0 * one, 0.1 * one, 0.2 * one, 0.5 * one,
        1.6 * one, 10.0 * one, 1.4 * one, np.ones((5, 1)),
    )  # fmt: skip


def test_report_of_a_simulation(packaged: Load, posed: Pose) -> None:
    layer = MuscleLayer(packaged("myofinger"))
    series = [posed(layer, seed) for seed in range(4)]
    activation, length, velocity, force = (
        np.array([np.array(getattr(data, name)) for data in series])
        for name in ("act", "actuator_length", "actuator_velocity", "actuator_force")
    )
    report = muscle_report(layer.table, activation, length, velocity, 0.01)
    np.testing.assert_allclose(report.force, -force, atol=1e-9)
    active = report.force - report.passive_force
    np.testing.assert_allclose(report.work_rate, -active * velocity, atol=1e-9)
    rows = report.rows()
    costs = [row["metabolic_J"] for row in rows]
    assert costs == sorted(costs, reverse=True)
    assert sum(costs) == pytest.approx(report.energy)
    assert report.cost_of_transport(2.0, 5.0) == pytest.approx(report.energy / 10.0)


def test_metabolic_rate_by_hand() -> None:
    table = one_muscle()
    mass = 1000.0 / 0.25e6 * 1059.7 * 0.1
    assert muscle_mass(table)[0] == pytest.approx(mass)
    full, length, force = np.ones((1, 1)), np.ones((1, 1)), np.full((1, 1), 1000.0)
    heat = mass * 0.5 * (40.0 + 133.0 + 74.0 + 111.0)
    still = metabolic_rate(table, full, length, 0.0 * full, force, force)
    assert still[0, 0] == pytest.approx(heat)
    # Shortening at .2 m/s with 600 N of 1000 N: work 120 W, heat (160 + 108) * .2 W.
    moving = metabolic_rate(table, full, length, -0.2 * full, 0.6 * force, force)
    assert moving[0, 0] == pytest.approx(heat + 120.0 + 53.6)
    # Stretching gives energy back, but never makes the power negative.
    stretched = metabolic_rate(table, full, length, 5.0 * full, force, force)
    assert stretched[0, 0] == 0.0
    long = metabolic_rate(
        table, full, 1.5 * length, 0.0 * full, 0.0 * force, 0.0 * force
    )
    assert long[0, 0] == pytest.approx(mass * 0.5 * (40.0 + 133.0))


def test_rest_costs_nothing() -> None:
    zero = np.zeros((3, 1))
    report = muscle_report(one_muscle(), zero, zero + 0.3, zero - 0.1, 0.01)
    assert report.energy == 0.0
    assert report.length[0, 0] == pytest.approx(1.0)
    assert report.velocity[0, 0] == pytest.approx(-1.0)


def test_bad_series_are_named() -> None:
    table, zero = one_muscle(), np.zeros((3, 1))
    with pytest.raises(MuscleError, match=r"expected \(T > 0, 1\) activations"):
        muscle_report(table, np.zeros((0, 1)), zero, zero, 0.01)
    with pytest.raises(MuscleError, match="differ in shape"):
        muscle_report(table, zero, zero[:2], zero, 0.01)
    report = muscle_report(table, zero, zero, zero, 0.01)
    with pytest.raises(MuscleError, match="mass and distance must be positive"):
        report.cost_of_transport(70.0, 0.0)
