"""The file for Godot: what it says, that it acts like the agent, when it is refused."""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ambulo import cli
from ambulo.common.find_model import find_model
from ambulo.configs.errors import ModelFileError
from ambulo.configs.twin import find_twin
from ambulo.envs.vr.contract import WorldSpec
from ambulo.policies.agents.navigation import Agent, load_agent
from ambulo.policies.export import godot as module
from ambulo.policies.export.export import run_json
from ambulo.policies.export.godot import MAGIC, export_godot, unpack

GODOT = Path(__file__).parents[3] / "godot"
SPEC = asdict(WorldSpec())


@pytest.fixture
def agent() -> Agent:
    return load_agent(find_model("vr_navigation"))


def test_the_file_says_all_that_the_engine_needs(tmp_path: Path, agent: Agent) -> None:
    path = tmp_path / "agent.ambulo"
    limits = {
        "max_acceleration": 2.0, "max_yaw_acceleration": 3.0, "facing": 1.0,
        "comfort_speed": 1.5, "snap_turn": 0.5, "snap_delay": 0.4, "teleport": 3.0,
        "teleport_delay": 0.6, "vignette": 0.5, "eye_height": 1.2,
    }  # fmt: skip
    export_godot(agent, path, SPEC | limits)
    assert unpack(path.read_bytes())[0]["world"] == SPEC | limits
    export_godot(agent, path, SPEC)
    data = path.read_bytes()
    assert data.startswith(MAGIC)
    header, weights = unpack(data)
    assert header["world"] == {k: v for k, v in SPEC.items() if k not in limits}
    assert header["senses"] == {
        "frame": "head", "memory": "navigator", "num_rays": 16, "ray_length": 5.0,
        "plan_reach": 10.0, "follow_plan": True, "comfort": 0.0,
    }  # fmt: skip
    assert header["episode"]["goal_radius"] == agent.config.environment.goal_radius
    assert [part["name"] for part in header["observation"]] == list(
        agent.layout.slices()
    )
    assert header["output"] == "clip"
    assert weights.size == header["weights"]["numbers"]
    digest = hashlib.sha256(weights.tobytes()).hexdigest()
    assert header["weights"]["sha256"] == digest
    rng = np.random.default_rng(0)
    obs = rng.normal(size=(100, agent.layout.size)).astype(np.float32)
    np.testing.assert_allclose(
        run_json(header, weights, obs), agent.act(obs, deterministic=True), atol=1e-5
    )


def test_the_file_says_how_a_body_answers(tmp_path: Path, agent: Agent) -> None:
    twin = find_twin("walk_commands")
    export_godot(agent, tmp_path / "agent.ambulo", SPEC, twin)
    header, _ = unpack((tmp_path / "agent.ambulo").read_bytes())
    assert set(header["twin"]) == {
        "walker", "radius", "envelope", "speed", "side", "turn",
    }  # fmt: skip
    assert header["twin"]["envelope"]["speed"] == list(twin.envelope.speed)
    assert header["twin"]["turn"] == {
        name: getattr(twin.turn, name)
        for name in ("gain", "offset", "lag", "change", "delay")
    }
    export_godot(agent, tmp_path / "capsule.ambulo", SPEC)
    assert "twin" not in unpack((tmp_path / "capsule.ambulo").read_bytes())[0]


def test_the_shipped_file_is_that_of_the_shipped_agent(tmp_path: Path) -> None:
    """After a new agent: `ambulo export vr_navigation --out godot/policies/...`."""
    path = tmp_path / "vr_navigation.ambulo"
    assert cli.main(["export", "vr_navigation", "--out", str(path)]) == 0
    shipped = GODOT / "policies" / "vr_navigation.ambulo"
    assert path.read_bytes() == shipped.read_bytes()


def test_the_target_can_be_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.ambulo"
    arguments = ["export", "vr_comfort", "--target", "godot", "--out", str(path)]
    assert cli.main(arguments) == 0
    assert capsys.readouterr().out == f"{path}\n"
    assert os.listdir(tmp_path) == ["a.ambulo"]
    assert unpack(path.read_bytes())[0]["kind"] == "vr_navigation"


def test_agents_that_godot_cannot_run_are_refused(
    tmp_path: Path, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(module, "MEMORIES", ("none", "visits"))
        with pytest.raises(ModelFileError, match="memory 'navigator' does not run"):
            export_godot(agent, tmp_path / "a.ambulo", SPEC)
    agent.config = agent.config.override("actions", follow_plan=False)
    agent.config = agent.config.override(
        "observations", memory="map", motion="motion_nn"
    )
    with pytest.raises(
        ModelFileError, match="motion = motion_nn does not run in Godot"
    ):
        export_godot(agent, tmp_path / "a.ambulo", SPEC)
    assert os.listdir(tmp_path) == []


def test_the_margin_of_plans_is_exported(tmp_path: Path, agent: Agent) -> None:
    path = tmp_path / "a.ambulo"
    agent.config = agent.config.override("actions", follow_plan=False)
    agent.config = agent.config.override("observations", memory="map")
    export_godot(agent, path, SPEC)
    assert "plan_reach" not in unpack(path.read_bytes())[0]["senses"]
    agent.config = agent.config.override("observations", memory="plan", plan_reach=2.0)
    export_godot(agent, path, SPEC)
    senses = unpack(path.read_bytes())[0]["senses"]
    assert (senses["memory"], senses["plan_reach"]) == ("plan", 2.0)


def test_exports_that_act_otherwise_are_refused(
    tmp_path: Path, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = module.folded_layers

    def wrong(agent: Agent) -> Any:
        layers = right(agent)
        return [*layers[:-1], replace(layers[-1], bias=layers[-1].bias + 1e-3)]

    monkeypatch.setattr(module, "folded_layers", wrong)
    with pytest.raises(ModelFileError, match=r"action differs from the model by 0\.00"):
        export_godot(agent, tmp_path / "a.ambulo", SPEC)
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written_are_named(tmp_path: Path, agent: Agent) -> None:
    with pytest.raises(ModelFileError, match="cannot be written"):
        export_godot(agent, tmp_path / "no" / "a.ambulo", SPEC)
