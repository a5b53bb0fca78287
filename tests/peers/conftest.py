"""Tests with tools that others wrote, in an environment of their own (`make test-peers`)."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import gymnasium
import pytest
from fixtures.motion import cmu  # noqa: F401

import ambulo.envs
from ambulo.cli import main

assert ambulo.envs  # registers the environments

collect_ignore_glob = [] if find_spec("tianshou") else ["test_*.py"]

IDS = [name for name in gymnasium.registry if name.startswith("ambulo/")]


@pytest.fixture(params=IDS)
def name(request: pytest.FixtureRequest) -> str:
    """The identifier of an environment."""
    return str(request.param)


@pytest.fixture
def walk_bvh(tmp_path: Path) -> Path:
    """A walk of the gait network as a BVH file, as the command writes it."""
    path = tmp_path / "walk.bvh"
    assert main(["gait", "generate", "--out", str(path)]) == 0
    return path
