"""The benchmarks' own modules can be imported, as when a script is run."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.motion import cmu  # noqa: F401


@pytest.fixture(autouse=True)
def _benchmark_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
