"""The smallest run of the fuzz suite."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).with_name("run.py")


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="needs Linux")
def test_a_few_cases_of_every_kind() -> None:
    done = subprocess.run(
        [sys.executable, str(RUN), "--count", "25", "--seconds", "300"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    *kinds, total = done.stdout.splitlines()
    assert total.endswith(" 0 faults")
    assert len(kinds) >= 20
