"""A MUJOCO_GL that cannot be had costs pictures, not the evaluation."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = (
    "import os; from ambulo.common.gl import import_mujoco; import_mujoco()\n"
    "import mujoco; print(os.environ.get('MUJOCO_GL'))"
)


@pytest.mark.parametrize(
    ("asked", "left", "warned"),
    [("no-such-gl", "disable", True), ("disable", "disable", False), ("", "", False)],
)
def test_mujoco_is_imported_whatever_is_asked(
    asked: str, left: str, warned: bool
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, "MUJOCO_GL": asked},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == left
    assert (f"MUJOCO_GL={asked} cannot be used" in done.stderr) == warned
