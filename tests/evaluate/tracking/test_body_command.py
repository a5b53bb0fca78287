"""`ambulo eval` of bodies that follow trackers, beside what needs no training."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fixtures.swaying import swaying_reference
from fixtures.untrained import save_untrained

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.reference.configured import configured_character
from ambulo.envs.reference.reference import Reference
from ambulo.envs.tasks.track_body.batch import track_body
from ambulo.evaluate.command import main
from ambulo.evaluate.shared.models import model_kind
from ambulo.evaluate.tracking.body_agents import BASELINES, baseline_agent
from ambulo.evaluate.tracking.body_command import play_body

CONFIG = LocomotionConfig().override("environment", task="track_body")
CONFIG = CONFIG.override("network", net_arch=(8,))


@pytest.fixture(scope="module")
def clips() -> Reference:
    return swaying_reference(configured_character(CONFIG.environment))


@pytest.mark.integration
def test_a_policy_is_evaluated_beside_baselines(
    clips: Reference, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    batch = track_body(
        CONFIG, clips, configured_character(CONFIG.environment), num_envs=1
    )
    run = str(save_untrained(tmp_path / "model.zip", CONFIG, batch, clips))
    flags = ["--episodes", "1", "--baselines", "gaits", "--no-report", "--json"]
    assert main([run, *flags]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["kind"] == "track_body_policy"
    assert model_kind(Path(data["model"])) == "track_body_policy"
    assert list(data["agents"]) == ["policy", "gaits"]
    for metrics in data["agents"].values():
        assert 0.0 <= metrics["success"]["value"] <= metrics["on_feet"]["value"] <= 1.0
        assert metrics["joint_error_cm"]["value"] > 0.0


@pytest.mark.integration
@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_moves_bodies(name: str, clips: Reference) -> None:
    agent = baseline_agent(name, CONFIG, clips, 2, None)
    played = play_body(agent, seed=0, impulse=5.0)
    assert played.clip.tolist() == [0, 1]
    assert np.all(played.errors > 0.0)
    assert np.all(played.success <= played.on_feet)
    assert agent.batch.num_envs == 2
