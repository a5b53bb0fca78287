"""A script that lies beside a clone named `ambulo` gets the clone, not an empty package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

SCRIPT = """
import ambulo, ambulo.cli, ambulo.configs.vr, ambulo.envs, gymnasium
assert ambulo.__version__, dir(ambulo)
print(ambulo.__file__)
print(ambulo.cli.__file__)
print(ambulo.envs.__file__)
env = gymnasium.make("ambulo/VRNavigation-v0")
env.reset(seed=0)
"""


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """A folder with a clone named `ambulo` in it."""
    (tmp_path / "ambulo").symlink_to(ROOT, target_is_directory=True)
    return tmp_path


def run(folder: Path, *arguments: str, **environment: str) -> str:
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder, env=inherited | environment, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.integration
def test_a_script_beside_the_clone_imports_it(beside: Path) -> None:
    (beside / "s.py").write_text(SCRIPT)
    files = [Path(line) for line in run(beside, "s.py").splitlines()]
    assert files == [
        ROOT / "src" / "ambulo" / "__init__.py",
        ROOT / "src" / "ambulo" / "cli.py",
        ROOT / "envs" / "__init__.py",
    ]


@pytest.mark.integration
@pytest.mark.parametrize("command", [["--help"], ["train", "vr", "--help"]])
def test_commands_with_the_folder_on_the_path(beside: Path, command: list[str]) -> None:
    assert "usage" in run(beside, "-m", "ambulo.cli", *command, PYTHONPATH=".")
