"""The probability of being lost in exported files is the agent's."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from ambulo.configs.errors import ModelFileError
from ambulo.envs.vr.contract import WorldSpec
from ambulo.policies.agents.navigation import Agent, load_navigation
from ambulo.policies.export import lost as module
from ambulo.policies.export.export import export_json, export_onnx, observations
from ambulo.policies.export.godot import export_godot, unpack
from ambulo.policies.export.lost import lost_of_file
from ambulo.policies.files.lost_header import LostHeader
from ambulo.policies.files.model_file import ModelFile
from ambulo.policies.networks.lost_head import LostHead
from ambulo.shipped import shipped_models

SPEC = asdict(WorldSpec())


@pytest.fixture
def agent() -> Agent:
    """The shipped agent with a random head."""
    model = load_navigation(shipped_models()["vr_navigation"])
    latent = model.weights["action_net.weight"].shape[1]
    header = LostHeader(
        definition="lost", hidden=32, levels="train", episodes=2,
        calibration_episodes=1, base_rate=0.2, calibration=(1.0, 0.0),
        stalled=(1.0, -2.0),
    )  # fmt: skip
    metadata = model.metadata.model_copy(update={"lost": header})
    head = LostHead(latent)
    return Agent(ModelFile(metadata, model.weights | head.weights()))


def bare(agent: Agent) -> Agent:
    other = agent.copy()
    other.lost_head = None
    return other


def told(agent: Agent, obs: Any) -> Any:
    own = agent.copy()
    own.act(obs)
    assert own.lost is not None
    assert own.lost.std() > 1e-3
    return own.lost


def test_onnx_has_a_further_output(tmp_path: Path, agent: Agent) -> None:
    export_onnx(agent, tmp_path / "a.onnx")
    export_onnx(bare(agent), tmp_path / "b.onnx")
    with_head, without = (
        onnxruntime.InferenceSession(str(tmp_path / name))
        for name in ("a.onnx", "b.onnx")
    )
    names = [port.name for port in with_head.get_outputs()]
    assert names == [*(port.name for port in without.get_outputs()), "lost"]
    obs = observations(agent)
    feed: dict[str, Any] = {"observation": obs}
    for port in with_head.get_inputs()[1:]:
        feed[port.name] = np.zeros((len(obs), port.shape[1]), np.float32)
    action, lost = with_head.run(["action", "lost"], feed)
    np.testing.assert_array_equal(action, without.run(["action"], feed)[0])
    np.testing.assert_allclose(lost, told(agent, obs), atol=1e-5)
    assert onnx.load(tmp_path / "a.onnx").graph.output[-1].name == "lost"


def test_json_has_layers_of_the_head(tmp_path: Path, agent: Agent) -> None:
    weights = export_json(agent, tmp_path / "a.json")
    header = json.loads((tmp_path / "a.json").read_text())
    numbers = np.fromfile(weights, "<f4")
    assert header["weights"]["numbers"] == numbers.size
    obs = observations(agent)
    found = lost_of_file(header, numbers, obs)
    np.testing.assert_allclose(found, told(agent, obs), atol=1e-5)
    assert header["test"]["lost"] == pytest.approx(float(found[0]), abs=1e-5)


def test_the_file_for_godot_has_layers_of_the_head(
    tmp_path: Path, agent: Agent
) -> None:
    export_godot(agent, tmp_path / "a.ambulo", SPEC)
    header, numbers = unpack((tmp_path / "a.ambulo").read_bytes())
    obs = observations(agent)
    found = lost_of_file(header, numbers, obs)
    np.testing.assert_allclose(found, told(agent, obs), atol=1e-5)
    rows = header["lost"]["layers"]
    assert [row["activation"] for row in rows] == ["relu", "none"]
    assert rows[-1]["bias"] + 1 == header["weights"]["numbers"] == numbers.size
    export_godot(bare(agent), tmp_path / "b.ambulo", SPEC)
    assert "lost" not in unpack((tmp_path / "b.ambulo").read_bytes())[0]


def test_an_export_that_says_something_else_is_refused(
    tmp_path: Path, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TOLERANCE", -1.0)
    with pytest.raises(ModelFileError, match="probability of being lost differs"):
        export_onnx(agent, tmp_path / "a.onnx")
    assert list(tmp_path.iterdir()) == []
