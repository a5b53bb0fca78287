"""Episodes of tracking: starts, ends and errors, and the command on a tiny model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fixtures.swaying import save_swaying, swaying_reference

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.registry import load_character
from ambulo.envs.tasks.track import TrackBatch
from ambulo.evaluate.command import main as evaluate
from ambulo.evaluate.tracking.episodes import first_starts, play, random_starts
from ambulo.evaluate.tracking.figures import motions_of
from ambulo.train.train_track import main as train

TINY = {
    "environment": {"task": "track", "num_environments": 4},
    "network": {"net_arch": [16]},
    "ppo": {"n_steps": 8, "batch_size": 16, "n_epochs": 1},
    "training": {
        "total_timesteps": 32, "eval_freq": 0, "eval_episodes": 2, "eval_seconds": 0.3,
        "teacher": {
            "samples": 80, "rounds": 4, "epochs": 1, "last_epochs": 1, "batch_size": 16,
            "mix_rounds": 1, "mix_decay": 0.5, "mirror": True, "critic_updates": 1,
        },
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def batch() -> TrackBatch:
    character = load_character("human23")
    config = LocomotionConfig().override("environment", task="track")
    return TrackBatch(config, swaying_reference(character), character, num_envs=3)


def still(batch: TrackBatch) -> np.ndarray:
    return np.zeros((batch.num_envs, batch.action_size))


def test_starts_are_spread_and_leave_a_second(batch: TrackBatch) -> None:
    starts = random_starts(batch, np.arange(2), 50, seed=0)
    left = batch.library.knots[starts.clip] - starts.step
    assert left.min() == 30
    assert len(starts) == 100
    assert not first_starts(np.arange(2), 3).step.any()


def test_ends_falls_and_errors_of_each_episode(batch: TrackBatch) -> None:
    starts = first_starts(np.array([0, 1]), 2)
    done = play(batch, still, starts, seed=0)
    assert done.traces.shape[0] == 4
    lengths = np.isfinite(done.traces[..., 0]).sum(axis=1)
    np.testing.assert_allclose(done.time, lengths / 30.0)
    knots = batch.library.knots[done.clip]
    np.testing.assert_array_equal(done.success, lengths == knots)

    def thrown(batch: TrackBatch) -> np.ndarray:
        return np.ones((batch.num_envs, batch.action_size))

    fallen = play(batch, thrown, starts, seed=0)
    assert not fallen.success.any()
    assert (fallen.time < done.time).all()
    assert (fallen.error > done.error).all()


def test_a_film_shows_clip_and_body(batch: TrackBatch) -> None:
    clip, body = motions_of(batch, still, 0)
    assert len(clip) == len(body) > 5
    assert clip.fps == pytest.approx(30.0)


@pytest.mark.integration
def test_train_resume_and_evaluate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clips = save_swaying(tmp_path / "clips.npz", load_character("human23"))
    config = tmp_path / "tiny.json"
    config.write_text(json.dumps(TINY), encoding="utf-8")
    common = ["--output", str(tmp_path / "runs"), "--episodes", "2", "--no-progress"]
    assert train([str(clips), "--config", str(config), "--run-name", "a", *common]) == 0
    run = tmp_path / "runs" / "a"
    more = ["--timesteps", "64", "--no-progress", "--episodes", "2"]
    assert train(["--resume", str(run), *more]) == 0
    capsys.readouterr()
    out = tmp_path / "scores.json"
    arguments = [str(run), "--clips", str(clips), "--no-report", "--json", str(out)]
    assert evaluate([*arguments, "--episodes", "2", "--num-envs", "4"]) == 0
    scores = json.loads(out.read_text(encoding="utf-8"))
    assert set(scores["agents"]) == {"policy", "poses", "feedback"}
    assert set(scores["groups"]["clip"]) == {"short", "long"}
    assert len(scores["rows"]) == 3 * 2 * (2 + 1 + 2)
    # The model file carries one clip, for those who have none.
    alone = [str(run), "--no-report", "--episodes", "2", "--json", str(out), "--force"]
    more = ["--baselines", "poses", "--impulses", "40,10", "--perturb", "start"]
    assert evaluate([*alone, *more]) == 0
    scores = json.loads(out.read_text(encoding="utf-8"))
    assert list(scores["groups"]["impulse"]) == ["10 N s", "40 N s"]
    rows = scores["groups"]["perturbation"]
    assert list(rows) == ["none", "start 0.05 rad, 0.5 rad/s"]
    assert set(rows["none"]) == {"policy", "poses"}
    assert set(scores["details"]["perturbations"]) == set(rows)


def test_clips_for_a_run_that_has_its_own_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(["--preset", "imitate_walk", "x.amc"]) == 2
    assert "ambulo train walk" in capsys.readouterr().err
    assert train([str(tmp_path / "none.npz"), "--no-progress"]) == 2
    assert "none.npz" in capsys.readouterr().err
