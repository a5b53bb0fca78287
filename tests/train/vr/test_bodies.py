"""Stages of a curriculum that change the body."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import ConfigError, LevelError
from ambulo.configs.presets import VR_PRESETS
from ambulo.configs.vr import CurriculumStage, NavigationConfig
from ambulo.envs.vr.body.twin_world import TwinWorld
from ambulo.envs.vr.task.build import make_batch, make_world
from ambulo.envs.vr.world.compiled_world import CompiledWorld
from ambulo.train.shared.run_folders import NavigationRunFolder
from ambulo.train.vr.level_curriculum import (
    TrainingLevels,
    stage_bank,
    stage_config,
)
from ambulo.train.vr.training import NavigationTraining

CONFIG = VR_PRESETS.load("embodied_quick").override(
    "environment", body="capsule", levels=("open",), levels_per_family=3
)


def stage(body: str | None) -> CurriculumStage:
    return CurriculumStage(name="s", body=body, max_goal_distance=9.0, timesteps=10)


@pytest.mark.integration
def test_a_stage_with_another_body_begins_in_its_world():
    first = stage("twin")
    batch = make_batch(stage_config(CONFIG, first), 4, bank=stage_bank(CONFIG, first))
    assert isinstance(batch.world, TwinWorld)
    levels = TrainingLevels(CONFIG, batch, first)
    assert not levels.enter(stage("twin"))
    assert levels.enter(stage(None))
    assert type(batch.world) is CompiledWorld
    obs = levels.restart()
    assert obs.shape == batch.obs.shape
    assert np.isfinite(batch.step(np.zeros((4, 3)))[0]).all()


@pytest.mark.slow
def test_the_levels_of_a_stage_fit_its_body():
    """Train level 401 of pits is too narrow for a body, and not for the capsule."""
    config = CONFIG.override("environment", levels=("pits",), levels_per_family=402)
    capsule, twin = stage_bank(config, stage(None)), stage_bank(config, stage("twin"))
    assert len(capsule) == len(twin) == 402
    world = make_world(stage_config(config, stage("twin")), 1)
    world.set_levels(range(402), twin.levels)
    with pytest.raises(LevelError, match="pits-401"):
        world.set_levels(range(402), capsule.levels)


@pytest.mark.parametrize(
    ("group", "changes", "message"),
    [
        ("environment", {"world": "godot"}, "body = twin: not in world = godot"),
        (
            "actions",
            {"mode": "discrete"},
            "body = twin: needs actions.mode = continuous",
        ),
    ],
)
def test_what_bodies_cannot_do_is_refused(group, changes, message):
    config = NavigationConfig().override("environment", body="twin")
    with pytest.raises(ConfigError, match=message):
        config.override(group, **changes)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("body", "rank"), [("twin", ("return_mean",)), ("capsule", ("success_rate", "spl"))]
)
def test_the_best_agent_of_a_body_touches_and_falls_least(tmp_path, body, rank):
    config = CONFIG.override("environment", body=body)
    training = NavigationTraining(config, NavigationRunFolder(tmp_path))
    assert training.rank == rank
    training.close()
