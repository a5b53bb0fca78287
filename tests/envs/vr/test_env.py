"""The Gymnasium fronts: checkers, seeding, autoreset, and that they are one implementation."""

from __future__ import annotations

import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.env_checker import check_env as sb3_check_env

import ambulo.envs  # noqa: F401  (registers the environments)
from ambulo.configs.errors import ActionError, ConfigError

ID = "ambulo/VRNavigation-v0"
SETTINGS = [
    {},
    {"frame": "world", "rays_see_edges": False},
    {"mode": "discrete"},
    {"format": "dict"},
    {"memory": "map", "tasks": ("navigate", "follow", "reach", "patrol")},
    {"world": "mujoco"},
]


def make(**settings: object) -> gymnasium.Env:
    """A small environment."""
    given = {"level": "pillars", "levels_per_family": 2, "step_limit": 40}
    return gymnasium.make(ID, **(given | settings))


@pytest.mark.parametrize("settings", SETTINGS)
def test_checkers_pass(settings: dict[str, object]) -> None:
    """Gymnasium's and SB3's checkers find nothing."""
    env = make(**settings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*infinity.*")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        check_env(env.unwrapped, skip_render_check=True)
    sb3_check_env(env.unwrapped, warn=False)
    env.close()


def test_published_observation_is_48_float32() -> None:
    """The default observation has the published size and type."""
    env = make()
    assert env.observation_space.shape == (48,)
    assert env.observation_space.dtype == np.float32
    obs, _ = env.reset(seed=0)
    assert obs.shape == (48,)
    assert (obs[13:29] <= 5.0).all()


@pytest.mark.parametrize("settings", SETTINGS)
def test_equal_seeds_give_equal_rollouts(settings: dict[str, object]) -> None:
    """Two equally seeded copies agree bit for bit, over episode ends too."""
    rollouts = []
    for _ in range(2):
        env = make(**settings)
        env.action_space.seed(3)
        rows = []
        obs, _ = env.reset(seed=7)
        for _ in range(100):
            rows.append(obs)
            obs, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            rows.append(reward)
            if terminated or truncated:
                obs, _ = env.reset()
        rollouts.append(pickle.dumps(rows))
        env.close()
    assert rollouts[0] == rollouts[1]


def test_time_limit_truncates_and_success_terminates() -> None:
    """The step limit is never a termination."""
    env = make()
    env.reset(seed=0)
    for step in range(40):
        _, _, terminated, truncated, info = env.step(np.zeros(3, np.float32))
        assert not terminated
        assert truncated == (step == 39)
    assert info["is_success"] is False


def test_vector_env_equals_single_envs() -> None:
    """A player's episode does not depend on how many others there are."""
    given = {"level": "clutter", "levels_per_family": 2, "step_limit": 30}
    vector = gymnasium.make_vec(
        ID, num_envs=3, vectorization_mode="vector_entry_point", **given
    )
    obs, _ = vector.reset(seed=[11, 12, 13])
    singles = [gymnasium.make(ID, **given) for _ in range(3)]
    firsts = [env.reset(seed=11 + i)[0] for i, env in enumerate(singles)]
    np.testing.assert_array_equal(obs, firsts)
    rng = np.random.default_rng(0)
    for _ in range(30):
        actions = rng.uniform(-1, 1, (3, 3)).astype(np.float32)
        obs, reward, terminated, truncated, infos = vector.step(actions)
        for i, env in enumerate(singles):
            one = env.step(actions[i])
            last = infos["final_obs"][i] if terminated[i] or truncated[i] else obs[i]
            np.testing.assert_array_equal(last, one[0])
            assert reward[i] == one[1]
            assert (terminated[i], truncated[i]) == one[2:4]
    assert truncated.all()


def test_next_step_autoreset() -> None:
    """NEXT_STEP shows the last observation, then the first of the next episode."""
    vector = gymnasium.make_vec(
        ID, num_envs=2, vectorization_mode="vector_entry_point", level="open",
        levels_per_family=1, step_limit=5, autoreset_mode=AutoresetMode.NEXT_STEP,
    )  # fmt: skip
    vector.reset(seed=0)
    idle = np.zeros((2, 3), np.float32)
    for _ in range(5):
        obs, _, _, truncated, _ = vector.step(idle)
    assert truncated.all()
    fresh, reward, terminated, truncated, _ = vector.step(idle)
    assert not (terminated | truncated).any()
    assert (reward == 0).all()
    assert not np.array_equal(fresh, obs)


def test_disabled_autoreset_asks_for_the_mask() -> None:
    """DISABLED refuses to step a finished player until it is reset by mask."""
    vector = gymnasium.make_vec(
        ID, num_envs=2, vectorization_mode="vector_entry_point", level="open",
        levels_per_family=1, step_limit=3, autoreset_mode=AutoresetMode.DISABLED,
    )  # fmt: skip
    vector.reset(seed=0)
    idle = np.zeros((2, 3), np.float32)
    for _ in range(3):
        vector.step(idle)
    with pytest.raises(ConfigError, match="reset_mask"):
        vector.step(idle)
    vector.reset(options={"reset_mask": np.array([True, True])})
    vector.step(idle)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_actions_that_are_not_finite_are_refused(bad: float) -> None:
    """The batch is rejected whole, before anything moved."""
    env = make()
    env.reset(seed=0)
    before = env.unwrapped.batch.world.state.position.copy()
    with pytest.raises(ActionError, match="finite"):
        env.step(np.array([0.0, bad, 0.0]))
    np.testing.assert_array_equal(before, env.unwrapped.batch.world.state.position)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"level": "mazze"}, "maze"),
        ({"frame": "body"}, "frame"),
        ({"framee": "head"}, "did you mean 'frame'"),
        ({"num_ray_sensors": 1}, "num_ray_sensors"),
        ({"goal_distance": (9.0, 5.0)}, "min <= max"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, object], words: str) -> None:
    """One line with the key and the rule."""
    with pytest.raises(ConfigError, match=words):
        make(**settings)
