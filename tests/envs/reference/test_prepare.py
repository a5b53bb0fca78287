"""Cycles: periodic, on the ground, without slip, and the forces that move them."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from ambulo.configs.errors import MotionError
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.registry import load_character
from ambulo.envs.reference.cycles.captured import captured_cycle
from ambulo.envs.reference.cycles.prepare import PreparedCycle, physical_cycle
from ambulo.envs.reference.inverse_dynamics import inverse_dynamics, joint_state
from ambulo.motion.formats.files import read_motion
from ambulo.motion.gaits.cycle import (
    Cycle,
    along_x,
    body_velocities,
    derivative,
    find_cycle,
    resynthesized,
    rotvec_velocity,
)
from ambulo.motion.gaits.plain_walk import plain_walk
from ambulo.motion.gaits.soles import sole_places
from ambulo.motion.gaits.variants import at_speed, standing_cycle, with_amplitude
from ambulo.motion.mass import center_of_mass
from ambulo.motion.retargeting.retarget import retarget
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply


@pytest.fixture(scope="module")
def body() -> Character:
    return load_character("human23")


@pytest.fixture(scope="module")
def walk(body: Character) -> PreparedCycle:
    return physical_cycle(plain_walk(body.skeleton), body.model, body.soles)


def test_derivative_and_harmonics_of_a_sine() -> None:
    phase = np.arange(64) / 64
    wave = np.sin(2 * np.pi * phase)
    rate = derivative(wave, period=2.0)
    np.testing.assert_allclose(rate, np.pi * np.cos(2 * np.pi * phase), atol=1e-12)
    rough = wave + 0.3 * np.sin(2 * np.pi * 9 * phase)
    np.testing.assert_allclose(resynthesized(rough, 4, 64), wave, atol=1e-12)


def test_rotvec_velocity_is_that_of_the_quaternion() -> None:
    rng = np.random.default_rng(1)
    turn, rate = rng.normal(size=(2, 10, 3))
    step = 1e-6
    before, after = quat_from_rotvec(turn), quat_from_rotvec(turn + step * rate)
    conjugate = before * [1.0, -1.0, -1.0, -1.0]
    change = quat_multiply(conjugate, after)
    np.testing.assert_allclose(
        rotvec_velocity(turn, rate), 2.0 * change[:, 1:] / step, atol=1e-4
    )


def test_the_plain_walk_is_physical(walk: PreparedCycle) -> None:
    report = walk.report
    assert report.warnings() == []
    assert 0.9 < report.speed < 1.3
    assert report.slip < 0.08
    assert report.residual_force < 0.05 * report.weight
    assert report.ground_force == pytest.approx(1.0, abs=0.02)
    assert -0.006 < report.lowest < report.highest < 0.003


def test_left_and_right_of_the_plain_walk_are_half_a_cycle_apart(
    body: Character,
) -> None:
    cycle = plain_walk(body.skeleton)
    half = len(cycle) // 2
    left = cycle.rotations[:, body.skeleton.index("TibiaL")]
    right = cycle.rotations[:, body.skeleton.index("TibiaR")]
    np.testing.assert_allclose(np.roll(left, half, axis=0), right, atol=1e-12)


def test_joint_state_follows_its_own_velocities(
    walk: PreparedCycle, body: Character
) -> None:
    qpos, qvel = joint_state(walk.cycle, body.model)
    dt = walk.cycle.period / len(walk.cycle)
    for t in (0, 100, 300):
        moved = qpos[t].copy()
        mean = 0.5 * (qvel[t] + qvel[t + 1])
        mujoco.mj_integratePos(body.model, moved, mean, dt)
        difference = np.zeros(body.model.nv)
        mujoco.mj_differentiatePos(body.model, difference, 1.0, qpos[t + 1], moved)
        assert np.abs(difference).max() < 2e-4


def test_standing_needs_the_weight_and_nothing_else(body: Character) -> None:
    cycle = standing_cycle(body.skeleton, body.soles)
    heights = sole_places(cycle, body.soles)[0, :, 2]
    assert np.ptp(heights) < 0.004
    dynamics = inverse_dynamics(cycle, body.model, body.soles)
    weight = body.model.body_mass.sum() * 9.81
    total = dynamics.forces[0].sum(axis=0)
    np.testing.assert_allclose(total, [0.0, 0.0, weight], atol=0.02 * weight)
    assert np.abs(dynamics.residual).max() < 0.02 * weight
    np.testing.assert_allclose(dynamics.torques[:, :6], 0.0)


@pytest.mark.parametrize("speed", [0.6, 1.2])
def test_a_gait_at_another_speed(body: Character, speed: float) -> None:
    cycle = at_speed(plain_walk(body.skeleton), body.soles, speed)
    prepared = physical_cycle(cycle, body.model, body.soles)
    assert prepared.cycle.speed == pytest.approx(speed, rel=0.02)
    assert prepared.report.residual_force < 0.1 * prepared.report.weight


def test_amplitude_scales_swings_about_the_mean(body: Character) -> None:
    cycle = plain_walk(body.skeleton)
    same = with_amplitude(cycle, 1.0)
    np.testing.assert_allclose(
        np.abs(same.rotations), np.abs(cycle.rotations), atol=1e-9
    )
    _, full = body_velocities(cycle)
    _, half = body_velocities(with_amplitude(cycle, 0.5))
    knee = body.skeleton.index("TibiaL")
    ratio = np.linalg.norm(half[:, knee]) / np.linalg.norm(full[:, knee])
    assert ratio == pytest.approx(0.5, rel=1e-6)


@pytest.mark.parametrize("speed", [0.0, -1.0])
def test_no_gait_at_standstill(body: Character, speed: float) -> None:
    with pytest.raises(MotionError, match="cannot be walked"):
        at_speed(plain_walk(body.skeleton), body.soles, speed)


def test_a_flying_body_is_refused(body: Character) -> None:
    cycle = plain_walk(body.skeleton)
    shaken = cycle.root_positions.copy()
    shaken[:, 1] += 0.1 * np.sin(2 * np.pi * 3 * np.arange(len(cycle)) / len(cycle))
    wild = Cycle(cycle.skeleton, 0.5, cycle.stride, shaken, cycle.rotations)
    with pytest.raises(MotionError, match="no contact with the ground"):
        physical_cycle(wild, body.model, body.soles, name="wild")


def test_a_real_walk(cmu: Path, body: Character) -> None:
    motion = read_motion(cmu / "asfamc/02/02_01.amc")
    on_body = retarget(motion, body.skeleton).motion
    found = find_cycle(along_x(on_body))
    assert 1.0 < (found.stop - found.start) / on_body.fps < 1.2
    raw = captured_cycle(motion, body.skeleton).cycle
    report = physical_cycle(raw, body.model, body.soles).report
    assert report.warnings() == []
    assert report.residual_force < 30.0
    assert report.residual_moment < 3.0
    assert report.slip < 0.08
    assert report.speed == pytest.approx(1.2, abs=0.05)


def test_a_flying_body_falls_freely(cmu: Path, body: Character) -> None:
    motion = read_motion(cmu / "asfamc/02/02_03.amc")  # a run
    raw = captured_cycle(motion, body.skeleton).cycle
    prepared = physical_cycle(raw, body.model, body.soles)
    cycle, report = prepared.cycle, prepared.report
    heights = sole_places(cycle, body.soles)[..., 2].min(axis=1)
    flight = heights > 0.03
    assert flight.mean() > 0.03
    center = center_of_mass(cycle.motion())[:, 2]
    fall = derivative(derivative(center, cycle.period), cycle.period)[flight]
    assert abs(fall.mean() + 9.81) < 2.0
    assert report.residual_force < 0.25 * report.weight
    assert report.ground_force == pytest.approx(1.0, abs=0.03)
