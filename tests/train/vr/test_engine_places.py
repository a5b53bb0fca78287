"""Files of others never say which program is started, or who gets the token."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fixtures.model_files import change_header

import ambulo
from ambulo.configs.base import load_json
from ambulo.configs.vr import NavigationConfig
from ambulo.policies.agents.navigation import Agent, load_navigation
from ambulo.policies.files.model_file import save_model
from ambulo.train.shared.run_folders import NavigationRunFolder
from ambulo.train.train_vr_navigation import main as train
from ambulo.train.vr.command import COMMAND

TINY = [
    "--preset", "quick_test", "--num-envs", "4", "--no-progress", "--episodes", "1",
    "--set", "ppo.n_steps=8", "--set", "network.net_arch=8,8", "--eval-freq", "0",
    "--set", "environment.levels_per_family=1", "--set", "environment.levels=open",
    "--timesteps", "64", "--save-freq", "32", "--run-name", "own",
]  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a short training."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ambulo.train.vr.results.finish", lambda *_: 0)
        assert train([*TINY, "--output", str(folder)]) == 0
    return folder / "own"


@pytest.fixture
def hostile(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> NavigationRunFolder:
    """A run of somebody else that would play in Godot; no engine is found here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GODOT_BIN", "/gone/godot")
    monkeypatch.setenv("AMBULO_TOKEN", "secret")
    return NavigationRunFolder(shutil.copytree(made, tmp_path / "theirs"))


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Listens on a free port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def plant(run: NavigationRunFolder, **environment: Any) -> None:
    """Write settings into a run's `config.json` and its first checkpoint."""
    config = json.loads(run.config.read_text())
    config["environment"] |= {"world": "godot", **environment}
    run.config.write_text(json.dumps(config))
    run.checkpoint(64).unlink()

    def change(header: dict[str, Any]) -> None:
        header["config"]["environment"] |= {"world": "godot", **environment}

    change_header(run.checkpoint(32), change)


def target(run: NavigationRunFolder, kind: str) -> str:
    """What is resumed: the folder, or its checkpoint alone."""
    if kind == "run folder":
        return str(run.path)
    return str(shutil.copy(run.checkpoint(32), "alone.zip"))


@pytest.mark.parametrize("kind", ["run folder", "checkpoint"])
def test_no_program_that_a_file_names_is_started(hostile, kind, capsys) -> None:
    program = Path("program").absolute()
    program.write_text('#!/bin/sh\necho "$@" > ran\n')
    program.chmod(0o755)
    plant(hostile, godot_bin=str(program), godot_project="/their/game")
    assert train(["--resume", target(hostile, kind), "--no-progress"]) == 2
    assert "GODOT_BIN = '/gone/godot': no such program" in capsys.readouterr().err
    assert not Path("ran").exists()


@pytest.mark.parametrize("kind", ["run folder", "checkpoint"])
def test_no_address_in_a_file_gets_the_token(hostile, kind, listener, capsys) -> None:
    port = listener.getsockname()[1]
    plant(hostile, godot_url=f"http://127.0.0.1:{port}", godot_timeout=1.0)
    assert train(["--resume", target(hostile, kind), "--no-progress"]) == 2
    assert "GODOT_BIN = '/gone/godot': no such program" in capsys.readouterr().err
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_a_run_folder_keeps_what_its_owner_said(made: Path, tmp_path: Path) -> None:
    """`--config` of one's own run is told by the user, and counts."""
    run = NavigationRunFolder(shutil.copytree(made, tmp_path / "mine"))
    plant(run, godot_bin="/opt/godot")
    assert load_json(NavigationConfig, run.config).environment.godot_bin == "/opt/godot"
    point = COMMAND.find(str(run.path), COMMAND.parse([]))
    assert point.config.environment.godot_bin is None


@pytest.mark.parametrize("killed", [False, True])
def test_code_that_a_run_names_is_imported_only_when_allowed(
    hostile: NavigationRunFolder,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    killed: bool,
) -> None:
    term = Path("their_terms.py")
    term.write_text("open('imported', 'w')\nclass Term:\n    name = 'theirs'\n"
                    "    def __call__(self, *_):\n        return 0.0\n")  # fmt: skip
    monkeypatch.syspath_prepend(str(Path.cwd()))
    monkeypatch.setattr("ambulo.train.vr.results.finish", lambda *_: 0)
    config = json.loads(hostile.config.read_text())
    config["rewards"]["custom"] = ["their_terms:Term"]
    hostile.config.write_text(json.dumps(config))
    if killed:
        shutil.rmtree(hostile.checkpoints)
        hostile.checkpoints.mkdir()
    resume = ["--resume", str(hostile.path), "--no-progress"]
    capsys.readouterr()
    assert train(resume) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "rewards.custom: their_terms:Term" in error
    assert "--trust-code" in error
    assert not Path("imported").exists()
    if killed:
        assert train([*resume, "--trust-code"]) == 0
        assert Path("imported").exists()


def test_an_agent_brings_no_code_into_its_environment(
    hostile: NavigationRunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("their_code.py").write_text("open('imported', 'w')\n")
    monkeypatch.syspath_prepend(str(Path.cwd()))
    model = load_navigation(hostile.final_model)
    config = model.metadata.config.override("rewards", custom=("their_code:Term",))
    config = config.override("environment", godot_bin="/gone/godot")
    path = Path("theirs.zip")
    save_model(path, replace(model, metadata=model.metadata.replace(config=config)))
    agent = ambulo.load(path, kind=Agent)
    assert agent.config.environment.godot_bin is None
    ambulo.make_vec(agent, num_envs=1).close()
    assert not Path("imported").exists()
