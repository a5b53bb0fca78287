"""The steps of two guides, from an empty folder to an agent that plays."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ambulo.envs.godot.locate import find_project

DOCS = Path(__file__).parents[3] / "docs"
_BLOCK = re.compile(
    r"(?:^`(?P<file>my_game/[^`]+)`\n\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$",
    re.M | re.S,
)
_SMALLER = {
    "--timesteps 60000": "--timesteps 2048 --episodes 2",
    "--episodes 10": "--episodes 2 --baselines oracle",
    "--timesteps 20000": "--timesteps 10240 --episodes 8 --no-progress",
    "--episodes 20": "--episodes 8 --no-report --json scores.json",
}
"""What is done less of here than in the guides."""


def blocks(guide: str, end: str) -> list[tuple[str | None, str]]:
    """File (None: commands) and text of each block of the steps."""
    page = (DOCS / guide).read_text()
    steps = page[page.index("\n### 1.") : page.index(f"\n## {end}")]
    found = [
        (match["file"], match["kind"], match["text"])
        for match in _BLOCK.finditer(steps)
    ]
    assert {kind for file, kind, _ in found if file is None} == {"sh"}
    return [(file, text) for file, _, text in found]


@pytest.fixture
def workplace(tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder beside a checkout's `godot/`, with `godot` and our commands to call."""
    folder, tools = tmp_path / "work", tmp_path / "tools"
    folder.mkdir()
    tools.mkdir()
    (folder / "godot").symlink_to(find_project())
    (tools / "godot").write_text(f'#!/bin/sh\nexec {program} "$@"\n')
    (tools / "godot").chmod(0o755)
    path = [str(tools), str(Path(sys.executable).parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(path))
    monkeypatch.setenv("GODOT_BIN", str(program))
    return folder


def run(commands: str, folder: Path) -> str:
    """What shell commands print; they must succeed."""
    for whole, smaller in _SMALLER.items():
        commands = commands.replace(whole, smaller)
    done = subprocess.run(
        ["bash", "-euc", commands],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, f"{commands}\n{said[-3000:]}"
    assert "SCRIPT ERROR" not in said, said[-3000:]
    return said


def follow(steps: list[tuple[str | None, str]], folder: Path) -> list[str]:
    """Write the files and run the commands; what each block of these prints."""
    said = []
    for file, text in steps:
        if file is None:
            said.append(run(text, folder))
        else:
            (folder / file).write_text(text)
    return said


@pytest.mark.slow
def test_the_eight_steps_to_a_task(workplace: Path) -> None:
    _, trained, _, played = follow(blocks("godot_tasks.md", "Settings"), workplace)
    assert "nearer" in trained
    scores = json.loads((workplace / "scores.json").read_text())["agents"]
    returns = {name: row["return_mean"]["value"] for name, row in scores.items()}
    assert {"policy", "random", "scripted"} <= set(returns)
    assert returns["policy"] > returns["random"]
    assert "reached the target" in played


@pytest.mark.slow
def test_the_six_steps_to_a_scene(workplace: Path) -> None:
    steps = blocks("godot_scenes.md", "What the body can do")
    _, evaluated, trained, _, played = follow(steps, workplace)
    assert "the scene res://house.tscn, world godot" in evaluated
    assert "runs/house" in trained
    assert re.search(r"reached the goal after|gave up after 60 s", played)
    # So little training teaches nothing: the shipped agent reaches the goal.
    run("ambulo export vr_navigation --out my_game/house.ambulo", workplace)
    played = run(steps[-1][1], workplace)
    assert "reached the goal after" in played
