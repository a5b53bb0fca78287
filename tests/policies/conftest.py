"""A tiny navigation policy, and zip files whose members a test may change."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.task.observation import observation_layout
from ambulo.policies.files.model_file import ModelFile, TrainingState, save_model
from ambulo.policies.kinds.vr_navigation import describe
from ambulo.policies.networks.actor_critic import NavigationPolicy

Members = dict[str, bytes]


def make_tiny(mode: str = "continuous", width: int = 8, privileged: bool = True) -> Any:
    """A random policy on 48 numbers, with a small training state."""
    config = NavigationConfig().override(
        "network", net_arch=(width, width), privileged_critic=privileged
    )
    config = config.override("actions", mode=mode)
    layout = observation_layout(config)
    actions: spaces.Space[Any] = spaces.Box(-1, 1, (3,))
    if mode == "discrete":
        actions = spaces.Discrete(7)
    torch.manual_seed(0)
    policy = NavigationPolicy(
        spaces.Box(-np.inf, np.inf, (layout.full_size,)),
        actions,
        lambda _: 1e-3,
        scales=layout.scales(),
        actor_size=layout.size,
        widths=(width, width),
        activation="relu",
    )
    state = TrainingState(
        {
            "empty": np.zeros((0, 4), np.uint16),
            "flags": np.array([True, False]),
            "many": np.arange(12, dtype=np.int64).reshape(3, 4),
            "one": np.array(2.5),
        },
        {"big": 2**127 + 1, "text": "ä", "none": None, "float": 0.1},
    )
    metadata = describe(
        config, layout, num_timesteps=7, command="train", extra={"a": 1}
    )
    return ModelFile(metadata, dict(policy.state_dict()), state)


def read_zip(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def make_zip(path: Path, members: Members) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@pytest.fixture
def tiny_model() -> Callable[..., ModelFile]:
    """Makes random policies on 48 numbers."""
    return make_tiny


@pytest.fixture
def members_of() -> Callable[[Path], Members]:
    """Reads all members of a zip file."""
    return read_zip


@pytest.fixture
def write_zip() -> Callable[[Path, Members], Path]:
    """Writes a zip file; its path."""
    return make_zip


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """The file of a tiny model."""
    path = tmp_path / "model.zip"
    save_model(path, make_tiny())
    return path
