"""Model files: round trip, and headers and weights that do not fit."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from fixtures.model_files import change_header, members_of, tiny_model, write_zip

from ambulo.configs.errors import ModelFileError
from ambulo.envs.vr.task.observation import observation_layout
from ambulo.policies.agents.navigation import load_agent, load_navigation
from ambulo.policies.files.model_file import save_model
from ambulo.policies.kinds.vr_navigation import describe


@pytest.mark.parametrize("mode", ["continuous", "discrete"])
def test_what_is_saved_is_loaded(tmp_path: Path, mode: str) -> None:
    model, path = tiny_model(mode), tmp_path / "model.zip"
    save_model(path, model)
    loaded = load_navigation(path)
    assert loaded.metadata == model.metadata
    assert loaded.metadata.versions["torch"] == torch.__version__
    assert loaded.weights.keys() == model.weights.keys()
    assert all(torch.equal(loaded.weights[k], v) for k, v in model.weights.items())
    assert loaded.training is not None
    assert loaded.training.values == model.training.values
    for name, array in model.training.arrays.items():
        assert loaded.training.arrays[name].dtype == array.dtype
        assert loaded.training.arrays[name].shape == array.shape
        np.testing.assert_array_equal(loaded.training.arrays[name], array)
    assert os.listdir(tmp_path) == ["model.zip"]


PLACES = {
    "godot_url": "http://10.0.0.1:8080",
    "godot_bin": "/home/somebody/godot",
    "godot_project": "/home/somebody/game",
}


def test_where_engines_are_is_not_saved(tmp_path: Path) -> None:
    model = tiny_model()
    config = model.metadata.config.override("environment", godot_engines=2, **PLACES)
    config = config.override("training", output="/home/somebody/runs")
    metadata = describe(config, observation_layout(config))
    save_model(tmp_path / "model.zip", dataclasses.replace(model, metadata=metadata))
    header = members_of(tmp_path / "model.zip")["ambulo.json"].decode()
    assert "somebody" not in header
    assert "10.0.0.1" not in header
    assert load_agent(tmp_path / "model.zip").config.environment.godot_engines == 2


def test_where_engines_are_is_not_taken_from_a_file(saved: Path) -> None:
    change_header(saved, lambda header: header["config"]["environment"].update(PLACES))
    environment = load_navigation(saved).metadata.config.environment
    assert [getattr(environment, name) for name in PLACES] == [None] * 3


def test_a_model_without_training_state_is_smaller(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "best.zip"
    save_model(path, dataclasses.replace(tiny_model(), training=None))
    assert load_navigation(path).training is None
    assert path.stat().st_size < saved.stat().st_size


Edit = Callable[[dict[str, Any]], Any]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda h: h.pop("config"), "config"),
        (lambda h: h["config"]["network"].update(net_arch=[8, 9]), "has shape"),
        (lambda h: h["config"]["network"].update(net_arch=[2**40]), "net_arch"),
        (lambda h: h["config"]["network"].update(net_arch=[8]), "unexpected weight"),
        (lambda h: h["config"]["network"].update(net_arch=[]), "net_arch"),
        (lambda h: h.update(observation_size=47), "the parts make 48"),
        (lambda h: h["observation"].pop(), "the parts make 45"),
        (lambda h: h["observation"][3].update(start=0), "has a gap"),
        (lambda h: h["action"].update(size=4), "action does not fit"),
    ],
)
def test_headers_that_do_not_fit_are_refused(
    saved: Path, edit: Edit, message: str
) -> None:
    change_header(saved, edit)
    with pytest.raises(ModelFileError, match=message) as caught:
        load_navigation(saved)
    assert str(saved) in str(caught.value)


def test_a_head_of_older_files_is_ignored(
    saved: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model, members = load_navigation(saved), members_of(saved)
    header = json.loads(members["ambulo.json"])
    header["lost"] = {"definition": "lost", "hidden": 32}
    header["config"]["training"]["lost_episodes"] = 1500
    policy = safetensors.torch.load(members["policy.safetensors"])
    policy |= {"lost_net.0.weight": torch.ones(1, 8), "lost_net.0.bias": torch.ones(1)}
    members["ambulo.json"] = json.dumps(header).encode()
    members["policy.safetensors"] = safetensors.torch.save(policy)
    write_zip(saved, members)
    with caplog.at_level(logging.INFO):
        loaded = load_navigation(saved)
    assert caplog.messages == [f"{saved}: weights lost_net.* are ignored"]
    assert loaded.metadata == model.metadata
    assert loaded.weights.keys() == model.weights.keys()
    save_model(saved, loaded)
    again = safetensors.torch.load(members_of(saved)["policy.safetensors"])
    assert again.keys() == model.weights.keys()


@pytest.mark.parametrize("left_out", ["training.json", "training.safetensors"])
def test_half_a_checkpoint_is_refused(saved: Path, left_out: str) -> None:
    members = members_of(saved)
    del members[left_out]
    write_zip(saved, members)
    with pytest.raises(ModelFileError, match="half a checkpoint"):
        load_navigation(saved)
