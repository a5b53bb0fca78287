"""The smallest training of a body that follows trackers."""

from __future__ import annotations

from pathlib import Path

import pytest

from ambulo.common.find_model import find_model
from ambulo.policies.agents.locomotion import load_locomotion_agent
from ambulo.train.train_track import main as train

TINY = {
    "environment.num_environments": 2,
    "training.total_timesteps": 64,
    "training.eval_freq": 64,
    "training.eval_episodes": 1,
    "training.eval_seconds": 0.5,
    "ppo.n_steps": 32,
    "ppo.batch_size": 32,
}


@pytest.mark.slow
def test_a_residual_begins_with_the_walker_and_is_loaded(tmp_path: Path) -> None:
    args = ["--preset", "track_body", "--run-name", "r", "--output", str(tmp_path)]
    args += ["--init-from", "walk_commands"]
    for key, value in TINY.items():
        args += ["--set", f"{key}={value}"]
    assert train(args) == 0
    agent = load_locomotion_agent(tmp_path / "r" / "best_models" / "best_model.zip")
    assert agent.env_id == "ambulo/TrackBody-v0"
    assert agent.config.environment.legs == "walker"
    walker = load_locomotion_agent(find_model("walk_commands"))
    names = {row.name for row in agent.metadata.observation}
    assert names > {row.name for row in walker.metadata.observation}
