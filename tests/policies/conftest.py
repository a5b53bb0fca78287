"""The file of a tiny navigation policy."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.model_files import tiny_model

from ambulo.policies.files.model_file import save_model


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """The file of a tiny model."""
    path = tmp_path / "model.zip"
    save_model(path, tiny_model())
    return path
