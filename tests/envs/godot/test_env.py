"""The Gymnasium environments with a real engine behind them."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import ambulo.envs  # noqa: F401
from ambulo.envs.vr.task.env import VRNavigationVectorEnv

ID = "ambulo/VRNavigation-v0"


@pytest.fixture
def url(engine) -> str:
    return f"http://127.0.0.1:{engine.port}"


@pytest.mark.parametrize("mode", ["continuous", "discrete"])
def test_gymnasium_accepts_it(url, mode) -> None:
    env = gymnasium.make(
        ID, world="godot", godot_url=url, level="open", levels_per_family=1, mode=mode
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*infinity.*")
        warnings.filterwarnings("ignore", message=".*render.*")
        check_env(env.unwrapped, skip_render_check=True)
    env.close()


def test_episodes_are_those_of_the_compiled_world(url) -> None:
    settings = {"level": ("open", "maze"), "levels_per_family": 2, "num_envs": 4}
    ours = VRNavigationVectorEnv(world="godot", godot_url=url, **settings)
    theirs = VRNavigationVectorEnv(world="compiled", **settings)
    ours.reset(seed=3)
    theirs.reset(seed=3)
    rng = np.random.default_rng(0)
    for _ in range(25):
        action = rng.uniform(-1, 1, (4, 3)).astype(np.float32)
        a, reward, *_, info = ours.step(action)
        b, other, *_ = theirs.step(action)
        np.testing.assert_allclose(a, b, atol=0.15)
        np.testing.assert_allclose(reward, other, atol=0.5)
    assert not info["bridge_fault"].any()
    ours.close()
    theirs.close()
