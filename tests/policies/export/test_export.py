"""Exports act like the agent, in other programs, and the documented reader works."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from fixtures.onnx_files import run
from fixtures.policy_replay import random_agent

from ambulo.configs.errors import ModelFileError
from ambulo.policies.agents.navigation import Agent
from ambulo.policies.export import export
from ambulo.policies.export.export import export_json, navigation_graph
from ambulo.policies.export.graph import write_graph

DOCUMENT = Path(__file__).parents[3] / "docs" / "model_format.md"


def observations(agent: Agent, count: int) -> Any:
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(count, agent.layout.size)).astype(np.float32)
    return noise / agent.policy.mlp_extractor.scales.numpy()


@pytest.mark.integration
@pytest.mark.parametrize(
    ("mode", "activation"), [("continuous", "elu"), ("discrete", "silu")]
)
def test_onnx_acts_like_the_agent(tmp_path: Path, mode: str, activation: str) -> None:
    agent = random_agent(mode, activation)
    path = tmp_path / "model.onnx"
    write_graph(navigation_graph(agent), path)
    assert os.listdir(tmp_path) == ["model.onnx"]
    for count in (1, 50):
        obs = observations(agent, count)
        (got,) = run(path, obs)
        want = agent.act(obs, deterministic=True)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, atol=1e-5)
        if mode == "continuous" and count > 1:
            assert (np.abs(want) == 1.0).any()
            assert (np.abs(want) < 1.0).any()


def test_a_bounded_agent_stays_within_its_bound(tmp_path: Path) -> None:
    agent = random_agent(bound=(0.8, 0.4))
    obs = observations(agent, 50) * 3.0
    obs[0] = 0.0
    want = agent.act(obs, deterministic=True)
    stick = np.hypot(want[:, 0], want[:, 1])
    assert 0.75 < stick.max() <= 0.8 + 1e-6
    assert 0.38 < np.abs(want[:, 2]).max() <= 0.4 + 1e-6
    free = random_agent().act(obs, deterministic=True)
    small = (np.hypot(free[:, 0], free[:, 1]) < 0.1) & (np.abs(free[:, 2]) < 0.05)
    np.testing.assert_allclose(want[small], free[small], atol=2e-3)
    (got,) = navigation_graph(agent).reference(obs)
    np.testing.assert_array_equal(got, want)
    module = navigation_graph(agent).module
    with torch.no_grad():
        found = module(torch.from_numpy(obs.astype(np.float32)))
    np.testing.assert_allclose(found.numpy(), want, atol=1e-5)


@pytest.mark.integration
def test_onnx_says_what_it_is_and_is_the_same_every_time(tmp_path: Path) -> None:
    agent = random_agent(memory="map")
    for name in ("a.onnx", "b.onnx"):
        write_graph(navigation_graph(agent), tmp_path / name)
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()
    model = onnx.load(tmp_path / "a.onnx")
    assert model.opset_import[0].version == 18
    header = json.loads(model.metadata_props[0].value)
    assert header["observation"] == agent.layout.schema()
    assert header["config"] == agent.config.model_dump(mode="json")


@pytest.mark.parametrize("activation", ["relu", "tanh", "elu", "silu"])
@pytest.mark.parametrize("mode", ["continuous", "bounded", "discrete"])
def test_the_documented_reader_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, activation: str
) -> None:
    bounded = mode == "bounded"
    agent = random_agent(
        "continuous" if bounded else mode, activation, (0.8, 0.4) if bounded else None
    )
    export_json(agent, tmp_path / "model.json")
    text = DOCUMENT.read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert code is not None
    names: dict[str, Any] = {"__name__": "__main__"}
    monkeypatch.chdir(tmp_path)
    exec(code[1], names)
    assert "ambulo" not in names
    assert np.isfinite(names["action"]).all()
    header = json.loads((tmp_path / "model.json").read_text())
    size = (tmp_path / "model.bin").stat().st_size
    assert size == 4 * header["weights"]["numbers"]


def test_exports_that_act_otherwise_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, right = random_agent(), export.folded_layers

    def wrong(agent: Agent) -> Any:
        layers = right(agent)
        return [*layers[:-1], replace(layers[-1], bias=layers[-1].bias + 1e-3)]

    monkeypatch.setattr(export, "folded_layers", wrong)
    with pytest.raises(ModelFileError, match=r"action differs from the model by 0\.00"):
        export_json(agent, tmp_path / "a.json")
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot be written"):
        export_json(random_agent(), tmp_path / "no" / "model.json")
    with pytest.raises(ModelFileError, match=r"must end in \.json"):
        export_json(random_agent(), tmp_path / "model.bin")
