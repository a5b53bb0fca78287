"""Limits of accelerations and of the direction of the stick."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world.actions import motion_of
from ambulo.envs.vr.world.compiled_world import CompiledWorld

OPEN = Level("open", np.array([-500.0, -500.0, 500.0, 500.0]))


def _walk(spec: WorldSpec, seed: int, steps: int = 300) -> dict[str, np.ndarray]:
    """Velocities, yaws and yaw rates after every tick of a wild stick, (steps, 8, ...)."""
    one = dataclasses.replace(spec, ticks_per_decision=1, smoothing=spec.tick_decay)
    world = CompiledWorld(8, one)
    world.set_levels([0], [OPEN])
    world.reset(np.arange(8), np.zeros(8, int), np.zeros((8, 3)))
    rng = np.random.default_rng(seed)
    rows: dict[str, list[np.ndarray]] = {"velocity": [], "yaw": [], "yaw_rate": []}
    action = np.zeros((8, 3))
    for step in range(steps):
        if step % 20 == 0:
            action = rng.uniform(-1.5, 1.5, (8, 3))
        state = world.step(action)
        for name, values in rows.items():
            values.append(getattr(state, name).copy())
    return {name: np.array(values) for name, values in rows.items()}


@pytest.mark.parametrize("limit", [1.0, 2.0])
def test_no_stick_accelerates_beyond_the_limit(limit: float) -> None:
    spec = WorldSpec(max_acceleration=limit)
    velocity = _walk(spec, 0)["velocity"][..., :2]
    acceleration = np.linalg.norm(np.diff(velocity, axis=0), axis=-1) / spec.dt
    assert acceleration.max() <= 1.1 * limit
    free = _walk(WorldSpec(), 0)["velocity"][..., :2]
    assert np.linalg.norm(np.diff(free, axis=0), axis=-1).max() / spec.dt > 5.0


def test_no_stick_turns_faster_than_the_limit() -> None:
    spec = WorldSpec(max_yaw_acceleration=2.0)
    rate = _walk(spec, 1)["yaw_rate"]
    assert np.abs(np.diff(rate, axis=0)).max() / spec.dt <= 2.0 + 1e-9
    assert np.abs(rate).max() > 1.0


def test_with_a_facing_nobody_walks_aside_or_back() -> None:
    rows = _walk(WorldSpec(facing=math.radians(30.0)), 2)
    velocity = rows["velocity"]
    moving = np.linalg.norm(velocity[..., :2], axis=-1) > 0.05
    angle = np.arctan2(velocity[..., 1], velocity[..., 0]) - rows["yaw"]
    angle = np.abs(np.remainder(angle + np.pi, 2 * np.pi) - np.pi)
    assert moving.mean() > 0.5
    assert angle[moving].max() <= math.radians(30.0) + 1e-6


def test_a_stick_within_the_limits_is_left_alone() -> None:
    spec = WorldSpec(max_acceleration=2.0, max_yaw_acceleration=2.0, facing=1.0)
    command = np.array([[0.05, 0.5, 0.1]])
    action = np.array([[0.1, 0.55, 0.15]])
    limited = motion_of(action, spec, command).target
    free = motion_of(action, WorldSpec(), command).target
    np.testing.assert_allclose(limited, free, atol=1e-12)
