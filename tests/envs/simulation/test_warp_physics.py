"""MuJoCo Warp beside MuJoCo: the same bodies, observations and checkpoints.

On a machine without a GPU these run on Warp's own CPU device.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import mujoco
import numpy as np
import pytest

import ambulo
from ambulo.configs.errors import AmbuloError, ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.registry import load_character
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.simulation import warp_physics
from ambulo.envs.simulation.simulation import CharacterSimulation

pytestmark = [
    pytest.mark.slow,  # Warp compiles for two minutes
    pytest.mark.skipif(
        find_spec("mujoco_warp") is None or find_spec("warp") is None,
        reason="needs ambulo[gpu]",
    ),
]

BODIES = 3
WALKERS: dict[str, dict[str, Any]] = {
    "human23": {"task": "imitate"},
    "stand": {"task": "stand"},
    "terrain": {"task": "locomote", "terrain": "rough"},
    "myolegs": {"character": "myolegs", "actuation": "torque"},
    "muscles": {"character": "myolegs", "actuation": "muscle"},
}


def batch_of(settings: Mapping[str, Any], backend: str) -> LocomotionBatch:
    """Bodies of a task on a back end, reset."""
    environment = {**settings, "backend": backend}
    config = LocomotionConfig.model_validate({"environment": environment})
    batch = make_batch(config, BODIES, seed=5)
    assert isinstance(batch, LocomotionBatch)
    batch.reset(np.arange(BODIES))
    return batch


@pytest.mark.parametrize("name", WALKERS)
def test_a_walk_is_that_of_mujoco(name: str) -> None:
    """Half a second: single precision and another solver, but the same motion."""
    both = [batch_of(WALKERS[name], backend) for backend in ("cpu", "warp")]
    assert both[0].layout.schema() == both[1].layout.schema()
    np.testing.assert_allclose(both[1].obs, both[0].obs, atol=2e-3)
    rng = np.random.default_rng(0)
    for _ in range(15):
        actions = rng.uniform(-0.2, 0.2, (BODIES, both[0].action_size))
        steps = [batch.step(actions) for batch in both]
        assert (steps[0][2] == steps[1][2]).all()
    mine, theirs = both[1].simulation, both[0].simulation
    # Feet touch a height field at other points.
    position, reward = (0.1, 0.5) if name == "terrain" else (0.02, 0.05)
    assert np.abs(mine.qpos - theirs.qpos).max() < position
    np.testing.assert_allclose(mine.time, theirs.time, atol=1e-12)
    np.testing.assert_allclose(steps[1][1], steps[0][1], atol=reward)


def test_resumed_bit_for_bit() -> None:
    batch = batch_of(WALKERS["human23"], "warp")
    actions = np.zeros((BODIES, batch.action_size))
    for _ in range(3):
        batch.step(actions)
    state = batch.state_dict()
    batch.step(actions)
    after = batch.simulation.qpos.copy()
    again = batch_of(WALKERS["human23"], "warp")
    again.load_state_dict(state)
    again.step(actions)
    np.testing.assert_array_equal(again.simulation.qpos, after)


def test_state_crosses_over() -> None:
    """What one back end has saved the other continues."""
    saved = batch_of(WALKERS["human23"], "warp")
    actions = np.zeros((BODIES, saved.action_size))
    saved.step(actions)
    other = batch_of(WALKERS["human23"], "cpu")
    other.load_state_dict(saved.state_dict())
    np.testing.assert_allclose(other.observation(other.layout), saved.obs, atol=1e-3)
    both = [batch.step(actions)[1] for batch in (saved, other)]
    np.testing.assert_allclose(both[0], both[1], atol=0.02)


def test_a_body_that_falls_apart_does_not_touch_the_others() -> None:
    one, two = (batch_of(WALKERS["stand"], "warp") for _ in range(2))
    one.simulation.qvel[1] = 1e6
    actions = np.zeros((BODIES, one.action_size))
    for _ in range(2):
        steps = [batch.step(actions) for batch in (one, two)]
    assert steps[0][4]["is_fault"].tolist() == [False, True, False]
    kept = [0, 2]
    np.testing.assert_array_equal(one.simulation.qpos[kept], two.simulation.qpos[kept])


def test_data_of_one_simulation() -> None:
    simulation = batch_of(WALKERS["human23"], "warp").simulation
    data, other = (mujoco.MjData(simulation.model) for _ in range(2))
    simulation.copy_data(1, data)
    other.qpos[:], other.qvel[:] = simulation.qpos[1], simulation.qvel[1]
    mujoco.mj_forward(simulation.model, other)
    np.testing.assert_array_equal(data.qpos, other.qpos)
    np.testing.assert_allclose(data.xpos, other.xpos, atol=1e-5)
    np.testing.assert_allclose(data.qfrc_bias, other.qfrc_bias, atol=1e-2)


def test_one_id_for_both() -> None:
    with ambulo.make("Stand-v0", backend="warp") as env:
        obs, _ = env.reset(seed=1)
        with ambulo.make("Stand-v0") as other:
            expected, _ = other.reset(seed=1)
        np.testing.assert_allclose(obs, expected, atol=1e-3)
        twin = copy.deepcopy(env)
        action = np.zeros(env.action_space.shape or ())
        np.testing.assert_array_equal(twin.step(action)[0], env.step(action)[0])
    with pytest.raises(ConfigError, match="backend"):
        ambulo.make("Stand-v0", backend="wrap")


def test_what_warp_cannot_do_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    character = load_character("human23")
    character.model.opt.solver = mujoco.mjtSolver.mjSOL_PGS
    with pytest.raises(ConfigError, match=r"backend = warp: .*PGS"):
        CharacterSimulation(character, 1, backend="warp")
    monkeypatch.setattr(warp_physics, "MAX_CONSTRAINTS", 2)
    batch = batch_of(WALKERS["stand"], "warp")
    with pytest.raises(AmbuloError, match="more contacts or constraints"):
        batch.step(np.zeros((BODIES, batch.action_size)))
