"""Commands, reference frames and terrain."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ambulo.configs.errors import ConfigError
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.simulation.frames import out_of_frame
from ambulo.envs.simulation.terrain import EDGE, SIZE, Terrain
from ambulo.envs.tasks.locomote import LEASH, LocomoteBatch

Make = Callable[..., LocomotionBatch]


def test_commands_lie_in_their_ranges_and_come_anew(make: Make) -> None:
    batch = make(
        "locomote", 32, speed=(0.9, 1.1), turn=(-20.0, 10.0), straight=0.5,
        command_interval=(0.1, 0.2),
    )  # fmt: skip
    assert isinstance(batch, LocomoteBatch)
    first = batch.goal.copy()
    assert (first[:, 0] >= 0.9).all()
    assert (first[:, 0] <= 1.1).all()
    turning = first[:, 1]
    assert (turning == 0.0).sum() in range(6, 27)
    assert turning.min() >= np.deg2rad(-20.0)
    assert turning.max() <= np.deg2rad(10.0)
    for _ in range(7):  # 0.23 s
        batch.step(np.zeros((32, batch.action_size)))
    assert (batch.goal != first).any(axis=1).all()


def test_the_frame_is_on_a_leash(make: Make) -> None:
    batch = make("locomote", 2)
    batch.reference_frame[:, 0] += 5.0
    batch._advance()
    gap = np.linalg.norm(
        batch.reference_frame[:, :2] - batch.simulation.qpos[:, :2], axis=1
    )
    np.testing.assert_allclose(gap, LEASH)


def test_what_is_seen_does_not_depend_on_place_and_heading(make: Make) -> None:
    batch = make("locomote", 1, start_position_noise=0.0, start_velocity_noise=0.0)
    batch.reference_frame[0] = 3.0, -2.0, 1.1, 0.0
    before = batch.state
    batch.simulation.qpos[0, :2] = batch.reference_frame[0, :2]
    qpos, qvel, _ = batch._reference(batch.phase)
    out_of_frame(qpos, qvel, batch.reference_frame)
    batch.simulation.reset(np.array([0]), np.zeros(1), qpos, qvel)
    batch._look()
    after = batch.state
    for name in (
        "deviation",
        "rate",
        "effectors",
        "com",
        "up",
        "heading",
        "yaw",
        "soles",
    ):
        a, b = getattr(before, name), getattr(after, name)
        np.testing.assert_allclose(a, b, atol=1e-9, err_msg=name)


def test_the_weight_of_the_reference_falls_in_phases(make: Make) -> None:
    batch = make("locomote", 1)
    config = batch.config.override("training", reference_weights=(1.0, 0.5, 0.1, 0.0))
    batch.config = config
    seen = []
    for share in (0.0, 0.3, 0.6, 0.99, 1.0):
        batch.set_progress(share)
        seen.append(batch.reference_weight)
    assert seen == [1.0, 0.5, 0.1, 0.0, 0.0]
    terms = batch._terms(np.zeros(1), np.zeros((1, batch.action_size)))
    assert terms["pose"] == 0.0
    assert terms["speed"] > 0.0


def test_without_a_gait_there_is_no_clock_and_no_imitation(make: Make) -> None:
    batch = make("locomote", 2, base="pose")
    *_, info = batch.step(np.zeros((2, batch.action_size)))
    assert "reward/pose" not in info
    assert "phase" not in batch.layout.slices()
    np.testing.assert_allclose(batch.state.deviation[:, :2], 0.0, atol=1e-9)


def test_gaits_are_blended_and_slowed(make: Make) -> None:
    gaits = make("locomote", 1).gaits
    blend = gaits.blend(np.array([0.4, 0.9, 1.2, 1.44]))
    np.testing.assert_allclose(gaits.speed, [0.8, 1.0, 1.2], rtol=1e-6)
    np.testing.assert_allclose(blend.share, [0.0, 0.5, 1.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(blend.rate, [0.5, 1.0, 1.0, 1.2])
    np.testing.assert_allclose(blend.speed, [0.4, 0.9, 1.2, 1.44])


def test_bodies_start_on_the_ground_of_a_terrain(make: Make) -> None:
    batch = make("locomote", 8, terrain="rough", terrain_height=0.08)
    assert np.ptp(batch.reference_frame[:, 3]) > 0.005
    lowest = batch.state.soles.min(axis=1)
    assert np.abs(lowest).max() < 0.04
    obs, *_ = batch.step(np.zeros((8, batch.action_size)))
    assert np.abs(obs[:, batch.layout.slices()["ground"]]).max() > 0.001


def test_no_episode_leads_over_the_edge_of_the_ground(make: Make) -> None:
    terrain, rng = Terrain("rough", 0.1), np.random.default_rng(0)
    places = np.array([terrain.place(rng) for _ in range(200)])
    assert SIZE / 2 - np.abs(places[:, :2]).max() >= EDGE > 1.6 * 20.0
    assert np.ptp(places[:, :2], axis=0).min() > 5.0
    with pytest.raises(ConfigError, match=r"ground ends after 34 m.* 48 m"):
        make("locomote", 1, terrain="rough", max_episode_steps=900)
