"""A run begins with the policy that its settings name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from ambulo.common.find_model import find_model
from ambulo.policies.agents.navigation import load_navigation
from ambulo.train.train_vr_navigation import main

FLAGS = [
    "--preset", "embodied_quick", "--no-progress", "--run-name", "on", "--timesteps", "128",
    "--num-envs", "4", "--eval-freq", "0", "--episodes", "1",
]  # fmt: skip
SETTINGS = {
    "environment.body": "capsule",
    "environment.levels_per_family": "1",
    "environment.levels": '["open"]',
    "ppo.learning_rate": "1e-9",
    "ppo.learning_rate_final": "1e-9",
}


@pytest.fixture(autouse=True)
def _without_evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ambulo.train.vr.results.finish", lambda *_: 0)


def weights(file: Path) -> dict[str, torch.Tensor]:
    return load_navigation(file).weights


@pytest.mark.parametrize("chosen", ["vr_navigation", "vr_comfort"])
def test_the_policy_of_a_shipped_agent_goes_on(chosen: str, tmp_path: Path) -> None:
    flags = [f"--set={key}={value}" for key, value in SETTINGS.items()]
    flag = [] if chosen == "vr_navigation" else ["--init-from", chosen]
    assert main([*FLAGS, *flags, *flag]) == 0
    settings = json.loads((tmp_path / "runs" / "on" / "config.json").read_text("utf-8"))
    assert settings["training"]["init_from"] == chosen  # what a resumed run would need
    trained = weights(tmp_path / "runs" / "on" / "final_model.zip")
    begun = weights(Path(find_model(chosen)))
    for name, values in begun.items():
        torch.testing.assert_close(trained[name], values, atol=1e-5, rtol=1e-5)


@pytest.mark.integration
def test_new_parts_of_the_observation_begin_at_zero(tmp_path: Path) -> None:
    """The agent goes on as it was, and has room to learn what the new numbers say."""
    flags = [f"--set={key}={value}" for key, value in SETTINGS.items()]
    assert main([*FLAGS, *flags, "--set=observations.motion=motion_nn"]) == 0
    model = load_navigation(tmp_path / "runs" / "on" / "final_model.zip")
    begun = load_navigation(Path(find_model("vr_navigation")))
    old, size = begun.metadata.observation_size, model.metadata.observation_size
    assert size == old + 256
    for name, values in begun.weights.items():
        found = model.weights[name]
        if found.shape != values.shape:
            # The critic's own numbers come after the new ones.
            new = found[..., old:size]
            expected = torch.ones(256) if name.endswith("scales") else 0.0 * new
            torch.testing.assert_close(new, expected, atol=1e-5, rtol=0.0)
            found = torch.cat([found[..., :old], found[..., size:]], dim=-1)
        torch.testing.assert_close(found, values, atol=1e-5, rtol=1e-5)


def test_a_policy_of_another_shape_is_refused_in_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = [f"--set={key}={value}" for key, value in SETTINGS.items()]
    for other in ("observations.memory=none", "network.net_arch=[64]"):
        assert main([*FLAGS, *settings, f"--set={other}"]) == 2
        error = capsys.readouterr().err.splitlines()[-1]
        assert "the policy does not fit: it has " in error
        assert "training.init_from=null" in error
    anew = ["--set=network.net_arch=[64]", "--set=training.init_from=null"]
    assert main([*FLAGS, *settings, *anew]) == 0
