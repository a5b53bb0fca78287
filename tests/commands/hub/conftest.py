"""A hub on this machine, its client, and a folder for pulled models."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.hub_server import HubServer, hub_server  # noqa: F401

from ambulo.commands.hub.client import Hub


@pytest.fixture
def hub(
    hub_server: HubServer,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Hub:
    """The real client of the hub on this machine."""
    monkeypatch.setenv("AMBULO_MODELS", str(tmp_path / "models"))
    return Hub(hub_server.url)
