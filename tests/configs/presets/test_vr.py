"""The presets are valid, hold what was published, and are package data."""

from __future__ import annotations

from importlib.resources import files

import pytest

from ambulo.configs.errors import ConfigError
from ambulo.configs.presets import VR_PRESETS

TIMESTEPS = {
    "first_run": 1_200_000,
    "quick_test": 10_000,
    "full_training": 12_000_000,
    "curriculum_learning": 3_000_000,
    "comfort_optimized": 12_000_000,
    "embodied": 6_000_000,
    "embodied_quick": 2_000_000,
    "embodied_tasks": 2_000_000,
}


@pytest.mark.parametrize("name", VR_PRESETS)
def test_budget_is_the_documented_one(name: str) -> None:
    assert VR_PRESETS.load(name).training.total_timesteps == TIMESTEPS[name]


def test_every_file_is_listed() -> None:
    found = {
        file.name.removesuffix(".json")
        for file in files("ambulo.configs.presets.vr").iterdir()
        if file.name.endswith(".json")
    }
    assert found == set(VR_PRESETS)


def test_quick_test_has_the_published_episodes_and_checkpoints() -> None:
    config = VR_PRESETS.load("quick_test")
    assert config.environment.max_episode_steps == 200
    assert config.training.save_freq == 2000


def test_full_training_has_the_published_episodes() -> None:
    assert VR_PRESETS.load("full_training").environment.max_episode_steps == 1000


def test_curriculum_has_the_published_stages() -> None:
    training = VR_PRESETS.load("curriculum_learning").training
    stages = training.curriculum_stages
    assert training.use_curriculum
    assert [s.name for s in stages] == ["easy", "medium", "hard"]
    assert [s.max_goal_distance for s in stages] == [10.0, 20.0, 30.0]
    assert [s.timesteps for s in stages] == [500_000, 1_000_000, 1_500_000]
    assert sum(s.timesteps for s in stages) == training.total_timesteps


def test_comfort_optimized_is_full_training_at_the_other_end_of_the_dial() -> None:
    comfort, full = (
        VR_PRESETS.load("comfort_optimized"),
        VR_PRESETS.load("full_training"),
    )
    assert (full.usual_comfort, comfort.usual_comfort) == (0.0, 1.0)
    assert comfort == full.override("environment", comfort_default=1.0)


def test_unknown_preset_suggests_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'quick_test'"):
        VR_PRESETS.load("quick-test")
