"""Configuration: JSON round trip, published keys, and errors of one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ambulo.configs.base import load_json, parse
from ambulo.configs.errors import ConfigError
from ambulo.configs.vr import NavigationConfig

PUBLISHED = {
    "network": {"policy": "MlpPolicy", "net_arch": [256, 256], "activation_fn": "relu"},
    "ppo": {"learning_rate": 0.0003, "batch_size": 64, "n_epochs": 10, "gamma": 0.99},
    "rewards": {
        "goal_reached": 100.0,
        "collision_penalty": -10.0,
        "comfort_bonus": 2.0,
    },
    "observations": {"num_ray_sensors": 16},
    "actions": {
        "action_smoothing": 0.2,
        "max_movement_speed": 2.0,
        "max_rotation_speed": 90.0,
    },
    "environment": {"num_environments": 4, "max_episode_steps": 1000},
    "training": {
        "total_timesteps": 1000000,
        "save_freq": 10000,
        "eval_freq": 5000,
        "num_workers": 4,
        "use_curriculum": True,
        "curriculum_stages": [
            {"name": "easy", "max_goal_distance": 10.0, "timesteps": 500_000},
            {"name": "medium", "max_goal_distance": 20.0, "timesteps": 1_000_000},
            {"name": "hard", "max_goal_distance": 30.0, "timesteps": 1_500_000},
        ],
    },
}
"""Every key that the published documents show, with the values they show."""


def test_every_published_key_is_taken_as_it_is() -> None:
    config = parse(NavigationConfig, PUBLISHED, "published")
    data = json.loads(config.to_json())
    for group, values in PUBLISHED.items():
        for key, value in values.items():
            if key == "curriculum_stages":
                stages = data[group][key]
                assert [s["timesteps"] for s in stages] == [
                    500_000,
                    1_000_000,
                    1_500_000,
                ]
                assert [s["max_goal_distance"] for s in stages] == [10.0, 20.0, 30.0]
            else:
                assert data[group][key] == value


def test_a_configuration_survives_a_file(tmp_path: Path) -> None:
    config = parse(NavigationConfig, PUBLISHED, "published")
    file = tmp_path / "config.json"
    file.write_text(config.to_json(), encoding="utf-8")
    assert load_json(NavigationConfig, file) == config


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"ppo": {"lerning_rate": 1}}, ["ppo.lerning_rate", "'ppo.learning_rate'"]),
        ({"pppo": {}}, ["'pppo'", "'ppo'"]),
        (
            {"training": {"curriculum_stages": [{"nom": "x"}]}},
            ["training.curriculum_stages[0]"],
        ),
        ({"training": {"seed": True}}, ["training.seed = true", "expected a number"]),
        ({"network": {"net_arch": [8, True]}}, ["net_arch", "expected a number"]),
        ({"network": 3}, ['network = 3: expected {"key": value, ...}']),
        ({"ppo": {"learning_rate": -1}}, ["ppo.learning_rate = -1", "greater than 0"]),
        ({"ppo": {"learning_rate": float("nan")}}, ["ppo.learning_rate", "finite"]),
        ({"environment": {"goal_distance": [9, 5]}}, ["goal_distance", "min <= max"]),
        ({"environment": {"num_environments": 0}}, ["num_environments = 0"]),
        ({"training": {"use_curriculum": True}}, ["curriculum_stages"]),
        ({"actions": {"mode": "jump"}}, ["actions.mode", "continuous"]),
        (
            {"network": {"action_bound": [1, 1]}, "actions": {"mode": "discrete"}},
            ["file.json: network.action_bound needs actions.mode"],
        ),
        ({"network": {"action_bound": [0.5, 2]}}, ["network.action_bound[1] = 2"]),
        ({"rewards": {"collision_penalty": 5}}, ["collision_penalty = 5", "less than"]),
        ([1, 2], ["the top level"]),
    ],
)
def test_a_bad_value_is_one_line_that_names_it(data: Any, words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(NavigationConfig, data, "file.json")
    message = str(caught.value)
    assert message.startswith("file.json: ")
    assert "\n" not in message
    for word in words:
        assert word in message


@pytest.mark.parametrize("text", ["{", "", '{"ppo": {"gamma": }}', "\ufeff["])
def test_a_file_that_is_not_json_is_named_with_its_line(
    tmp_path: Path, text: str
) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"bad\.json: line 1: not valid JSON"):
        load_json(NavigationConfig, file)


def test_overrides_are_validated() -> None:
    config = NavigationConfig().override("ppo", gamma=0.9)
    assert config.ppo.gamma == 0.9
    with pytest.raises(ConfigError, match=r"ppo\.gamma = 2"):
        config.override("ppo", gamma=2)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"ppo": {"n_steps": 1' + "0" * 5000 + "}}"]
)
def test_json_that_python_will_not_read_is_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"bad\.json: not valid JSON") as caught:
        load_json(NavigationConfig, file)
    assert "\n" not in str(caught.value)
