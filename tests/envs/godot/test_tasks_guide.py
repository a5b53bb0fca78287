"""The eight steps of docs/godot_tasks.md, from an empty folder to an agent that plays."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ambulo.envs.godot.locate import find_project

GUIDE = Path(__file__).parents[3] / "docs" / "godot_tasks.md"
_BLOCK = re.compile(
    r"(?:^`(?P<file>my_game/[^`]+)`\n\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$",
    re.M | re.S,
)
_SMALLER = {
    "--timesteps 20000": "--timesteps 10240 --episodes 8 --no-progress",
    "--episodes 20": "--episodes 8 --no-report --json scores.json",
}
"""What is done less of here than in the guide."""


def blocks() -> list[tuple[str | None, str]]:
    """File (None: commands) and text of each block of the eight steps."""
    page = GUIDE.read_text()
    steps = page[page.index("\n### 1.") : page.index("\n## Settings")]
    return [(match["file"], match["text"]) for match in _BLOCK.finditer(steps)]


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


@pytest.mark.integration
@pytest.mark.slow
def test_the_eight_steps(
    tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, tools = tmp_path / "work", tmp_path / "tools"
    folder.mkdir()
    tools.mkdir()
    (folder / "godot").symlink_to(find_project())
    (tools / "godot").write_text(f'#!/bin/sh\nexec {program} "$@"\n')
    (tools / "godot").chmod(0o755)
    path = [str(tools), str(Path(sys.executable).parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(path))
    monkeypatch.setenv("GODOT_BIN", str(program))
    said = []
    for file, text in blocks():
        if file is None:
            said.append(run(text, folder))
        else:
            (folder / file).write_text(text)
    _, trained, _, played = said
    assert "nearer" in trained
    scores = json.loads((folder / "scores.json").read_text())["agents"]
    returns = {name: row["return_mean"]["value"] for name, row in scores.items()}
    assert {"policy", "random", "scripted"} <= set(returns)
    assert returns["policy"] > returns["random"]
    assert "reached the target" in played
