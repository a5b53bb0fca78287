from __future__ import annotations

import numpy as np
import pytest

from ambulo.envs.vr.task.metrics import (
    COMFORT_PROXIES,
    Trace,
    barn_score,
    comfort_proxies,
    optimal_length,
    soft_spl,
    spl,
)
from ambulo.evaluate.shared.intervals import bootstrap_interval


def test_optimal_length_ends_at_the_edge_of_the_goal_disc():
    found = optimal_length(np.array([11.0, 0.4]), goal_radius=1.0)
    np.testing.assert_allclose(found, [10.0, 0.0])


def test_spl_by_hand():
    success = np.array([1, 1, 0, 1])
    optimal = np.array([10.0, 10.0, 10.0, 10.0])
    path = np.array([10.0, 20.0, 10.0, 9.5])
    np.testing.assert_allclose(spl(success, optimal, path), [1.0, 0.5, 0.0, 1.0])


def test_an_episode_that_begins_at_the_goal_has_full_marks():
    zero = np.zeros(1)
    one = np.ones(1)
    assert spl(one, zero, zero) == 1.0
    assert soft_spl(zero, zero, zero) == 1.0
    assert barn_score(one, zero, zero, 2.0) == 0.5


def test_soft_spl_by_hand():
    left = np.array([0.0, 5.0, 15.0])
    optimal = np.full(3, 10.0)
    path = np.array([12.5, 10.0, 5.0])
    np.testing.assert_allclose(soft_spl(left, optimal, path), [0.8, 0.5, 0.0])


def test_barn_score_by_hand():
    # T_opt = 20 m / 2 m/s = 10 s
    time = np.array([10.0, 20.0, 40.0, 200.0, 20.0])
    success = np.array([1, 1, 1, 1, 0])
    found = barn_score(success, np.full(5, 20.0), time, 2.0)
    np.testing.assert_allclose(found, [0.5, 0.5, 0.25, 0.125, 0.0])


def test_bootstrap_interval_is_seeded_and_holds_constants():
    values = np.random.default_rng(0).normal(size=50)
    assert bootstrap_interval(values, 3) == bootstrap_interval(values, 3)
    assert bootstrap_interval(values, 3) != bootstrap_interval(values, 4)
    assert bootstrap_interval(np.ones(20), 0) == (1.0, 1.0)


def test_bootstrap_interval_covers_the_mean_about_95_percent_of_the_time():
    rng = np.random.default_rng(1)
    hits = 0
    for trial in range(300):
        low, high = bootstrap_interval(rng.random(80) < 0.7, trial, samples=400)
        hits += low <= 0.7 <= high
    assert 0.89 <= hits / 300 <= 0.98


def circle(speed: float, radius: float, steps: int, dt: float) -> Trace:
    """A walk around a circle, facing ahead, as an exact trace."""
    rate = speed / radius
    t = dt * np.arange(steps + 1)
    yaw = rate * t + 0.5 * np.pi
    zero = np.zeros_like(t)
    return Trace(
        dt=dt,
        position=np.column_stack(
            [radius * np.cos(rate * t), radius * np.sin(rate * t), zero]
        ),
        yaw=yaw,
        velocity=np.column_stack([speed * np.cos(yaw), speed * np.sin(yaw), zero]),
        yaw_rate=np.full_like(t, rate),
        clearance=1.0 + 0.5 * np.cos(t),
        contact_ticks=zero.astype(np.int64),
        snaps=(np.arange(steps + 1) % 50 == 49).astype(np.int64),
    )


def test_comfort_proxies_of_a_circle():
    speed, radius = 1.5, 2.0
    found = comfort_proxies([circle(speed, radius, 1000, 0.01)])
    assert list(found) == list(COMFORT_PROXIES)
    assert found["speed_mean"] == pytest.approx(1.5)
    assert found["acceleration_mean"] == pytest.approx(speed**2 / radius, rel=1e-3)
    assert found["acceleration_p95"] == pytest.approx(speed**2 / radius, rel=1e-3)
    assert found["jerk_max"] == pytest.approx(speed**3 / radius**2, rel=1e-3)
    assert found["yaw_rate_mean"] == pytest.approx(0.75)
    assert found["yaw_acceleration_max"] == pytest.approx(0.0, abs=1e-9)
    assert found["yaw_per_metre"] == pytest.approx(1 / radius, rel=1e-3)
    assert found["yaw_rate_over_20_deg"] == 1.0
    assert found["yaw_rate_over_90_deg"] == 0.0
    assert found["strafe_share"] == 0.0
    assert found["back_share"] == 0.0
    assert found["snaps_per_second"] == pytest.approx(2.0)
    assert found["clearance_min"] == pytest.approx(0.5, abs=1e-3)
    assert found["vignette_duty"] == 0.0
    assert found["vignette_duty_xr_tools"] == 1.0


@pytest.mark.parametrize(
    ("turned", "share"), [(0.5 * np.pi, "strafe_share"), (np.pi, "back_share")]
)
def test_direction_of_motion_against_heading(turned, share):
    trace = circle(1.0, 5.0, 100, 0.1)
    aside = Trace(
        trace.dt, trace.position, trace.yaw + turned, trace.velocity, trace.yaw_rate,
        trace.clearance, trace.contact_ticks, trace.snaps,
    )  # fmt: skip
    assert comfort_proxies([aside])[share] == 1.0


def test_hard_acceleration_closes_the_vignette_as_published():
    velocity = np.zeros((4, 3))
    velocity[:, 0] = [0.0, 1.25, 2.5, 3.75]
    trace = Trace(
        0.1, np.zeros((4, 3)), np.zeros(4), velocity, np.zeros(4), np.ones(4),
        np.zeros(4, np.int64), np.zeros(4, np.int64),
    )  # fmt: skip
    found = comfort_proxies([trace])
    # |a| = 12.5 m/s^2: half way from 5 to 20
    assert found["vignette_duty"] == pytest.approx(0.5)
    assert found["acceleration_over_5"] == 1.0
    assert found["speed_over_3"] == pytest.approx(1 / 3)
