"""The smallest training of a body that follows trackers."""

from __future__ import annotations

from pathlib import Path

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
    "network.net_arch": "[8]",
    "network.normalize_samples": 20,
}


def test_a_residual_is_trained_and_loaded(tmp_path: Path) -> None:
    args = ["--preset", "track_body", "--run-name", "r", "--output", str(tmp_path)]
    for key, value in TINY.items():
        args += ["--set", f"{key}={value}"]
    assert train(args) == 0
    agent = load_locomotion_agent(tmp_path / "r" / "best_models" / "best_model.zip")
    assert agent.env_id == "ambulo/TrackBody-v0"
    assert agent.config.trackers.foresight == 0.2
