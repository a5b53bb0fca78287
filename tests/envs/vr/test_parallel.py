"""Several agents in one level as a PettingZoo parallel environment."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ambulo.configs.errors import ActionError, AmbuloError, ConfigError
from ambulo.configs.vr import NavigationConfig

pytest.importorskip("pettingzoo", reason="needs ambulo[multi]")
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test

parallel = importlib.import_module("ambulo.envs.vr.parallel")

SMALL = {"level": ("clutter", "pits"), "levels_per_family": 2, "step_limit": 60}
AHEAD = np.array([0.0, 1.0, 0.0], np.float32)
IDLE = np.zeros(3, np.float32)


def _made(num_agents: int = 3, **settings: Any) -> Any:
    return parallel.parallel_env(num_agents=num_agents, **{**SMALL, **settings})


def _on_a_field(tmp_path: Path, *places: tuple[float, float, float]) -> Any:
    """Agents at x, y, yaw of `places` in an empty level; the goal is far away."""
    level = {
        "name": "field", "bounds": [-15, -15, 15, 15],
        "start": {"position": [-14, -14], "yaw": 0}, "goal": [14, 14],
    }  # fmt: skip
    file = tmp_path / "field.json"
    file.write_text(json.dumps(level))
    env = parallel.parallel_env(num_agents=len(places), level_file=str(file))
    env.reset(seed=0)
    _put(env, *places)
    return env


def _put(env: Any, *places: tuple[float, float, float]) -> None:
    envs = np.arange(len(places))
    env.batch.world.reset(envs, env.batch.task.slot, np.array(places))


@pytest.fixture(autouse=True)
def warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*observation space.*infinity.*")
        yield


@pytest.mark.integration
@pytest.mark.parametrize(
    "settings",
    [
        {}, {"format": "dict"}, {"mode": "discrete"}, {"num_agents": 1},
        {"tasks": ("navigate", "follow", "reach", "patrol"), "memory": "map"},
        {"level": "storeys", "num_agents": 5, "memory": "navigator"},
    ],
    ids=str,
)  # fmt: skip
def test_pettingzoos_own_tests_pass(settings: dict[str, Any]) -> None:
    parallel_api_test(_made(**settings), num_cycles=150)
    parallel_seed_test(lambda: _made(**settings), num_cycles=40)


def test_pettingzoos_test_of_agents_in_turn_passes() -> None:
    api_test(parallel.env(num_agents=2, **SMALL), num_cycles=60)


def test_spaces_are_those_of_the_single_environment() -> None:
    gymnasium = importlib.import_module("gymnasium")
    single = gymnasium.make("ambulo.envs:ambulo/VRNavigation-v0", **SMALL)
    env = _made()
    assert env.possible_agents == ["agent_0", "agent_1", "agent_2"]
    observations, infos = env.reset(seed=1)
    for agent in env.agents:
        assert env.observation_space(agent) == single.observation_space
        assert env.action_space(agent) == single.action_space
        assert observations[agent] in single.observation_space
    _, info = single.reset(seed=1)
    assert set(info) | {"cut_off"} == set(infos["agent_0"])
    assert len({info["level"] for info in infos.values()}) == 1


def test_who_has_finished_vanishes_and_the_others_go_on(tmp_path: Path) -> None:
    env = _on_a_field(tmp_path, (0, 0, 0), (3, 0, 0))
    env.batch.task.goal[1, :2] = (3.4, 0.0)  # within reach
    rays = env.batch.layout.slices()["ray_sensors"]
    result = env.step({"agent_0": IDLE, "agent_1": IDLE})
    observations, _, terminated, truncated, infos = result
    assert terminated == {"agent_0": False, "agent_1": True}
    assert not any(truncated.values())
    assert infos["agent_1"]["is_success"]
    assert env.agents == ["agent_0"]
    observations, *_ = env.step({"agent_0": AHEAD})
    assert list(observations) == ["agent_0"]
    assert observations["agent_0"][rays][0] == pytest.approx(5.0)
    for _ in range(25):
        *_, infos = env.step({"agent_0": AHEAD})
        assert infos["agent_0"]["collisions"] == 0
    assert env.batch.world.state.position[0, 0] > 3.5
    assert env.state().reshape(2, -1)[:, -1].tolist() == [1.0, 0.0]


def test_all_are_truncated_at_the_limit_and_nothing_follows() -> None:
    env = _made(2, level="open", step_limit=5)
    env.reset(seed=0)
    for _ in range(5):
        *_, truncated, _ = env.step(dict.fromkeys(env.agents, IDLE))
    assert truncated == {"agent_0": True, "agent_1": True}
    assert env.agents == []
    assert env.step({}) == ({}, {}, {}, {}, {})
    env.reset()
    assert len(env.agents) == 2


def test_render_shows_the_others(gl: None) -> None:
    env = _made(2, level="open", render_mode="rgb_array")
    env.reset(seed=0)
    _put(env, (0, 0, 0), (2, 0, 0))
    env.step(dict.fromkeys(env.agents, IDLE))
    with_other = env.render()
    assert with_other.shape == (480, 640, 3)
    _put(env, (0, 0, 0), (-9, 9, 0))
    env.step(dict.fromkeys(env.agents, IDLE))
    assert (with_other != env.render()).any(axis=2).sum() > 500
    env.close()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"num_agents": 0}, "num_agents = 0"),
        ({"num_agents": 2.5}, r"num_agents = 2\.5"),
        ({"num_agents": 300}, "agents = 300"),
        ({"world": "godot"}, "agents = 3: they meet in world = compiled only"),
        ({"lvel": "open"}, "did you mean 'level"),
        ({"render_mode": "human"}, "render_mode = 'human'"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        _made(**settings)
    assert "\n" not in str(caught.value)


def test_bad_actions_and_calls_are_named() -> None:
    env = _made(2, level="open")
    with pytest.raises(AmbuloError, match="call reset before step"):
        env.step({})
    with pytest.raises(ConfigError, match="seed = -1"):
        env.reset(seed=-1)
    env.reset(seed=0)
    with pytest.raises(ActionError, match="agent_1 has no action"):
        env.step({"agent_0": IDLE})
    with pytest.raises(ActionError, match="action of 'agent_9'"):
        env.step({"agent_0": IDLE, "agent_1": IDLE, "agent_9": IDLE})
    with pytest.raises(ActionError, match=r"action of agent_1: shape \(2,\)"):
        env.step({"agent_0": IDLE, "agent_1": IDLE[:2]})
    with pytest.raises(ActionError, match="finite"):
        env.step({"agent_0": IDLE, "agent_1": IDLE * np.nan})
    assert env.batch.episode.steps.tolist() == [0, 0]


def test_a_config_names_the_number_of_agents() -> None:
    config = NavigationConfig().override(
        "environment", agents=4, levels=("open",), levels_per_family=1
    )
    assert parallel.parallel_env(config).max_num_agents == 4
    data = config.model_dump(mode="json")
    assert parallel.parallel_env(data, num_agents=2).max_num_agents == 2


@pytest.mark.integration
def test_the_missing_package_is_named() -> None:
    code = """
import sys
sys.modules["pettingzoo"] = None
try:
    import ambulo.envs.vr.parallel
except ImportError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "need the package pettingzoo: pip install 'ambulo[multi]'" in done.stdout
