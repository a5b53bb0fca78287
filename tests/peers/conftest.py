"""Tests with tools that others wrote, in an environment of their own (`make test-peers`)."""

from __future__ import annotations

from pathlib import Path

import pytest

import ambulo.envs

assert ambulo.envs  # registers the environments

IDS = [
    "ambulo/VRNavigation-v0", "ambulo/Stand-v0", "ambulo/Imitate-v0",
    "ambulo/Locomote-v0", "ambulo/Gait-v0",
]  # fmt: skip


@pytest.fixture(params=IDS)
def name(request: pytest.FixtureRequest) -> str:
    """The identifier of an environment."""
    return str(request.param)


@pytest.fixture
def walk_bvh(tmp_path: Path) -> Path:
    """A walk of the gait network as a BVH file, as the command writes it."""
    from ambulo.cli import main

    path = tmp_path / "walk.bvh"
    assert main(["gait", "generate", "--out", str(path)]) == 0
    return path
