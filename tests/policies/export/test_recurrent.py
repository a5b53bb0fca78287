"""Exports of recurrent agents: numpy, ONNX and Godot files over the steps of an episode."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.onnx_files import session_of
from fixtures.policy_replay import random_agent
from fixtures.untrained import untrained_navigator

from ambulo.configs.vr import NavigationConfig
from ambulo.policies.agents.navigation import Agent, load_agent
from ambulo.policies.export.export import (
    export_json,
    navigation_graph,
    run_json,
    step_json,
)
from ambulo.policies.export.godot import export_godot, unpack
from ambulo.policies.export.graph import write_graph
from ambulo.policies.files.model_file import save_model

STEPS, ENVS, UNITS = 200, 3, 6
SPEC = {"max_speed": 2.0}


def episode(agent: Agent) -> tuple[Any, Any]:
    """Observations (STEPS, ENVS, size) and the agent's actions in them."""
    rng = np.random.default_rng(1)
    size = agent.layout.size
    noise = rng.normal(size=(STEPS, ENVS, size)).astype(np.float32)
    obs = noise / agent.policy.mlp_extractor.scales.numpy()
    agent.reset()
    return obs, np.stack([agent.act(seen) for seen in obs])


@pytest.mark.integration
@pytest.mark.parametrize(
    ("mode", "widths"), [("continuous", (16, 8)), ("discrete", (16,))]
)
def test_onnx_acts_like_the_agent_over_an_episode(
    tmp_path: Path, mode: str, widths: tuple[int, ...]
) -> None:
    agent = random_agent(mode, widths=widths, units=UNITS)
    write_graph(navigation_graph(agent), tmp_path / "model.onnx")
    session = session_of(tmp_path / "model.onnx")
    ports = [port.name for port in (*session.get_inputs(), *session.get_outputs())]
    assert ports == ["observation", "state", "action", "next_state"]
    obs, want = episode(agent)
    state = np.zeros((ENVS, UNITS), np.float32)
    got = []
    for seen in obs:
        given = {"observation": seen, "state": state}
        action, state = session.run(["action", "next_state"], given)
        got.append(action)
    np.testing.assert_allclose(np.stack(got), want, atol=1e-5)
    if mode == "continuous":
        moved = agent.copy()
        first = np.stack([moved.copy().act(seen) for seen in obs])
        assert np.abs(first - want)[1:].max() > 0.01, "the past matters"


@pytest.mark.parametrize("bound", [None, (0.8, 0.4)])
def test_json_and_godot_files_act_like_the_agent_over_an_episode(
    tmp_path: Path, bound: tuple[float, float] | None
) -> None:
    agent = random_agent(bound=bound, units=UNITS, widths=(16, 8))
    export_json(agent, tmp_path / "model.json")
    header = json.loads((tmp_path / "model.json").read_text())
    weights = np.fromfile(tmp_path / "model.bin", "<f4")
    export_godot(agent, tmp_path / "model.ambulo", SPEC)
    files = [(header, weights), unpack((tmp_path / "model.ambulo").read_bytes())]
    obs, want = episode(agent)
    for data, numbers in files:
        assert data["state_size"] == UNITS
        assert [row.get("type") for row in data["layers"]] == [None, "gru", None, None]
        state = np.zeros((ENVS, UNITS), np.float32)
        for seen, action in zip(obs, want, strict=True):
            got, state = step_json(data, numbers, seen, state)
            np.testing.assert_allclose(got, action, atol=1e-5)
    np.testing.assert_allclose(run_json(header, weights, obs[0]), want[0], atol=1e-5)


def test_a_perceptron_has_no_state(tmp_path: Path) -> None:
    export_json(random_agent(), tmp_path / "model.json")
    header = json.loads((tmp_path / "model.json").read_text())
    assert "state_size" not in header
    assert all("type" not in row for row in header["layers"])


def test_a_file_of_a_recurrent_agent_is_read_again(tmp_path: Path) -> None:
    config = NavigationConfig().override("network", net_arch=(16, 8), recurrent=UNITS)
    model = untrained_navigator(config)
    obs, want = episode(Agent(model))
    save_model(tmp_path / "model.zip", model)
    again = load_agent(tmp_path / "model.zip")
    got = np.stack([again.act(seen) for seen in obs])
    np.testing.assert_array_equal(got, want)
