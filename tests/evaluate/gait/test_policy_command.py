"""`ambulo eval` of a gait policy: an untrained one, over the shipped balance controller."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.untrained import save_untrained

from ambulo.configs.gait import gait_space
from ambulo.configs.presets import LOCOMOTION_PRESETS
from ambulo.envs.reference.configured import configured_character
from ambulo.envs.reference.gait_reference import healthy_gait
from ambulo.envs.reference.reference import Reference
from ambulo.envs.tasks.gait.batch import GaitBatch
from ambulo.evaluate.command import main
from ambulo.evaluate.gait.policy_scores import (
    GaitPolicyScores,
    drawn_bodies,
    play_bodies,
)
from ambulo.evaluate.locomotion.evaluation import undisturbed

CONFIG = LOCOMOTION_PRESETS.load("gait").override("network", net_arch=(8,))
SPACE = gait_space("human23")


@pytest.fixture(scope="module")
def healthy() -> Reference:
    return healthy_gait(CONFIG.environment)


@pytest.fixture(scope="module")
def model(healthy: Reference, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh policy, which plays actions of 0."""
    body = configured_character(CONFIG.environment)
    batch = GaitBatch(CONFIG, healthy, body, num_envs=1)
    file = tmp_path_factory.mktemp("model") / "gait.zip"
    return save_untrained(file, CONFIG, batch, healthy)


def values_of(scores: GaitPolicyScores) -> dict[str, Any]:
    """The metrics without intervals."""
    return {name: metric.value for name, metric in scores.metrics.items()}


@pytest.mark.integration
def test_strides_and_cadences_of_bodies_that_walk(healthy: Reference) -> None:
    config = undisturbed(CONFIG, 4.0)
    values = drawn_bodies(config, healthy, 5, 2)
    np.testing.assert_array_equal(values, drawn_bodies(config, healthy, 5, 2))
    assert SPACE.size == values.shape[1]
    found = values_of(play_bodies(config, healthy, values, None, 5))
    assert found["survival_rate"] == 1.0
    assert found["survival_s"] == pytest.approx(4.0)
    for name in ("stride_error", "cadence_error", "speed_error"):
        assert found[name] < 0.1
    assert found["joint_error_deg"] < 3.0


def test_nobody_is_left(healthy: Reference) -> None:
    config = undisturbed(CONFIG, 1.5).override(
        "environment", push_impulse=(300.0, 300.0), push_interval=(0.1, 0.2)
    )
    values = drawn_bodies(config, healthy, 5, 2)
    found = values_of(play_bodies(config, healthy, values, None, 5))
    assert found["survival_rate"] == 0.0
    assert found["survival_s"] < 1.5
    assert found["speed_error"] is None


@pytest.mark.integration
def test_the_command_scores_policy_and_law(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, told = tmp_path / "report", tmp_path / "scores.json"
    flags = ["--episodes", "2", "--seconds", "0.2", "--json", str(told)]
    assert main([str(model), *flags, "--output", str(out)]) == 0
    text = capsys.readouterr().out
    assert "2 bodies, 0.2 s, undisturbed" in text
    assert "pushed with 0 to 50 N s" in text
    data = json.loads(told.read_text())
    assert data["kind"] == "gait_policy"
    assert list(data["groups"]["disturbance"]) == ["pushed with 0 to 50 N s"]
    # Actions of 0 are the law.
    calm = data["agents"]
    assert calm["policy"] == calm["law"]
    assert data["episodes"] == 2
    assert len(data["rows"]) == 2 * 2 * 2
    page = (out / "report.html").read_text()
    assert "Gait policy: evaluation" in page
    assert "law" in page
