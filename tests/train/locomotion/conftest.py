"""Fixtures of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.locomotion_runs import settings, standing_reference


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found: Path = standing_reference(tmp_path_factory.mktemp("r") / "s.npz")
    return found


@pytest.fixture
def tiny(reference: Path, tmp_path: Path) -> Path:
    """A settings file; the current folder is empty."""
    return settings(tmp_path / "tiny.json", reference)
