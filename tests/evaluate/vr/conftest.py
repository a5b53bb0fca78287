"""Engines that draw, and one that cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from ambulo.configs.errors import RenderError
from ambulo.envs.godot.locate import find_drawing_engine


@pytest.fixture(scope="module")
def drawing() -> None:
    """A test that asks for this is skipped where no engine can draw."""
    try:
        find_drawing_engine()
    except RenderError as error:
        pytest.skip(str(error))


@pytest.fixture
def blind(tmp_path, monkeypatch) -> Path:
    """A Godot program of this machine that has no screen."""
    program = tmp_path / "engine" / "godot"
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo 4.6.stable && exit 0\nexit 3\n'
    )
    program.chmod(0o755)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    return program
