"""The SB3 adapter: terminal observations, seeding, and stock SB3 learners on it."""

from __future__ import annotations

import numpy as np
import pytest
from stable_baselines3 import PPO

from ambulo.configs.errors import ActionError
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.task.build import make_batch
from ambulo.envs.vr.task.env import action_space
from ambulo.policies.sb3_batch_env import Sb3BatchEnv

NUM_ENVS = 6
LIMIT = 12


def make(**environment: object) -> Sb3BatchEnv:
    """Six envs in two open levels, a short step limit."""
    config = NavigationConfig().override(
        "environment", levels=("open",), levels_per_family=2, max_episode_steps=LIMIT,
        **environment,
    )  # fmt: skip
    return Sb3BatchEnv(make_batch(config, NUM_ENVS, seed=1), action_space(config))


def test_truncation_delivers_the_last_observation() -> None:
    """At the limit all are truncated; the next observation is already a new episode's."""
    env = make()
    env.reset()
    starts = env.batch.episode.start_distance.copy()
    idle = np.zeros((NUM_ENVS, 3), np.float32)
    for _ in range(LIMIT - 1):
        last, _, dones, infos = env.step(idle)
        assert not dones.any()
        assert infos == [{}] * NUM_ENVS
    obs, rewards, dones, infos = env.step(idle)
    assert dones.all()
    np.testing.assert_allclose(rewards, -20.0)
    for index, info in enumerate(infos):
        assert info["TimeLimit.truncated"]
        assert info["is_success"] is False
        assert info["episode"]["l"] == LIMIT
        assert info["episode"]["r"] == pytest.approx(-20.0)
        assert info["path"] == 0.0
        assert info["start_distance"] == pytest.approx(starts[index], rel=1e-6)
        np.testing.assert_array_equal(info["terminal_observation"], last[index])
    assert not np.array_equal(obs, last)


def test_agents_whose_level_is_over_are_marked_as_cut_off() -> None:
    """They are truncated in the midst of episodes, which do not count as failures."""
    env = make(agents=3, goal_distance=(2.0, 4.0))
    env.reset()
    rng = np.random.default_rng(0)
    cut = whole = 0
    for _ in range(400):
        *_, infos = env.step(rng.uniform(-1, 1, (NUM_ENVS, 3)).astype(np.float32))
        for info in filter(None, infos):
            whole += not info["cut_off"]
            if info["cut_off"]:
                cut += 1
                assert info["TimeLimit.truncated"]
                assert not info["is_success"]
                assert info["episode"]["l"] < LIMIT
    assert 0 < cut < 0.2 * whole


def test_returned_observations_are_copies() -> None:
    """SB3 keeps observations; the next step must not change them."""
    env = make()
    first = env.reset()
    kept = first.copy()
    second, *_ = env.step(np.ones((NUM_ENVS, 3), np.float32))
    np.testing.assert_array_equal(first, kept)
    assert not np.array_equal(first, second)


def test_seed_repeats_the_same_episodes() -> None:
    """`seed` before `reset`, as SB3 does it."""
    env = make()
    firsts = []
    for _ in range(2):
        env.seed(5)
        firsts.append(env.reset())
    np.testing.assert_array_equal(*firsts)


def test_bad_actions_do_not_pass() -> None:
    """A NaN from a diverged policy is named, not simulated."""
    env = make()
    env.reset()
    with pytest.raises(ActionError, match="environment 2"):
        env.step(
            np.where(np.arange(NUM_ENVS)[:, None] == 2, np.nan, np.zeros((NUM_ENVS, 3)))
        )


def test_stock_sb3_learns_on_it() -> None:
    """SB3's own PPO runs on the adapter, with its episode statistics."""
    env = make()
    model = PPO(
        "MlpPolicy", env, n_steps=16, batch_size=32, n_epochs=1, device="cpu", seed=0
    )
    model.learn(NUM_ENVS * 32)
    assert len(model.ep_info_buffer) > 0
    assert len(model.ep_success_buffer) > 0
