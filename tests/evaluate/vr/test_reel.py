"""Moments, poses and cameras of films."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from ambulo.configs.arrays import Floats
from ambulo.envs.characters.registry import load_character
from ambulo.envs.vr.contract import EYE_HEIGHT
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.task.metrics import BodyTrace, Trace
from ambulo.evaluate.vr.reel import (
    LAST_HOLD,
    MOST_FRAMES,
    film_poses,
    film_rate,
    film_times,
    make_reel,
)
from ambulo.evaluate.vr.scores import EpisodeRecord
from ambulo.ik.avatar.layout import EYES
from ambulo.motion.rotations import quat_rotate

LEVEL = Level("one", np.array([-9.0, -9.0, 9.0, 9.0]), family="open")


def trace_of(steps: int, dt: float = 0.1, body: BodyTrace | None = None) -> Trace:
    """A walk of 1 m a step along X that turns by 0.1 rad a step."""
    count = np.arange(steps + 1.0)
    zeros = np.zeros(steps + 1)
    position = np.column_stack([count, zeros, zeros])
    return Trace(
        dt, position, 0.1 * count, position, zeros, zeros,
        zeros.astype(np.int64), zeros.astype(np.int64), body=body,
    )  # fmt: skip


def record_of(trace: Trace, level: Level = LEVEL) -> EpisodeRecord:
    """An episode with `trace`."""
    return EpisodeRecord(
        level=level, success=True, fell=False, timeout=False, optimal=1.0, left=0.0,
        path=1.0, time=1.0, collisions=0, comfort=1.0, reward=0.0, trace=trace,
    )  # fmt: skip


def swinging(rows: int) -> Floats:
    """Poses of human23 that walks on by 2 cm a row, turns, and swings all joints."""
    model = load_character("human23").model
    data = mujoco.MjData(model)
    out = np.empty((rows, model.nq))
    for k in range(rows):
        data.qpos[:] = model.qpos0
        step = 0.3 * np.sin(0.2 * k + np.arange(model.nv))
        step[:6] = 0.02 * k, 0.0, 0.01 * np.sin(k), 0.0, 0.1, 0.05 * k
        mujoco.mj_integratePos(model, data.qpos, step, 1.0)
        out[k] = data.qpos
    return out


def body_trace(steps: int, ticks: int) -> BodyTrace:
    """The record of `swinging`."""
    zeros = np.zeros(steps + 1)
    qpos = swinging(1 + ticks * steps).astype(np.float32)
    return BodyTrace(zeros, zeros, zeros, zeros, qpos)


def test_a_film_runs_in_real_time():
    trace = trace_of(20)
    times = film_times(trace, 30.0)
    poses = film_poses(trace, times)
    assert len(poses) == round((2.0 + LAST_HOLD) * 30)
    np.testing.assert_allclose(poses[:61, 0], np.arange(61) / 3, atol=1e-9)
    np.testing.assert_allclose(poses[61:, 0], 20)
    np.testing.assert_allclose(poses[:61, 3], np.arange(61) / 30, atol=1e-9)


@pytest.mark.parametrize(
    ("steps", "rate"), [(20, 30.0), (290, 30.0), (400, 20.0), (1000, 100 / 12)]
)
def test_long_films_have_fewer_frames_a_second(steps, rate):
    found = film_rate(trace_of(steps), 30.0)
    assert found == pytest.approx(rate)
    assert len(film_times(trace_of(steps), found)) <= MOST_FRAMES + 1


def test_a_film_shows_the_poses_of_every_control_step():
    trace = trace_of(6, body=body_trace(6, 3))
    reel = make_reel(record_of(trace), "human23", ("chase",), 30.0)
    assert reel.fps == 30.0
    np.testing.assert_allclose(reel.qpos[:19], swinging(19), atol=1e-6)
    held = np.tile(reel.qpos[18], (len(reel.qpos) - 19, 1))
    np.testing.assert_allclose(reel.qpos[19:], held, atol=1e-6)


def test_between_two_control_steps_joints_are_turned_half_way():
    trace = trace_of(6, body=body_trace(6, 3))
    reel = make_reel(record_of(trace), "human23", ("chase",), 60.0)
    model, known = load_character("human23").model, swinging(19)
    step = np.empty(model.nv)
    for k in range(18):
        np.testing.assert_allclose(reel.qpos[2 * k], known[k], atol=1e-5)
        mujoco.mj_differentiatePos(model, step, 0.5, known[k], reel.qpos[2 * k + 1])
        whole = np.empty(model.nv)
        mujoco.mj_differentiatePos(model, whole, 1.0, known[k], known[k + 1])
        np.testing.assert_allclose(step, whole, atol=1e-4)


def test_the_eyes_are_where_mujoco_has_the_head():
    trace = trace_of(6, body=body_trace(6, 3))
    reel = make_reel(record_of(trace), "human23", ("eyes",), 30.0)
    path, model = reel.cameras["eyes"], load_character("human23").model
    data = mujoco.MjData(model)
    for k in (0, 7, 18):
        data.qpos[:] = reel.qpos[k]
        mujoco.mj_kinematics(model, data)
        head = data.body("Head")
        eyes = head.xpos + head.xmat.reshape(3, 3) @ EYES
        np.testing.assert_allclose(path.places[k], eyes, atol=1e-3)
        ahead = quat_rotate(path.turns[k], np.array([1.0, 0.0, 0.0]))
        assert ahead @ head.xmat.reshape(3, 3)[:, 0] > np.cos(np.radians(15.0))


def test_a_capsule_looks_ahead_at_the_height_of_its_eyes():
    reel = make_reel(record_of(trace_of(20)), None, ("eyes", "top"), 10.0)
    assert list(reel.cameras) == ["eyes", "top"]
    assert reel.cameras["top"] is None
    path = reel.cameras["eyes"]
    np.testing.assert_allclose(path.places[5], [5.0, 0.0, EYE_HEIGHT], atol=1e-9)
    ahead = quat_rotate(path.turns[5], np.array([1.0, 0.0, 0.0]))
    np.testing.assert_allclose(ahead, [np.cos(0.5), np.sin(0.5), 0.0], atol=1e-9)
    assert reel.body_rows() is None
