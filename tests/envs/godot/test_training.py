"""Training and evaluation in real engines, with faults, by the commands."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
import torch

from ambulo.envs.godot import fleet as fleet_module
from ambulo.envs.godot.world import GodotWorld
from ambulo.evaluate.command import main as evaluate
from ambulo.policies.agents.navigation import load_navigation
from ambulo.train.shared.run_folders import NavigationRunFolder
from ambulo.train.train_vr_navigation import main as train

TINY = [
    "--preset", "quick_test", "--world", "godot", "--num-envs", "8", "--no-progress",
    "--godot-engines", "2", "--episodes", "1", "--eval-freq", "0",
    "--set", "ppo.n_steps=16", "--set", "ppo.n_epochs=2",
    "--set", "environment.max_episode_steps=30", "--set", "network.net_arch=16,16",
    "--set", "environment.levels_per_family=3",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _in_an_empty_folder(program, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fleet_module, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr("ambulo.train.vr.results.BASELINES", ("straight",))
    monkeypatch.setattr(
        "ambulo.train.shared.final_evaluation.publish", lambda *_, **__: None
    )


@pytest.fixture
def kill_at(monkeypatch):
    """Kills an engine just before some of the decisions, counted over all worlds."""

    def arrange(*decisions: int) -> None:
        count = 0
        original = GodotWorld.step

        def step(self, actions):
            nonlocal count
            count += 1
            if count in decisions:
                os.kill(self.pids[count % len(self.pids)], signal.SIGKILL)
            return original(self, actions)

        monkeypatch.setattr(GodotWorld, "step", step)

    return arrange


def weights_equal(a: Path, b: Path) -> bool:
    one, two = load_navigation(a).weights, load_navigation(b).weights
    return one.keys() == two.keys() and all(torch.equal(one[k], two[k]) for k in one)


def test_the_named_engine_trains_and_plays_the_evaluations(
    program, monkeypatch
) -> None:
    """The flag counts to the end, though no model file names the engine."""
    monkeypatch.setenv("GODOT_BIN", "/gone/godot")
    arguments = [*TINY, "--godot-bin", str(program), "--timesteps", "128"]
    assert train([*arguments, "--run-name", "smoke"]) == 0
    folder = NavigationRunFolder("runs/smoke")
    model = load_navigation(folder.checkpoint(128))
    assert model.training is not None
    assert str(program) not in model.metadata.to_json()
    scores = json.loads(folder.scores.read_text())
    assert scores["episodes"] == 1
    assert {"policy", "straight"} <= {row["agent"] for row in scores["rows"]}


@pytest.mark.slow
def test_a_resumed_training_equals_an_uninterrupted_one(monkeypatch) -> None:
    monkeypatch.setattr("ambulo.train.vr.results.finish", lambda *_: 0)
    arguments = [*TINY, "--timesteps", "384", "--save-freq", "128"]
    assert train([*arguments, "--run-name", "whole"]) == 0
    whole = NavigationRunFolder("runs/whole")
    again = ["--resume", str(whole.checkpoint(128)), "--run-name", "rest"]
    again += ["--no-progress", "--episodes", "1", "--godot-engines", "1"]
    assert train(again) == 0
    rest = NavigationRunFolder("runs/rest")
    assert weights_equal(whole.checkpoint(384), rest.checkpoint(384))
    logs = sorted(file.name for file in (whole.logs / "godot").iterdir())
    assert logs == ["engine-0.log", "engine-1.log"]


@pytest.mark.slow
def test_training_goes_on_when_engines_are_killed(kill_at, capsys) -> None:
    kill_at(5, 18, 19, 40)
    arguments = [*TINY, "--timesteps", "384", "--save-freq", "128"]
    assert train([*arguments, "--run-name", "tried"]) == 0
    folder = NavigationRunFolder("runs/tried")
    saved = sorted(file.name for file in folder.checkpoints.iterdir())
    assert saved == [f"vr_nav_model_{n}_steps.zip" for n in (128, 256, 384)]
    warnings = capsys.readouterr().err
    assert warnings.count("(SIGKILL); 4 envs lost their episodes") == 4
    for file in folder.checkpoints.iterdir():
        assert load_navigation(file).training is not None


def scores_of(capsys, *arguments: str) -> dict:
    base = ["none", "--level-set", "open,pits", "--episodes", "4", "--no-report"]
    assert (
        evaluate([*base, "--baselines", "oracle,straight", *arguments, "--json"]) == 0
    )
    agents = json.loads(capsys.readouterr().out)["agents"]
    return {
        agent: {name: row["value"] for name, row in metrics.items()}
        for agent, metrics in agents.items()
    }


@pytest.mark.slow
def test_an_episode_with_a_fault_is_played_again(capsys, kill_at) -> None:
    expected = scores_of(capsys, "--world", "godot")
    kill_at(10, 60)
    assert scores_of(capsys, "--world", "godot") == expected


def test_an_attached_evaluation_scores_as_the_compiled_world(capsys, engine) -> None:
    url = f"http://127.0.0.1:{engine.port}"
    here = scores_of(capsys, "--world", "godot", "--godot-url", url)
    assert engine.running
    there = scores_of(capsys, "--world", "compiled")
    for name, scores in here.items():
        assert scores["success_rate"] == there[name]["success_rate"]
        assert scores["spl"] == pytest.approx(there[name]["spl"], abs=0.02)
    assert here["oracle"]["success_rate"] == 1.0
