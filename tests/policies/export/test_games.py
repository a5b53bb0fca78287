"""Policies of a game as files for Godot, ONNX and games of godot-rl."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from fixtures.game_agents import BOAT, CAR, WALKER, agent_of
from fixtures.onnx_files import session_of

from ambulo.configs.errors import ModelFileError
from ambulo.policies.agents.game import load_game_agent
from ambulo.policies.export.games import (
    export_godot,
    export_godot_rl,
    export_onnx,
    run_kind,
)
from ambulo.policies.export.network_layers import torch_layers
from ambulo.policies.export.written import unpack
from ambulo.policies.files.model_file import ModelFile, save_model


@pytest.mark.parametrize("units", [0, 7])
def test_a_file_for_godot_has_each_kind(tmp_path, units):
    agent = agent_of(WALKER, CAR, recurrent=units)
    export_godot(agent, tmp_path / "a.ambulo")
    header, numbers = unpack((tmp_path / "a.ambulo").read_bytes())
    assert [row["name"] for row in header["agents"]] == ["walker", "car"]
    assert header["action_repeat"] == 4
    obs = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)
    state = np.zeros((6, units), np.float32)
    found, _ = run_kind(header["agents"][1], numbers, obs, state)
    acted = agent.act(obs, kind="car")
    np.testing.assert_array_equal(found[:, :4].argmax(axis=1), acted["gear"])
    np.testing.assert_allclose(
        np.clip(found[:, 4:], -1, 1), acted["steer"], atol=1e-5, rtol=0
    )


def test_pictures_are_convolved_as_in_torch(tmp_path):
    agent = agent_of(WALKER)
    export_godot(agent, tmp_path / "a.ambulo")
    header, numbers = unpack((tmp_path / "a.ambulo").read_bytes())
    rng = np.random.default_rng(1)
    seen = {
        "speed": rng.normal(size=(4, 3)),
        "camera": rng.integers(256, size=(4, 9, 8, 3)),
        "goal": rng.normal(size=(4, 2)),
    }
    acted = agent.act(seen)
    flat = np.concatenate([part.reshape(4, -1) for part in seen.values()], axis=1)
    found, _ = run_kind(
        header["agents"][0],
        numbers,
        flat.astype(np.float32),
        np.zeros((4, 0), np.float32),
    )
    np.testing.assert_allclose(
        np.clip(found[:, :2], -1, 1), acted["move"], atol=1e-5, rtol=0
    )
    one = agent.act({name: part[0] for name, part in seen.items()})
    np.testing.assert_allclose(one["move"], acted["move"][0], atol=1e-6, rtol=0)


@pytest.mark.integration
def test_onnx_has_the_parts_by_name(tmp_path):
    agent = agent_of(WALKER, recurrent=6)
    export_onnx(agent, tmp_path / "a.onnx")
    run = session_of(tmp_path / "a.onnx")
    assert [port.name for port in run.get_inputs()] == [
        "speed",
        "camera",
        "goal",
        "state",
    ]
    header = json.loads(run.get_modelmeta().custom_metadata_map["ambulo"])
    assert header["agent"]["action"][1] == {"name": "jump", "size": None, "choices": 3}


@pytest.mark.integration
def test_a_game_of_godot_rl_gets_what_its_loader_reads(tmp_path):
    """Names of the public loader; of mixed actions it skips as many numbers as a part has."""
    export_godot_rl(agent_of(BOAT), tmp_path / "boat.onnx")
    run = session_of(tmp_path / "boat.onnx")
    assert [p.name for p in run.get_inputs()] == ["obs", "state_ins"]
    assert [p.name for p in run.get_outputs()] == ["output", "state_outs"]
    assert run.get_outputs()[0].shape[1] == 2
    obs, state = np.array([[0.5, -2.0]], np.float32), np.zeros(1, np.float32)
    out, after = run.run(["output", "state_outs"], {"obs": obs, "state_ins": state})
    acted = agent_of(BOAT).act(obs)["sail"]
    np.testing.assert_allclose(np.clip(out, -1, 1), acted, atol=1e-5, rtol=0)
    assert after.tolist() == [0.0]
    car = agent_of(CAR, log_std_init=-0.7)
    export_godot_rl(car, tmp_path / "car.onnx")
    row = np.ones((1, 5), np.float32)
    (out,) = session_of(tmp_path / "car.onnx").run(
        ["output"], {"obs": row, "state_ins": state}
    )
    assert out.shape == (1, 4 + 2)
    assert out[0, :4].argmax() == car.act(row)["gear"][0]
    np.testing.assert_allclose(
        np.clip(out[:, 4:5], -1, 1), car.act(row)["steer"], atol=1e-5, rtol=0
    )
    assert out[0, 5] == pytest.approx(-0.7)


def test_what_cannot_be_exported_is_named(tmp_path):
    file = tmp_path / "a.onnx"
    with pytest.raises(
        ModelFileError, match="holds one policy, the model has walker, car"
    ):
        export_godot_rl(agent_of(WALKER, CAR), file)
    with pytest.raises(ModelFileError, match="godot-rl keeps no state"):
        export_godot_rl(agent_of(CAR, recurrent=4), file)
    with pytest.raises(ModelFileError, match="LSTM: no file has such a layer"):
        torch_layers([torch.nn.LSTM(2, 3)])
    assert not file.exists()


def test_a_model_file_comes_back(tmp_path):
    agent = agent_of(WALKER, CAR)
    weights = {name: t.clone() for name, t in agent.policy.state_dict().items()}
    save_model(tmp_path / "m.zip", ModelFile(agent.metadata, weights))
    again = load_game_agent(tmp_path / "m.zip")
    obs = np.ones((2, 5), np.float32)
    assert (
        again.act(obs, kind="car")["gear"] == agent.act(obs, kind="car")["gear"]
    ).all()
    with pytest.raises(ModelFileError, match="the model has walker, car"):
        again.act(obs)
    with pytest.raises(ModelFileError, match="observes speed, camera, goal, got speed"):
        again.act({"speed": obs}, kind="walker")
