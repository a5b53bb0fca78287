"""Every environment behaves as Gymnasium's own vector environments do."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import ambulo.envs

SETTINGS: dict[str, dict[str, Any]] = {
    "ambulo/VRNavigation-v0": {"level": "clutter", "levels_per_family": 2},
    "ambulo/Stand-v0": {"push_impulse": (5, 30), "push_interval": (0.2, 0.6)},
    "ambulo/Locomote-v0": {"push_impulse": (5, 30), "push_interval": (0.2, 0.6)},
    "ambulo/Imitate-v0": {"push_impulse": (5, 30), "push_interval": (0.2, 0.6)},
    "ambulo/Gait-v0": {"push_impulse": (5, 30), "push_interval": (0.2, 0.6)},
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
def test_an_unknown_keyword_is_a_type_error(name: str) -> None:
    """Wrappers try `frameskip`, and continue without it after Python's own text."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'frameskip'"):
        gymnasium.make(name, frameskip=4)
