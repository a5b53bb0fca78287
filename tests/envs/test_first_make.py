"""What the first process says while it prepares, and that the next says nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MAKE = "import ambulo; ambulo.make('ambulo/Imitate-v0').reset(seed=0)"


@pytest.mark.slow
def test_the_first_process_prepares_and_the_second_is_silent(tmp_path: Path) -> None:
    """Kernels and the reference are kept on disk."""
    folders = {
        "NUMBA_CACHE_DIR": str(tmp_path / "kernels"),
        "AMBULO_REFERENCE_CACHE": str(tmp_path / "references"),
    }
    first, second = (
        subprocess.run(
            [sys.executable, "-c", MAKE],
            env=os.environ | folders,
            capture_output=True,
            text=True,
            check=True,
        ).stderr
        for _ in range(2)
    )
    assert "compiling numerical kernels" in first
    assert "preparing what the body follows (plain walk)" in first
    assert second == ""
