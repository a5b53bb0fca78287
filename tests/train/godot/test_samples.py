"""The sample games of the repository, trained at their smallest in the real engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fixtures.run_files import table

from ambulo.commands.export_agent import main as export
from ambulo.envs.godot.locate import find_project
from ambulo.train.godot.command import COMMAND

SAMPLES = find_project() / "scenes" / "agents"
FLAGS = (
    "--no-progress", "--timesteps", "1024", "--save-freq", "512", "--eval-freq", "0",
    "--episodes", "2", "--set", "ppo.n_steps=32", "--set", "network.net_arch=[32]",
    "--set", "environment.speed_up=10", "--set", "network.warm_up_steps=4",
)  # fmt: skip


@pytest.mark.integration
@pytest.mark.parametrize(
    ("scene", "kind", "terms"),
    [("car", "car", []), ("platformer", "player", ["coins"]), ("ring", "wrestler", [])],
)
def test_a_sample_trains_and_resumes(
    tmp_path: Path,
    godot_program: Path,
    monkeypatch: pytest.MonkeyPatch,
    scene: str,
    kind: str,
    terms: list[str],
) -> None:
    monkeypatch.setenv("GODOT_BIN", str(godot_program))
    begin = [
        "--project",
        str(find_project()),
        "--scene",
        f"res://scenes/agents/{scene}.tscn",
    ]
    where = ["--output", str(tmp_path), "--run-name", "it"]
    assert COMMAND.main([*begin, *where, *FLAGS]) == 0
    run = tmp_path / "it"
    scores = json.loads((run / "scores.json").read_text())["agents"]
    assert {"policy", "random", "scripted"} <= set(scores)
    first = table(run / "metrics.csv")[0]
    assert all(f"reward/{term}" in first for term in terms)
    more = ["--timesteps", "1536", "--no-progress", "--episodes", "2"]
    assert COMMAND.main(["--resume", str(run), *more]) == 0
    assert export([str(run), "--out", str(tmp_path / "it.ambulo")]) == 0
    assert kind.encode() in (tmp_path / "it.ambulo").read_bytes()
