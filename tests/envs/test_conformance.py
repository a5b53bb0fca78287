"""Every environment behaves as Gymnasium's own vector environments do."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import cloudpickle
import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers as w
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import ambulo.envs
from ambulo.configs.batch import TaskBatch
from ambulo.configs.errors import ActionError, ConfigError
from ambulo.envs.gym_batch_env import GymBatchEnv

_PUSHES: dict[str, Any] = {
    "push_impulse": (5, 30), "push_interval": (0.05, 0.2), "target_noise": 0.01,
}  # fmt: skip
_LEVELS: dict[str, Any] = {"level": "clutter", "levels_per_family": 2}
_FURTHER: dict[str, dict[str, Any]] = {
    "ambulo/VRNavigation-v0": _LEVELS,
    "ambulo/EmbodiedNavigation-v0": _LEVELS,
    "ambulo/Locomote-v0": {**_PUSHES, "speed": (1.0, 1.1)},
    "ambulo/TrackBody-v0": {**_PUSHES, "obstacles": 0.5},
}
assert ambulo.envs.register_tasks
SETTINGS = {
    name: _FURTHER.get(name, _PUSHES)
    for name in gymnasium.registry
    if name.startswith("ambulo/") and name != "ambulo/Godot-v0"
}
"""Of every environment that is registered, but for games, which need an engine."""
DEAR = {
    f"ambulo/{name}-v0" for name in ("EmbodiedNavigation", "Gait", "Locomote", "Track")
}
"""Environments whose simulation or reference takes most of the time."""
LIMIT = 8
"""Steps of an episode."""


def make_vec(name: str, mode: str) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """Three environments with short episodes."""
    return gymnasium.make_vec(
        name, num_envs=3, vectorization_mode=mode, step_limit=LIMIT, **SETTINGS[name]
    )


def single(name: str) -> gymnasium.Env[Any, Any]:
    """One environment with short episodes."""
    return gymnasium.make(name, step_limit=LIMIT, **SETTINGS[name])


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=[pytest.mark.integration] if name in DEAR else [])
        for name in SETTINGS
    ],
)
def name(request: pytest.FixtureRequest) -> str:
    """The identifier of an environment."""
    return str(request.param)


@pytest.fixture(scope="module")
def sync(name: str) -> Iterator[Any]:
    """Gymnasium's own vector environment; all tests reset it."""
    env = make_vec(name, "sync")
    yield env
    env.close()


@pytest.fixture(scope="module")
def ours(name: str) -> Iterator[Any]:
    """Our vector environment; all tests reset it."""
    env = make_vec(name, "vector_entry_point")
    yield env
    env.close()


def pickled(env: Any) -> Any:
    return pickle.loads(pickle.dumps(env))


def cloudpickled(env: Any) -> Any:
    return pickle.loads(cloudpickle.dumps(env))


def play(env: Any, seed: int | None = None) -> list[Any]:
    """Observations, rewards and ends of 12 steps; from the state now if `seed` is None."""
    seen, rng = [], np.random.default_rng(1)
    if seed is not None:
        seen.append(env.reset(seed=seed)[0])
    for _ in range(12):
        actions = rng.uniform(-1, 1, env.action_space.shape).astype(np.float32)
        obs, reward, terminated, truncated, _ = env.step(actions)
        seen += [obs, reward, terminated, truncated]
        if isinstance(env, gymnasium.Env) and (terminated or truncated):
            seen.append(env.reset()[0])
    return seen


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_gymnasiums_checker_passes(sync: Any) -> None:
    check_env(sync.envs[0].unwrapped, skip_render_check=True)


def test_next_step_autoreset_equals_gymnasiums(sync: Any, ours: Any) -> None:
    """Bit for bit, with NaN for an environment that waits for its reset."""
    assert ours.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    np.testing.assert_array_equal(sync.reset(seed=5)[0], ours.reset(seed=5)[0])
    rng, ended, waiting = np.random.default_rng(0), 0, np.zeros(3, np.bool_)
    for _ in range(30):
        actions = rng.uniform(-1, 1, sync.action_space.shape).astype(np.float32)
        actions[waiting] = np.nan
        expected, result = sync.step(actions), ours.step(actions)
        for one, other in zip(expected[:4], result[:4], strict=True):
            np.testing.assert_array_equal(one, other)
        for key in expected[4]:
            np.testing.assert_array_equal(expected[4][key], result[4][key], key)
        waiting = expected[2] | expected[3]
        ended += int(waiting.sum())
    assert ended > 3


def test_infos_of_resets_have_the_keys_of_steps(sync: Any, ours: Any) -> None:
    """Bit for bit as Gymnasium's vector environment, with those of a reset where one begins."""
    env = sync.envs[0]
    _, first = env.reset(seed=3)
    _, several = ours.reset(seed=[3, None, None])
    assert set(several) == {*first, *(f"_{key}" for key in first)}
    assert {key: several[key][0] for key in first} == first
    for _ in range(LIMIT):
        *_, ended, out, info = env.step(np.zeros(env.action_space.shape, np.float32))
        assert set(info) == set(first)
        if ended or out:
            break
    assert ended or out


def test_reset_in_the_same_step_equals_gymnasiums(name: str, sync: Any) -> None:
    settings = {"step_limit": LIMIT, "autoreset_mode": "SameStep", **SETTINGS[name]}
    env = gymnasium.make_vec(name, 3, "vector_entry_point", **settings)
    obs, _ = env.reset(seed=5)
    np.testing.assert_array_equal(obs, sync.reset(seed=5)[0])
    for _ in range(LIMIT):
        obs, _, terminated, truncated, infos = env.step(
            np.zeros(env.action_space.shape)
        )
        if (terminated | truncated).any():
            assert set(np.flatnonzero(terminated | truncated)) == {
                k for k, last in enumerate(infos["final_obs"]) if last is not None
            }
    assert (terminated | truncated).any()
    env.close()


def test_the_time_limit_stands_in_the_specification(sync: Any, ours: Any) -> None:
    spec = sync.envs[0].spec
    assert (spec.max_episode_steps, ours.spec.max_episode_steps) == (LIMIT, LIMIT)
    again = gymnasium.make(spec)
    assert again.spec is not None
    assert again.spec.max_episode_steps == LIMIT


@pytest.mark.parametrize(
    ("many", "ways"),
    [
        (False, (copy.deepcopy, pickled, cloudpickled)),
        (True, (pickled, cloudpickled, copy.deepcopy)),
    ],
)
def test_a_copy_goes_on_as_its_original(
    name: str, many: bool, ways: tuple[Callable[[Any], Any], ...]
) -> None:
    """Through resets that draw from the generators, and from before the first one."""
    env = make_vec(name, "vector_entry_point") if many else single(name)
    for copied, seed in zip(ways, (7, None, 8), strict=True):  # None: within episodes
        other = copied(env)
        for one, same in zip(play(env, seed), play(other, seed), strict=True):
            np.testing.assert_array_equal(one, same)


def test_an_unknown_keyword_is_a_type_error(name: str) -> None:
    """Wrappers try `frameskip`, and continue without it after Python's own text."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'frameskip'"):
        gymnasium.make(name, frameskip=4)


def test_a_masked_reset_seeds_only_what_it_resets(sync: Any, ours: Any) -> None:
    """Bit for bit as Gymnasium's; what is refused leaves all generators as they were."""
    mask = np.array([True, False, True])
    for env in (sync, ours):
        env.reset(seed=5)
    refused: tuple[tuple[Any, Any], ...] = (
        (9, np.zeros(3, np.bool_)), (-1, None), ([1, -2, 3], None), (1.5, None),
    )  # fmt: skip
    for seed, none in refused:
        with pytest.raises(ConfigError):
            ours.reset(seed=seed, options={"reset_mask": none})
    for seed in (77, None):
        options = {"reset_mask": mask} if seed else {}
        expected, result = (
            env.reset(seed=seed, options={**options})[0] for env in (sync, ours)
        )
        np.testing.assert_array_equal(expected, result)


def test_the_batch_keeps_the_interface(ours: Any) -> None:
    assert isinstance(ours, GymBatchEnv)
    batch: TaskBatch = ours.batch
    assert batch.num_envs == 3
    batch.seed([1, None, 2])
    first = batch.reset(np.arange(3)).copy()
    assert first.dtype == np.float32
    assert first.shape == batch.obs.shape
    actions = np.zeros(ours.action_space.shape)
    obs, rewards, terminated, truncated, info = batch.step(actions)
    assert obs.shape == first.shape
    assert rewards.shape == terminated.shape == truncated.shape == (3,)
    assert info["is_success"].shape == (3,)
    terms = [value for key, value in info.items() if key.startswith("reward/")]
    np.testing.assert_allclose(np.sum(terms, axis=0), rewards, atol=1e-9)
    for bad in (actions[:2], actions[:, 1:], np.full_like(actions, np.nan)):
        with pytest.raises(ActionError):
            batch.step(bad)
    episode = batch.episode
    np.testing.assert_array_equal(episode.steps, [1, 1, 1])
    np.testing.assert_array_equal(episode.reward, rewards)
    assert episode.path.shape == episode.start_distance.shape == (3,)
    batch.reset(np.array([0]))
    np.testing.assert_array_equal(batch.episode.steps, [0, 1, 1])


STACKS: dict[str, Callable[[Any], Any]] = {
    "normalized": lambda env: w.NormalizeReward(w.NormalizeObservation(env)),
    "stacked": lambda env: w.FlattenObservation(w.FrameStackObservation(env, 3)),
    "actions": lambda env: w.ClipAction(w.RescaleAction(env, -2.0, 2.0)),
    "delayed": lambda env: w.DelayObservation(env, 2),
    "timed": lambda env: w.TimeAwareObservation(w.TimeLimit(env, 6)),
}


def test_stacks_of_wrappers(sync: Any) -> None:
    """All in a row around one environment; statistics outermost."""
    for wrap in STACKS.values():
        stack = w.RecordEpisodeStatistics(wrap(sync.envs[0]))
        obs, _ = stack.reset(seed=1)
        episodes = 0
        for _ in range(2 * LIMIT + 1):
            assert stack.observation_space.contains(obs)
            obs, reward, terminated, truncated, info = stack.step(
                stack.action_space.sample()
            )
            assert np.isfinite(reward)
            if terminated or truncated:
                episodes += int(info["episode"]["l"] <= LIMIT)
                obs, _ = stack.reset()
        assert episodes >= 2


def test_actions_of_a_wrong_shape_are_named_while_bodies_wait() -> None:
    env = gymnasium.make_vec("ambulo/Stand-v0", num_envs=2, step_limit=1)
    env.reset(seed=0)
    env.step(np.zeros(env.action_space.shape))
    for bad in (0.0, np.zeros(3), np.zeros((2, 1))):
        with pytest.raises(ActionError, match="expected shape"):
            env.step(bad)
