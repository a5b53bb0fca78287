"""Training through the command: end to end, resumed, stopped and killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import gymnasium
import pytest
import stable_baselines3.common.callbacks
from fixtures.run_files import table, weights

from ambulo.policies.agents.navigation import load_navigation
from ambulo.train.shared.run_folders import NavigationRunFolder
from ambulo.train.train_vr_navigation import main as train
from ambulo.train.vr.results import BASELINES

TINY = [
    "--preset", "quick_test", "--num-envs", "8", "--no-progress", "--episodes", "2",
    "--set", "ppo.n_steps=16", "--set", "ppo.n_epochs=2",
    "--set", "environment.max_episode_steps=40", "--set", "network.net_arch=32,32",
    "--set", "environment.levels_per_family=3", "--eval-episodes", "3",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def tags(logs: Path) -> set[str]:
    """Names of the scalars that TensorBoard shows."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(logs / "PPO_1"))
    events.Reload()
    return set(events.Tags()["scalars"])


def sb3_tags(folder: Path) -> set[str]:
    """The scalars of a training by Stable-Baselines3 itself, with its evaluation."""
    env = stable_baselines3.common.env_util.make_vec_env("CartPole-v1", 2)
    learner = stable_baselines3.PPO(
        "MlpPolicy", env, n_steps=64, batch_size=64, tensorboard_log=str(folder)
    )
    callback = stable_baselines3.common.callbacks.EvalCallback(
        stable_baselines3.common.monitor.Monitor(gymnasium.make("CartPole-v1")),
        n_eval_episodes=1, eval_freq=100, verbose=0,
    )  # fmt: skip
    learner.learn(256, callback=callback)
    return tags(folder)


@pytest.mark.integration
def test_a_short_training_leaves_a_whole_run_folder(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = [
        *TINY,
        "--timesteps",
        "384",
        "--save-freq",
        "128",
        "--eval-freq",
        "256",
    ]
    assert train([*arguments, "--run-name", "first"]) == 0
    folder = NavigationRunFolder("runs/first")
    output = capsys.readouterr().out
    for path in (folder.best_model, folder.report):
        assert path.is_file()
        assert str(path) in output
    for word in ("policy", "random", "straight", "oracle"):
        assert word in output
    saved = sorted(file.name for file in folder.checkpoints.iterdir())
    assert saved == [f"vr_nav_model_{n}_steps.zip" for n in (128, 256, 384)]
    assert [int(row["timesteps"]) for row in table(folder.metrics)] == [128, 256, 384]
    assert {
        "rollout/ep_rew_mean", "rollout/success_rate", "rollout/spl", "rollout/comfort",
        "reward/goal", "reward/progress", "eval/success_rate", "eval/spl", "time/fps",
        "eval/mean_reward",
    } <= tags(folder.logs)  # fmt: skip
    assert sb3_tags(Path("sb3")) - tags(folder.logs) == set()
    evaluations = json.loads(folder.evaluations.read_text(encoding="utf-8"))
    assert [row["timesteps"] for row in evaluations] == [256, 384]
    run = json.loads(folder.run.read_text(encoding="utf-8"))
    assert run["packages"]["torch"]
    assert "--run-name first" in folder.command.read_text(encoding="utf-8")
    assert weights(folder.final_model) == weights(folder.checkpoint(384))
    state = load_navigation(folder.checkpoint(384)).training
    assert state is not None
    assert state.values["extra"]["best"] == max(
        [row["success_rate"], row["spl"]] for row in evaluations
    )
    assert load_navigation(folder.final_model).training is None
    assert not list(folder.path.rglob("*.tmp"))

    # What the run wrote is what made it.
    assert train(["--config", str(folder.config), "--print-config"]) == 0
    assert capsys.readouterr().out == folder.config.read_text(encoding="utf-8")


@pytest.mark.integration
def test_json_is_all_that_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert train([*TINY, "--timesteps", "128", "--eval-freq", "0", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert set(data["agents"]) == {"policy", *BASELINES}
    assert data["details"]["training"]["timesteps"] == 128
    assert 0.0 <= data["agents"]["policy"]["success_rate"]["value"] <= 1.0


LONG = [
    *TINY, "--timesteps", "100000", "--save-freq", "1024", "--eval-freq", "0",
    "--run-name", "long",
]  # fmt: skip


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_signal_stops_at_a_checkpoint(capsys: pytest.CaptureFixture[str]) -> None:
    folder = NavigationRunFolder("runs/long")

    def stop_soon() -> None:
        while not list(folder.checkpoints.glob("vr_nav_model_*_steps.zip")):
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=stop_soon, daemon=True)
    thread.start()
    assert train(LONG) == 143
    thread.join()
    assert "ambulo train vr --resume runs/long" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    checkpoint = folder.newest_checkpoint()
    assert checkpoint is not None
    steps = load_navigation(checkpoint).metadata.num_timesteps
    assert steps == int(table(folder.metrics)[-1]["timesteps"])


def start_training() -> tuple[subprocess.Popen[str], NavigationRunFolder]:
    """A training process that has saved at least one checkpoint."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ambulo.train.train_vr_navigation", *LONG],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    folder = NavigationRunFolder("runs/long")
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if list(folder.checkpoints.glob("vr_nav_model_*_steps.zip")):
            return process, folder
        time.sleep(0.05)
    process.kill()
    raise AssertionError(process.communicate())


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_stopped_training_goes_on_from_its_last_checkpoint(
    number: signal.Signals,
) -> None:
    process, folder = start_training()
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    if number != signal.SIGKILL:
        assert process.returncode == 128 + number
        assert "train_vr_navigation --resume runs/long" in error
        assert "Traceback" not in error
    checkpoint = folder.newest_checkpoint()
    assert checkpoint is not None
    steps = load_navigation(checkpoint).metadata.num_timesteps
    total = str(steps + 256)
    again = ["--resume", "runs/long", "--timesteps", total, "--episodes", "1"]
    assert train([*again, "--no-progress"]) == 0
    done = [int(row["timesteps"]) for row in table(folder.metrics)]
    assert done == list(range(128, steps + 257, 128))


@pytest.mark.slow
def test_quick_test_learns(capsys: pytest.CaptureFixture[str]) -> None:
    assert train(["--preset", "quick_test", "--no-progress", "--json"]) == 0
    agents = json.loads(capsys.readouterr().out)["agents"]
    assert agents["policy"]["success_rate"]["value"] >= 0.9
    assert agents["random"]["success_rate"]["value"] <= 0.3
