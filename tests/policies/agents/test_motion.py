"""Files of motion networks: round trip, damage, and files of other things."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from fixtures.model_files import HEADER, change_header, members_of

from ambulo.configs.errors import ModelFileError
from ambulo.configs.motion_nn import MotionNNConfig, MotionRunConfig
from ambulo.policies.agents.motion import load_encoder, load_motion_nn
from ambulo.policies.files.model_file import ModelFile, load_model, save_model
from ambulo.policies.kinds.motion_nn import MotionMetadata
from ambulo.policies.networks.motion_nn import MotionNN
from ambulo.policies.networks.motion_state import columns

SMALL = {"width": 8, "depth": 1, "heads": 2, "chunk": 2, "history": 3}


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Path, MotionNN]:
    """A file, and the network in it."""
    run = MotionRunConfig(
        model=MotionNNConfig(**SMALL),  # type: ignore[arg-type]
        data=("/home/someone/clips",),
    ).replace(training={"output": "/home/someone/runs"})
    torch.manual_seed(0)
    network = MotionNN(run.model).eval()
    path = tmp_path / "model.zip"
    metadata = MotionMetadata.describe(
        run, steps=7, command="train_motion", extra={"a": 1}
    )
    save_model(path, ModelFile(metadata, network.state_dict()))
    return path, network


def test_round_trip(saved: tuple[Path, MotionNN]) -> None:
    path, network = saved
    states = torch.randn(2, 3, 112)
    again = load_motion_nn(path)
    assert not again.training
    with torch.no_grad():
        assert torch.equal(again.rollout(states, 5), network.rollout(states, 5))
    metadata = load_model(path, MotionMetadata).metadata
    assert (metadata.steps, metadata.extra) == (7, {"a": 1})
    assert not any(p.requires_grad for p in again.parameters())


def test_loading_first_leaves_nothing_on_the_meta_device(
    saved: tuple[Path, MotionNN],
) -> None:
    columns.cache_clear()  # as in a process that has done nothing else
    load_motion_nn(saved[0])
    assert {part.device.type for part in columns()} == {"cpu"}


def test_file_tells_no_folders(saved: tuple[Path, MotionNN]) -> None:
    assert b"someone" not in members_of(saved[0])[HEADER]


def test_encoder_of_any_file_learns_on(saved: tuple[Path, MotionNN]) -> None:
    path, network = saved
    encoder = load_encoder(path)
    states = torch.randn(2, 3, 112)
    encoded = encoder.encode(states)
    torch.testing.assert_close(encoded, network.encode(states))
    encoded.sum().backward()  # type: ignore[no-untyped-call]
    assert all(p.grad is not None for p in encoder.trunk.parameters())
    assert not encoder.head.weight.requires_grad


@pytest.mark.parametrize("mode", ["mlp", "encoder"])
def test_other_modes(tmp_path: Path, mode: str) -> None:
    run = MotionRunConfig(model=MotionNNConfig(mode=mode, **SMALL))  # type: ignore[arg-type]
    network = MotionNN(run.model).eval()
    path = tmp_path / "model.zip"
    save_model(path, ModelFile(MotionMetadata.describe(run), network.state_dict()))
    states = torch.randn(2, 3, 112)
    with torch.no_grad():
        assert torch.equal(load_encoder(path).encode(states), network.encode(states))


def test_a_huge_network_is_refused_before_it_is_built(
    saved: tuple[Path, MotionNN],
) -> None:
    change_header(saved[0], lambda header: header["run"]["model"].update(width=4096))
    with pytest.raises(ModelFileError, match=r"has shape .*, expected .*4096"):
        load_motion_nn(saved[0])
