"""The command `ambulo new`: what it writes works as it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from fixtures.locomotion_runs import TINY
from fixtures.own_tasks import fresh

from ambulo.cli import main
from ambulo.configs.task_registry import FILES

__all__ = ["fresh"]


@pytest.mark.integration
def test_a_new_task_trains_and_is_evaluated(
    fresh: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine"
    assert main(["new", "task", "to_door", "--out", str(folder)]) == 0
    file = folder / "to_door.py"
    assert f"ambulo train walk --task {file}" in capsys.readouterr().out
    (tmp_path / "tiny.json").write_text(json.dumps(TINY), encoding="utf-8")
    train = ["train", "walk", "--task", str(file), "--set", "own.distance=1e-3"]
    where = ["--output", str(tmp_path), "--run-name", "run", "--episodes", "2"]
    config = ["--config", str(tmp_path / "tiny.json")]
    assert main([*train, *where, *config]) == 0
    model = tmp_path / "run" / "best_models" / "best_model.zip"
    scores = tmp_path / "scores.json"
    command = [
        sys.executable, "-m", "ambulo.cli", "eval", str(model), "--episodes", "2",
        "--seconds", "30", "--push-episodes", "0", "--json", str(scores),
    ]  # fmt: skip
    without = os.environ | {FILES: ""}
    done = subprocess.run(
        command, check=False, env=without, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "in a file to_door.py: set AMBULO_TASKS to its path" in done.stderr
    assert not scores.exists()
    done = subprocess.run(
        command, check=False, capture_output=True, text=True
    )  # knows the file
    assert done.returncode == 0, done.stderr
    result = json.loads(scores.read_text("utf-8"))
    limit = (
        TINY["environment"]["max_episode_steps"] / 30.0
    )  # [s], of 30 that were asked for
    assert result["details"]["seconds"] == pytest.approx(limit)
    policy = result["agents"]["policy"]
    assert policy["success_rate"]["value"] == 1.0
    assert policy["timeout_rate"]["value"] == 0.0


def test_a_package_offers_its_task(fresh: None, tmp_path: Path) -> None:
    assert main(["new", "task", "to_door", "--out", str(tmp_path), "--package"]) == 0
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["name"] == "ambulo-to-door"
    assert project["entry-points"] == {"ambulo.tasks": {"to_door": "to_door:TASK"}}
    text = (tmp_path / "to_door.py").read_text("utf-8")
    assert "class ToDoorBatch" in text
    assert "template" not in text.lower()


def test_nothing_is_overwritten(
    fresh: None, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["new", "task", "here"]) == 0
    assert main(["new", "task", "here"]) == 2
    assert "here.py: is there already; --force" in capsys.readouterr().err
    assert main(["new", "task", "here", "--force"]) == 0
    (tmp_path / "pyproject.toml").write_text("mine", encoding="utf-8")
    assert main(["new", "task", "to_door", "--out", str(tmp_path), "--package"]) == 2
    assert "pyproject.toml: is there already; --force" in capsys.readouterr().err
    assert {file.name for file in tmp_path.iterdir()} == {"here.py", "pyproject.toml"}
    assert main(["new", "task", "stand", "--out", str(tmp_path)]) == 2
    assert "the suite has a task stand" in capsys.readouterr().err
