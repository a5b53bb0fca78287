"""Numbers of twins are found again in walks that were made with them."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.commands.twin.fit import (
    fall_rate,
    fit_contact,
    fit_radius,
    fit_response,
    simulated,
)
from ambulo.commands.twin.measure import FreeWalks, WallWalks
from ambulo.configs.errors import ConfigError

DT = 1.0 / 30.0


def free_walks(**changes: object) -> FreeWalks:
    """Eight walkers whose commands jump every second, with a sway of 1 Hz."""
    rng = np.random.default_rng(0)
    command = np.repeat(rng.uniform(0.5, 1.5, (20, 8)), 30, axis=0)
    motion = simulated(command, DT, np.array([0.9, 0.05, 0.4, 1.0]), 6)
    time = DT * np.arange(len(command))[:, None]
    motion = motion + 0.1 * np.sin(2.0 * np.pi * time)
    parts = {
        "dt": DT,
        "command": np.repeat(command[:, :, None], 3, axis=2),
        "motion": np.repeat(motion[:, :, None], 3, axis=2),
        "fell": np.zeros(command.shape, np.bool_),
    }
    return FreeWalks(**{**parts, **changes})


def test_a_response_approaches_its_command_with_delay_lag_and_limit():
    command = np.concatenate([np.zeros((5, 1)), np.ones((300, 1))])
    motion = simulated(command, DT, np.array([0.8, 0.1, 0.5, 0.3]), 3)
    assert motion[0, 0] == pytest.approx(0.1)
    assert motion[7, 0] == pytest.approx(0.1)
    # From the delayed jump on as fast as the limit allows, then to 0.8 * 1 + 0.1.
    assert motion[11, 0] == pytest.approx(0.1 + 4 * 0.3 * DT)
    assert motion[-1, 0] == pytest.approx(0.9, abs=1e-3)


def test_the_response_is_found_in_walks_that_sway():
    found = fit_response(free_walks(), 0, still=False)
    assert found.gain == pytest.approx(0.9, abs=0.02)
    assert found.offset == pytest.approx(0.05, abs=0.03)
    assert found.delay + found.lag == pytest.approx(0.2 + 0.4, abs=0.08)
    assert found.change == pytest.approx(1.0, rel=0.2)
    assert found.noise < 0.03


def test_what_a_response_misses_in_a_change_is_no_noise():
    rng = np.random.default_rng(1)
    held = 120
    command = np.repeat(rng.uniform(0.5, 1.5, (8, 8)), held, axis=0)
    motion = simulated(command, DT, np.array([1.0, 0.0, 0.3, 5.0]), 0)
    late = (np.arange(len(command)) % held < 24)[:, None]
    motion = motion + np.where(late, rng.normal(0.0, 0.6, (1, 8)), 0.0)
    moved = np.repeat(motion[:, :, None], 3, axis=2)
    walks = free_walks(
        command=np.repeat(command[:, :, None], 3, axis=2),
        motion=moved, fell=np.zeros(command.shape, np.bool_),
    )  # fmt: skip
    assert fit_response(walks, 0, still=False).noise < 0.1


def test_a_walker_that_falls_at_once_cannot_be_measured():
    walks = free_walks()
    fallen = free_walks(fell=np.ones_like(walks.fell))
    with pytest.raises(ConfigError, match="falls too soon"):
        fit_response(fallen, 0, still=False)


def test_falls_on_free_ground_are_counted_by_time():
    fell = np.zeros((300, 4), np.bool_)
    fell[150:, 0] = True
    # One fall in 3 x 10 s and 5 s.
    assert fall_rate(free_walks(fell=fell)) == pytest.approx(1.0 / 35.0, rel=1e-3)


def wall_walks(still: float, growth: float) -> WallWalks:
    """Walkers that touch from the first second on, and fall by a contact rule."""
    rng = np.random.default_rng(1)
    steps, count = 200, 4000
    into = np.tile(rng.uniform(0.0, 1.5, count), (steps, 1))
    touched = np.zeros((steps, count), np.bool_)
    touched[30:] = True
    rate = np.exp(still + growth * into[0])
    falls_at = 30 + np.floor(rng.exponential(1.0 / rate) / DT).astype(int)
    fell = np.arange(steps)[:, None] >= falls_at
    gap = np.linspace(1.0, 0.3, steps)[:, None] + np.zeros(count)
    return WallWalks(DT, touched, gap, into, fell)


def test_the_contact_rule_is_found_in_falls():
    found = fit_contact(wall_walks(still=-1.5, growth=1.2))
    assert found.still == pytest.approx(-1.5, abs=0.15)
    assert found.speed == pytest.approx(1.2, abs=0.15)


def test_few_falls_give_one_rate():
    found = fit_contact(wall_walks(still=-14.0, growth=0.0))
    assert found.speed == 0.0
    assert found.still < -8.0


def test_the_radius_is_the_distance_of_first_touches():
    walks = wall_walks(still=-20.0, growth=0.0)
    assert fit_radius(walks) == pytest.approx(float(walks.gap[30, 0]), abs=1e-4)
    nothing = WallWalks(DT, walks.touched & False, walks.gap, walks.into, walks.fell)
    with pytest.raises(ConfigError, match="no walker reached the wall"):
        fit_radius(nothing)
