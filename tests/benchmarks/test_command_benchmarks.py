"""What the benchmarks of commands and of the prior make of recordings and run folders."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from fixtures.benchmark_scripts import load


def test_a_command_is_judged_after_it_has_settled_and_by_survivors() -> None:
    # 20 steps of 1 s; three bodies are told 1 m/s and 30 deg/s, a fourth something else.
    velocity = np.zeros((20, 4, 2))
    velocity[:5] = 9.0  # before second 5: not judged
    velocity[5:, :, 0] = [1.1, 1.3, 5.0, 0.0]
    record = SimpleNamespace(
        dt=1.0,
        survived=np.array([True, True, False, True]),
        velocity=velocity,
        turn=np.tile(np.deg2rad([30.0, 24.0, 0.0, 0.0]), (20, 1)),
    )
    mine = np.array([True, True, True, False])
    row = load("locomotion_commands").row_of(record, mine, 1.0, 30.0)
    assert row["survival_rate"] == pytest.approx(2 / 3)
    assert row["speed_mean"] == pytest.approx(1.2)
    assert row["speed_error"] == pytest.approx(0.2)
    assert row["speed_error_max"] == pytest.approx(0.3)
    assert row["turn_error"] == pytest.approx(3.0)
    assert row["follow_rate"] == pytest.approx(1 / 3)  # 0.1 m/s off is within 0.15


def test_a_command_that_nobody_survives_has_no_errors() -> None:
    benchmark = load("locomotion_commands")
    record = SimpleNamespace(
        dt=1.0,
        survived=np.zeros(2, np.bool_),
        velocity=np.ones((9, 2, 2)),
        turn=np.ones((9, 2)),
    )
    row = benchmark.row_of(record, np.ones(2, np.bool_), 1.0, 0.0)
    assert row["speed_error"] is None
    assert row["follow_rate"] == 0.0
    told = benchmark.summary([row, row | {"survival_rate": 1.0, "speed_error": 0.1}])
    assert told["survival_rate"] == pytest.approx(0.5)
    assert told["survival_rate_worst"] == 0.0
    assert told["speed_error"] == pytest.approx(0.1)


def test_curves_of_runs(tmp_path: Path) -> None:
    benchmark = load("locomotion_prior")
    folders = []
    for seed in range(2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        folders.append(str(folder))
        lines = ["timesteps,seconds,rollout/ep_len_mean,reward/speed"]
        lines += [
            f"{100 * i},{6 * i},{'' if i == 1 else i + seed},0.5" for i in (1, 2, 3)
        ]
        (folder / "metrics.csv").write_text("\n".join(lines) + "\n")
        scores = [
            {"timesteps": 100, "survival_rate": 0.25},
            {"timesteps": 300, "survival_rate": 0.75 + 0.25 * seed},
        ]
        (folder / "evaluations.json").write_text(json.dumps(scores))
    out, picture = tmp_path / "out.json", tmp_path / "out.png"
    code = benchmark.main(
        [f"none={folders[0]},{folders[1]}", "--json", str(out), "--png", str(picture)]
    )
    assert code == 0
    found = json.loads(out.read_text())["none"]
    assert found["survival_rate"] == [[0.25, 0.75], [0.25, 1.0]]
    assert found["area_under_survival"] == [0.5, 0.625]
    assert found["ep_length_mean"] == [2.5, 3.5]  # an empty cell is left out
    assert found["minutes"] == [0.3, 0.3]
    assert picture.read_bytes()[:4] == b"\x89PNG"
