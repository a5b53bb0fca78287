"""Every environment behaves as Gymnasium's own vector environments do."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import cloudpickle
import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import ambulo.envs
from ambulo.configs.errors import ActionError, ConfigError

SETTINGS: dict[str, dict[str, Any]] = {
    "ambulo/VRNavigation-v0": {"level": "clutter", "levels_per_family": 2},
    "ambulo/EmbodiedNavigation-v0": {"level": "clutter", "levels_per_family": 2},
    "ambulo/Stand-v0": {"push_impulse": (5, 30), "push_interval": (0.2, 0.6)},
    "ambulo/WalkCommands-v0": {"push_impulse": (5, 30), "push_interval": (0.2, 0.6)},
    "ambulo/GetUp-v0": {"push_impulse": (5, 30), "push_interval": (0.2, 0.6)},
    "ambulo/Locomote-v0": {"push_impulse": (5, 30), "push_interval": (0.2, 0.6)},
    "ambulo/Imitate-v0": {"push_impulse": (5, 30), "push_interval": (0.2, 0.6)},
    "ambulo/Gait-v0": {"push_impulse": (5, 30), "push_interval": (0.2, 0.6)},
    "ambulo/Track-v0": {"push_impulse": (5, 30), "push_interval": (0.2, 0.6)},
    "ambulo/TrackBody-v0": {
        "push_impulse": (5, 30),
        "push_interval": (0.2, 0.6),
        "obstacles": 0.5,
    },
}


def make_vec(
    name: str, mode: str, **more: Any
) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """Three environments with short episodes."""
    return gymnasium.make_vec(
        name,
        num_envs=3,
        vectorization_mode=mode,
        step_limit=25,
        **SETTINGS[name],
        **more,
    )


def single(name: str) -> gymnasium.Env[Any, Any]:
    """One environment with short episodes."""
    return gymnasium.make(name, step_limit=25, **SETTINGS[name])


def pickled(env: Any) -> Any:
    return pickle.loads(pickle.dumps(env))


def cloudpickled(env: Any) -> Any:
    return pickle.loads(cloudpickle.dumps(env))


def play(env: Any, seed: int | None = None) -> list[Any]:
    """Observations, rewards and ends of 30 steps; from the state now if `seed` is None."""
    seen, rng = [], np.random.default_rng(1)
    if seed is not None:
        seen.append(env.reset(seed=seed)[0])
    for _ in range(30):
        actions = rng.uniform(-1, 1, env.action_space.shape).astype(np.float32)
        obs, reward, terminated, truncated, _ = env.step(actions)
        seen += [obs, reward, terminated, truncated]
        if isinstance(env, gymnasium.Env) and (terminated or truncated):
            seen.append(env.reset()[0])
    return seen


def test_all_environments_are_compared() -> None:
    assert ambulo.envs
    ids = {name for name in gymnasium.registry if name.startswith("ambulo/")}
    assert ids == set(SETTINGS)


@pytest.mark.parametrize("name", SETTINGS)
def test_next_step_autoreset_equals_gymnasiums(name: str) -> None:
    """Bit for bit, with NaN for an environment that waits for its reset."""
    sync, ours = make_vec(name, "sync"), make_vec(name, "vector_entry_point")
    assert ours.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    np.testing.assert_array_equal(sync.reset(seed=5)[0], ours.reset(seed=5)[0])
    rng, ended, waiting = np.random.default_rng(0), 0, np.zeros(3, np.bool_)
    for _ in range(80):
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
    sync.close()
    ours.close()


@pytest.mark.parametrize("name", SETTINGS)
def test_infos_of_resets_have_the_keys_of_steps(name: str) -> None:
    """Bit for bit as Gymnasium's vector environment, with those of a reset where one begins."""
    env, many = gymnasium.make(name, step_limit=4), make_vec(name, "vector_entry_point")
    _, first = env.reset(seed=3)
    _, several = many.reset(seed=[3, None, None])
    for _ in range(6):
        *_, ended, out, info = env.step(np.zeros(env.action_space.shape, np.float32))
        assert set(info) == set(first)
        if ended or out:
            break
    assert set(several) == {*first, *(f"_{key}" for key in first)}
    single = gymnasium.make(name, **SETTINGS[name])
    _, alone = single.reset(seed=3)
    assert {key: several[key][0] for key in alone} == alone


@pytest.mark.parametrize("name", SETTINGS)
def test_the_time_limit_stands_in_the_specification(name: str) -> None:
    env, many = (
        gymnasium.make(name, step_limit=40),
        make_vec(name, "vector_entry_point"),
    )
    assert env.spec is not None
    assert many.spec is not None
    assert (env.spec.max_episode_steps, many.spec.max_episode_steps) == (40, 25)
    again = gymnasium.make(env.spec)
    assert again.spec is not None
    assert again.spec.max_episode_steps == 40


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("copied", [copy.deepcopy, pickled, cloudpickled])
def test_a_copy_goes_on_as_its_original(
    name: str, many: bool, copied: Callable[[Any], Any]
) -> None:
    """Through resets that draw from the generators, and from before the first one."""
    env = make_vec(name, "vector_entry_point") if many else single(name)
    for _ in range(2):
        other = copied(env)
        outcomes = [play(one, seed=7) for one in (env, other)]
        for one, same in zip(*outcomes, strict=True):
            np.testing.assert_array_equal(one, same)
    other = copied(env)  # in the middle of episodes
    for one, same in zip(play(env), play(other), strict=True):
        np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize("name", SETTINGS)
def test_an_unknown_keyword_is_a_type_error(name: str) -> None:
    """Wrappers try `frameskip`, and continue without it after Python's own text."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'frameskip'"):
        gymnasium.make(name, frameskip=4)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_masked_reset_seeds_only_what_it_resets(name: str) -> None:
    """Bit for bit as Gymnasium's; what is refused leaves all generators as they were."""
    sync, ours = make_vec(name, "sync"), make_vec(name, "vector_entry_point")
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


def test_actions_of_a_wrong_shape_are_named_while_bodies_wait() -> None:
    env = gymnasium.make_vec("ambulo/Stand-v0", num_envs=2, step_limit=1)
    env.reset(seed=0)
    env.step(np.zeros(env.action_space.shape))
    for bad in (0.0, np.zeros(3), np.zeros((2, 1))):
        with pytest.raises(ActionError, match="expected shape"):
            env.step(bad)
