"""The six steps of docs/godot_scenes.md, from an empty folder to an agent that plays."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ambulo.envs.godot.locate import find_project

GUIDE = Path(__file__).parents[3] / "docs" / "godot_scenes.md"
_BLOCK = re.compile(
    r"(?:^`(?P<file>my_game/[^`]+)`\n\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$",
    re.M | re.S,
)
_SMALLER = {
    "--timesteps 60000": "--timesteps 2048 --episodes 2",
    "--episodes 10": "--episodes 2 --baselines oracle",
}
"""What is done less of here than in the guide."""


def blocks() -> list[tuple[str | None, str]]:
    """File (None: commands) and text of each block of the six steps."""
    page = GUIDE.read_text()
    steps = page[page.index("\n### 1.") : page.index("\n## What the body can do")]
    found = [
        (match["file"], match["kind"], match["text"])
        for match in _BLOCK.finditer(steps)
    ]
    assert {kind for file, kind, _ in found if file is None} == {"sh"}
    return [(file, text) for file, _, text in found]


@pytest.fixture
def workplace(tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder beside a checkout's `godot/`, with `godot` and our commands to call."""
    folder = tmp_path / "work"
    tools = tmp_path / "tools"
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
        timeout=500,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, f"{commands}\n{said[-3000:]}"
    assert "SCRIPT ERROR" not in said, said[-3000:]
    return said


@pytest.mark.slow
def test_the_six_steps(workplace: Path) -> None:
    said = []
    for file, text in blocks():
        if file is None:
            said.append(run(text, workplace))
        else:
            (workplace / file).write_text(text)
    assert len(said) == 5
    _, evaluated, trained, _, played = said
    assert "the scene res://house.tscn, world godot" in evaluated
    assert "runs/house" in trained
    assert re.search(r"reached the goal after|gave up after 60 s", played)
    # So little training teaches nothing: the shipped agent reaches the goal.
    run("ambulo export vr_navigation --out my_game/house.ambulo", workplace)
    played = run(blocks()[-1][1], workplace)
    assert "reached the goal after" in played
