"""Gaits bent sideways and into turns: standing feet stay where they are on the ground."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest

from ambulo.configs.arrays import Floats
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.reference.foot_steering import (
    COM_HEIGHT,
    STANCE,
    FootSteering,
    leaning,
    mid_stance,
    turning_wave,
)
from ambulo.envs.reference.gaits import Blend
from ambulo.envs.reference.legs import ankle_places, legs_of, set_feet
from ambulo.envs.reference.reference import Reference
from ambulo.envs.reference.walk_gaits import WalkGaits
from ambulo.envs.simulation.frames import walk_frames
from ambulo.envs.simulation.tangent import Tangent
from ambulo.envs.tasks.locomote import LocomoteBatch

MID = 0.3
"""Phase of the left foot's mid-stance in `steps`."""


@pytest.fixture(scope="module")
def gaits(character: Character, steps: Reference) -> WalkGaits:
    return WalkGaits(steps, character)


@pytest.fixture(scope="module")
def steering(character: Character, gaits: WalkGaits) -> FootSteering:
    return FootSteering(character, gaits, gaits.walks)


def bent(
    steering: FootSteering, gaits: WalkGaits, command: Floats, phases: Floats
) -> tuple[Floats, Floats, Blend]:
    """Positions and velocities at phases (K,) of one command (3,)."""
    speed = np.full(len(phases), command[0])
    blend = gaits.blend_for(speed, np.zeros(len(phases), np.bool_))
    commands = np.tile(command, (len(phases), 1))
    qpos, qvel, _ = steering.bend(gaits, phases, blend, commands, np.zeros(len(phases)))
    return qpos, qvel, blend


def test_standing_is_behind_the_walks_and_never_blended(gaits: WalkGaits) -> None:
    assert gaits.walks == 3
    assert gaits.span == (pytest.approx(-0.2), pytest.approx(0.4))
    blend = gaits.blend_for(
        np.array([-1.0, -0.1, 0.2, 9.0, 0.2]), np.array([False] * 4 + [True])
    )
    np.testing.assert_allclose(blend.speed, [-0.2, -0.1, 0.2, 0.4, 0.0], atol=1e-9)
    np.testing.assert_allclose(blend.period, [1.0, 1.0, 1.1, 1.2, 1.0])
    assert blend.slower[4] == 3
    assert blend.share[4] == 0.0


def test_mid_stance_is_found_in_the_ankles(steering: FootSteering) -> None:
    np.testing.assert_allclose(steering.mid_stance, [MID, MID + 0.5], atol=2e-3)
    phase = np.arange(64) / 64
    ahead = np.cos(2.0 * np.pi * (phase[:, None] - [0.0, 0.5]))  # farthest at 0 and 0.5
    np.testing.assert_allclose(mid_stance(ahead[None]), [0.25, 0.75], atol=1e-9)


@pytest.mark.parametrize(
    "command",
    [
        (0.0, np.deg2rad(120.0), 0.0),
        (0.0, 0.0, 0.3),
        (0.4, np.deg2rad(-90.0), 0.0),
        (-0.2, 0.8, -0.2),
        (0.3, 1.0, 0.2),
    ],
)
def test_a_standing_foot_stays_on_its_place(
    steering: FootSteering, gaits: WalkGaits, command: tuple[float, float, float]
) -> None:
    """Seen from the world, through which the reference frame goes as commanded."""
    wanted, count = np.array(command), 400
    period = float(gaits.blend_for(wanted[:1], np.zeros(1, np.bool_)).period[0])
    half = 0.45 * STANCE
    phases = MID + np.linspace(-half, half, count)
    qpos, _, _ = bent(steering, gaits, wanted, phases)
    ankle = ankle_places(steering.legs, qpos)[:, 0]
    frame, dt = np.zeros((1, 4)), (phases[1] - phases[0]) * period
    seen = []
    for place in ankle:
        c, s = np.cos(frame[0, 2]), np.sin(frame[0, 2])
        x = frame[0, 0] + c * place[0] - s * place[1]
        y = frame[0, 1] + s * place[0] + c * place[1]
        seen.append([x, y, place[2]])
        yaw = frame[0, 2] + 0.5 * dt * wanted[1]
        walk_frames(frame, wanted[:1], wanted[1:2], dt)
        frame[0, 0] -= dt * wanted[2] * np.sin(yaw)
        frame[0, 1] += dt * wanted[2] * np.cos(yaw)
    gone = np.ptp(np.array(seen), axis=0)
    # The arc's chord and its half turn leave millimetres.
    assert gone[:2].max() < 0.012
    assert gone[2] < 0.005  # joints are blended, not places


def test_velocities_are_those_of_the_positions(
    steering: FootSteering, gaits: WalkGaits, character: Character
) -> None:
    command, phases = np.array([0.2, 1.0, 0.2]), np.linspace(0.0, 1.0, 50)
    _, qvel, blend = bent(steering, gaits, command, phases)
    h = 2e-3
    step = h / blend.period
    before = bent(steering, gaits, command, phases - step)[0]
    after = bent(steering, gaits, command, phases + step)[0]
    slope = Tangent(character.model).difference(after, before) / (2.0 * h)
    legs = np.concatenate([steering.legs[3].ravel() + i for i in range(3)])
    assert np.abs(qvel - slope)[:, legs].mean() < 0.03
    assert np.abs(slope[:, legs]).mean() > 0.3


def test_without_side_and_turn_nothing_changes(
    steering: FootSteering, gaits: WalkGaits
) -> None:
    phases = np.linspace(0.0, 0.9, 7)
    blend = gaits.blend_for(np.full(7, 0.3), np.zeros(7, np.bool_))
    plain = gaits.at(phases, blend)
    commands = np.zeros((7, 3))
    commands[:, 0] = 0.3
    for mine, theirs in zip(
        steering.bend(gaits, phases, blend, commands, np.zeros(7)), plain, strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


def test_legs_reach_ankles_and_stay_level(character: Character) -> None:
    legs, qpos = legs_of(character), np.tile(character.model.qpos0, (3, 1))
    qpos[:, 2] = 0.95
    wanted = np.array([
        [[0.1, 0.1, 0.1], [-0.1, -0.1, 0.1]],
        [[0.0, 0.2, 0.12], [0.2, -0.05, 0.2]],
        [[0.0, 0.09, 0.1], [0.0, -0.09, 0.1]],
    ])  # fmt: skip
    set_feet(legs, qpos, wanted)
    np.testing.assert_allclose(ankle_places(legs, qpos), wanted, atol=1e-9)
    assert (qpos[:, [legs[2][0, 1], legs[2][1, 1]]] > 0.0).all()


Make = Callable[..., LocomotionBatch]


def waves(phases: Floats) -> Floats:
    """The waves at `phases` (K,) and their slopes. Shape (2, K)."""
    return np.array([turning_wave(phase) for phase in phases]).T


def test_a_hip_turns_against_the_pelvis_in_stance_and_comes_back() -> None:
    stance = np.array([-0.3, -0.1, 0.0, 0.25])
    wave, slope = waves(stance)
    np.testing.assert_allclose(wave, -stance, atol=1e-12)
    np.testing.assert_allclose(slope, -1.0)
    swing, slope_in_swing = turning_wave(0.5)  # half a cycle later
    assert swing == pytest.approx(0.0, abs=1e-12)
    # Half a Hermite cubic: 1.5 times the mean slope, less a quarter of both ends' slopes.
    assert slope_in_swing == pytest.approx(1.5 * STANCE / (1.0 - STANCE) + 0.5)


def test_the_wave_has_no_kink_and_its_slope_is_its_own() -> None:
    phase = np.linspace(-1.0, 1.0, 4001)
    wave, slope = waves(phase)
    steps = np.diff(wave)
    middle = 0.5 * (slope[:-1] + slope[1:])
    np.testing.assert_allclose(steps, middle * np.diff(phase), atol=1e-6)
    np.testing.assert_allclose(wave[:2000], wave[2000:4000], atol=1e-9)


def test_lean_is_that_of_a_pendulum_in_a_turn() -> None:
    # 1.2 m/s * 0.5 rad/s / 9.81 m/s^2.
    found = leaning(np.array([1.2, 1.2, 9.0]), np.array([0.5, -0.5, 9.0]))
    np.testing.assert_allclose(found, [0.061162, -0.061162, 0.2], atol=1e-6)


def test_a_body_leans_to_the_inside_over_feet_that_stay(make: Make) -> None:
    batch = make("locomote", 1)
    assert isinstance(batch, LocomoteBatch)
    assert batch._steering is not None
    model = batch.simulation.model
    ankle = int(batch._steering.legs[3][0, 2])
    foot, data = model.jnt_bodyid[model.dof_jntid[ankle]], mujoco.MjData(model)
    aside = []
    for turning in (1e-12, 0.5):
        batch.command[:] = 1.2, turning
        batch.blend = batch._blend()
        qpos, _, _ = batch._reference(batch._steering.mid_stance[:1])
        data.qpos[:] = qpos[0]
        mujoco.mj_kinematics(model, data)
        aside.append((qpos[0, 1], data.xpos[foot, 1]))
    moved, planted = np.subtract(aside[1], aside[0])
    assert moved == pytest.approx(0.061162 * COM_HEIGHT, abs=0.003)
    assert abs(planted) < 0.1 * moved
