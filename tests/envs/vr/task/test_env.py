"""The Gymnasium fronts: checkers, seeding, autoreset, and that they are one implementation."""

from __future__ import annotations

import json
import pickle
import sys
import types
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.env_checker import check_env as sb3_check_env

import ambulo.envs  # noqa: F401  (registers the environments)
from ambulo.configs.errors import ActionError, AmbuloError, ConfigError
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.task.env import VRNavigationVectorEnv
from ambulo.envs.vr.task.reward import Transition

ID = "ambulo/VRNavigation-v0"
SETTINGS = [
    {},
    {"frame": "world", "rays_see_edges": False},
    {"mode": "discrete"},
    {"format": "dict"},
    {"memory": "map", "tasks": ("navigate", "follow", "reach", "patrol")},
    {"world": "mujoco"},
    {"world": "mujoco", "frame": "world", "mode": "discrete"},
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


@pytest.mark.parametrize("settings", SETTINGS)
def test_equal_seeds_give_equal_rollouts(settings: dict[str, object]) -> None:
    """Two equally seeded copies agree bit for bit, over episode ends too."""
    rollouts = []
    for _ in range(2):
        env = make(**settings)
        env.action_space.seed(3)
        rows = []
        obs, _ = env.reset(seed=7)
        for _ in range(45):
            rows.append(obs)
            obs, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            rows.append(reward)
            if terminated or truncated:
                obs, _ = env.reset()
        rollouts.append(pickle.dumps(rows))
        env.close()
    assert rollouts[0] == rollouts[1]


def test_disabled_autoreset_asks_for_the_mask() -> None:
    """DISABLED refuses to step a finished env until it is reset by mask."""
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


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"level": 5}, r"levels\[0\] = 5"),
        ({"config": {"ppo": {"gama": 1}}}, "did you mean 'ppo.gamma'"),
        ({"custom": ("no_such_module_xyz:A",)}, "cannot be made"),
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


def test_next_step_counts_a_success_once() -> None:
    """The step that only resets an env has no success of its own."""
    vector = gymnasium.make_vec(
        ID, num_envs=2, level="open", levels_per_family=1, goal_radius=60.0,
        autoreset_mode="NextStep",
    )  # fmt: skip
    vector.reset(seed=0)
    idle, shown = np.zeros((2, 3), np.float32), []
    for _ in range(4):
        _, reward, terminated, _, infos = vector.step(idle)
        np.testing.assert_array_equal(infos["is_success"], terminated)
        np.testing.assert_array_equal(infos["reward/goal"], reward)
        shown.append(infos["is_success"].tolist())
    assert shown == [[True, True], [False, False]] * 2


def test_the_vector_env_is_what_make_vec_makes() -> None:
    """Without a mode, too; a mask needs an environment; bad arguments are named."""
    given = {"num_envs": 2, "level": "open", "levels_per_family": 1}
    vector = gymnasium.make_vec(ID, **given)
    assert isinstance(vector.unwrapped, VRNavigationVectorEnv)
    with pytest.raises(AmbuloError, match="reset before step"):
        vector.step(np.zeros((2, 3)))
    vector.reset(seed=0)
    with pytest.raises(ConfigError, match="false everywhere"):
        vector.reset(options={"reset_mask": np.zeros(2, np.bool_)})
    with pytest.raises(ActionError, match="not numbers"):
        vector.step("ahead")
    for bad, words in (
        ({"autoreset_mode": "SameSteps"}, "did you mean 'SameStep'"),
        ({"render_mode": "rgb_array"}, "render_mode = 'rgb_array'"),
    ):
        with pytest.raises(ConfigError, match=words):
            gymnasium.make_vec(ID, **given, **bad)


class Brisk:
    """A custom reward term."""

    name = "brisk"

    def __call__(self, transition: Transition) -> np.ndarray:
        """Half a point for each env."""
        return np.full_like(transition.progress, 0.5)


def test_custom_terms_are_paid_in_both_fronts(monkeypatch: pytest.MonkeyPatch) -> None:
    """`custom` is a keyword of `make` and `make_vec` like any other."""
    module = types.ModuleType("my_rewards")
    module.Brisk = Brisk
    monkeypatch.setitem(sys.modules, "my_rewards", module)
    given = {"level": "open", "levels_per_family": 1, "custom": ("my_rewards:Brisk",)}
    env = gymnasium.make(ID, **given)
    env.reset(seed=0)
    assert env.step(np.zeros(3, np.float32))[4]["reward/brisk"] == 0.5
    vector = gymnasium.make_vec(ID, num_envs=2, **given)
    vector.reset(seed=0)
    _, reward, _, _, infos = vector.step(np.zeros((2, 3)))
    np.testing.assert_array_equal(infos["reward/brisk"], [0.5, 0.5])
    np.testing.assert_allclose(reward, 0.5)


def test_a_spec_makes_the_environment_again() -> None:
    config = {"environment": {"levels": ["pillars"], "levels_per_family": 1}}
    env = gymnasium.make(ID, config=config)
    first, _ = env.reset(seed=5)
    for spec in (
        pickle.loads(pickle.dumps(env.spec)),
        EnvSpec.from_json(env.spec.to_json()),
    ):
        again = gymnasium.make(spec)
        np.testing.assert_array_equal(again.reset(seed=5)[0], first)


def test_level_files_and_configs_are_keywords(tmp_path: Path) -> None:
    """A file's own start is used; a goal left open varies with the seed."""
    data = {"name": "mine", "bounds": [0, 0, 20, 20], "goal": None}
    data["start"] = {"position": [3, 4], "yaw": 0.5}
    (tmp_path / "mine.json").write_text(json.dumps(data))
    config = NavigationConfig().override("observations", frame="world")
    env = gymnasium.make(ID, config=config, level_file=tmp_path)
    goals = set()
    for seed in (*range(10), 0):
        obs, info = env.reset(seed=seed)
        assert info["level"] == "mine"
        np.testing.assert_allclose(obs[:2], [3, 4])
        goals.add((seed, *obs[41:43].tolist()))
    assert len(goals) == 10
    assert len({goal[1:] for goal in goals}) > 3


def test_render_is_one_picture(gl: None) -> None:
    """`render_mode="rgb_array"` passes Gymnasium's own check."""
    env = gymnasium.make(ID, render_mode="rgb_array", level="open", levels_per_family=1)
    env.reset(seed=0)
    frame = env.render()
    assert frame.shape == (480, 640, 3)
    assert frame.dtype == np.uint8
    assert frame.flags.c_contiguous
    env.close()


def test_final_observations_are_of_the_finished_episode() -> None:
    """SAME_STEP: only finished envs have them, as copies, also as dictionaries."""
    vector = gymnasium.make_vec(
        ID, num_envs=3, level="open", levels_per_family=1, format="dict",
        goal_distance=(5.0, 6.0), designed_start=0.0, step_limit=50,
        autoreset_mode=AutoresetMode.SAME_STEP,
    )  # fmt: skip
    obs, _ = vector.reset(seed=0)
    seen = 0
    for _ in range(120):
        ahead = obs["goal_direction"]
        action = np.stack([-ahead[:, 1], ahead[:, 0], 0 * ahead[:, 0]], axis=1)
        obs, _, terminated, truncated, infos = vector.step(action)
        done = terminated | truncated
        assert ("final_obs" in infos) == done.any()
        for i in np.flatnonzero(done):
            seen += 1
            last = infos["final_obs"][i]
            assert set(last) == set(vector.single_observation_space)
            if terminated[i] and infos["final_info"]["is_success"][i]:
                assert last["goal_distance"][0] < 1.0 < obs["goal_distance"][i, 0]
        if done.any() and not done.all():
            assert infos["final_obs"][np.flatnonzero(~done)[0]] is None
            np.testing.assert_array_equal(infos["_final_obs"], done)
    assert seen > 3
