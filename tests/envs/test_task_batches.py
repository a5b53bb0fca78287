"""Every registered environment steps its batch through the one interface `TaskBatch`."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import ambulo.envs  # noqa: F401
from ambulo.configs.batch import TaskBatch
from ambulo.envs.gym_batch_env import GymBatchEnv

IDS = sorted(name for name in gymnasium.registry if name.startswith("ambulo/"))
SETTINGS = {"ambulo/VRNavigation-v0": {"levels": ("open",), "levels_per_family": 1}}


@pytest.mark.parametrize("name", IDS)
def test_the_batch_of_every_id_keeps_the_interface(name: str) -> None:
    env = gymnasium.make_vec(
        name,
        num_envs=2,
        vectorization_mode="vector_entry_point",
        **SETTINGS.get(name, {}),
    )
    assert isinstance(env, GymBatchEnv)
    batch: TaskBatch = env.batch
    assert batch.num_envs == 2
    batch.seed([1, None])
    first = batch.reset(np.arange(2)).copy()
    assert first.dtype == np.float32
    assert first.shape == batch.obs.shape
    actions = np.zeros(env.action_space.shape)
    obs, rewards, terminated, truncated, info = batch.step(actions)
    assert obs.shape == first.shape
    assert rewards.shape == terminated.shape == truncated.shape == (2,)
    assert info["is_success"].shape == (2,)
    episode = batch.episode
    np.testing.assert_array_equal(episode.steps, [1, 1])
    np.testing.assert_array_equal(episode.reward, rewards)
    assert episode.path.shape == episode.start_distance.shape == (2,)
    batch.reset(np.array([0]))
    np.testing.assert_array_equal(batch.episode.steps, [0, 1])
    env.close()
