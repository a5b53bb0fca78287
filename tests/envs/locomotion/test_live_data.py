"""The MuJoCo model and data of one body."""

from __future__ import annotations

import copy

import mujoco
import numpy as np
import pytest

import ambulo
from ambulo.envs.locomotion.env import LocomotionEnv


def body(task: str) -> LocomotionEnv:
    env = ambulo.make(f"ambulo/{task}-v0").unwrapped
    assert isinstance(env, LocomotionEnv)
    return env


@pytest.mark.parametrize("task", ["Stand", "Gait"])
def test_the_data_are_those_of_the_body_now(task: str) -> None:
    env = body(task)
    env.reset(seed=3)
    env.action_space.seed(3)
    data = env.data
    for _ in range(4):
        env.step(env.action_space.sample())
        assert env.data is data
        np.testing.assert_array_equal(data.qpos, env.batch.simulation.qpos[0])
        again = mujoco.MjData(env.model)
        again.qpos[:], again.qvel[:] = data.qpos, data.qvel
        mujoco.mj_forward(env.model, again)
        np.testing.assert_allclose(data.xpos, again.xpos, atol=1e-12)
        assert data.ncon == again.ncon
    assert data.time == pytest.approx(4 / 30)
    env.reset(seed=3)
    assert env.data.time == 0.0


def test_looking_at_the_data_or_writing_to_them_changes_nothing() -> None:
    ends = []
    for look in (False, True):
        env = body("Stand")
        env.reset(seed=1)
        env.action_space.seed(1)
        for _ in range(5):
            observation, *_ = env.step(env.action_space.sample())
            if look:
                env.data.qpos[:] = 0.0
        ends.append(observation)
    np.testing.assert_array_equal(*ends)


def test_a_copy_has_data_of_its_own() -> None:
    env = body("Stand")
    env.reset(seed=1)
    data, other = env.data, copy.deepcopy(env)
    before = data.qpos.copy()
    other.step(other.action_space.sample())
    assert other.data is not data
    assert not np.array_equal(other.data.qpos, before)
    np.testing.assert_array_equal(env.data.qpos, before)
