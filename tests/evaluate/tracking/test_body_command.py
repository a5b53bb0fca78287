"""`ambulo eval` of bodies that follow trackers, beside what needs no training."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fixtures.swaying import swaying_reference

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.reference.configured import body_of
from ambulo.evaluate.command import main
from ambulo.evaluate.shared.models import model_kind
from ambulo.evaluate.tracking.body_agents import BASELINES, baseline_agent
from ambulo.evaluate.tracking.body_episodes import play_body
from ambulo.train.train_track import main as train

TINY = {
    "environment.num_environments": 2,
    "training.total_timesteps": 64,
    "training.eval_freq": 0,
    "ppo.n_steps": 32,
    "ppo.batch_size": 32,
}


def test_a_policy_is_evaluated_beside_baselines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["--preset", "track_body", "--run-name", "r", "--output", str(tmp_path)]
    args += ["--init-from", "walk_commands"]
    for key, value in TINY.items():
        args += ["--set", f"{key}={value}"]
    assert train(args) == 0
    capsys.readouterr()
    run = str(tmp_path / "r")
    flags = ["--episodes", "1", "--baselines", "gaits", "--no-report", "--json"]
    assert main([run, *flags]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["kind"] == "track_body_policy"
    assert model_kind(Path(data["model"])) == "track_body_policy"
    assert list(data["agents"]) == ["policy", "gaits"]
    for metrics in data["agents"].values():
        assert 0.0 <= metrics["success"]["value"] <= metrics["on_feet"]["value"] <= 1.0
        assert metrics["joint_error_cm"]["value"] > 0.0


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_moves_bodies(name: str) -> None:
    config = LocomotionConfig().override("environment", task="track_body")
    clips = swaying_reference(body_of(config.environment))
    agent = baseline_agent(name, config, clips, 2, None)
    played = play_body(agent, seed=0, impulse=5.0)
    assert played.clip.tolist() == [0, 1]
    assert np.all(played.joints > 0.0)
    assert np.all(played.success <= played.on_feet)
    assert agent.batch.num_envs == 2
