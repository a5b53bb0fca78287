"""The unit tests of the GDScript side, run by the engine itself."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from ambulo.envs.godot.locate import find_project


def test_every_gdscript_test_passes(godot_program: Path) -> None:
    """`godot/tests/run.gd` ends with 0, and has found the tests that are there."""
    project = find_project()
    done = subprocess.run(
        [
            str(godot_program), "--headless", "--path", str(project), "-s",
            "tests/run.gd",
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    written = sum(
        len(re.findall(r"(?m)^func test_", file.read_text(encoding="utf-8")))
        for file in (project / "tests").glob("test_*.gd")
    )
    counts = re.search(r"(\d+) passed, 0 failed", done.stdout)
    assert counts is not None
    assert int(counts[1]) == written > 100
