"""`metrics.csv` of runs old and new."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ambulo.common.metrics_file import MetricsTable, read_evaluations, read_metrics
from ambulo.common.run_folder import RunFolder
from ambulo.configs.errors import RunFolderError
from ambulo.train.shared.callbacks import rewind_logs


def test_columns_of_older_runs_are_found_by_their_names_of_now(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert read_metrics(folder.metrics) == {}
    folder.metrics.write_text("timesteps,rollout/ep_return\n5,1.5\n9,\n")
    logged = read_metrics(folder.metrics)
    np.testing.assert_array_equal(logged["timesteps"], [5.0, 9.0])
    np.testing.assert_array_equal(logged["rollout/ep_rew_mean"], [1.5, np.nan])
    rewind_logs(folder, 5)  # as a resumed run does
    MetricsTable(folder.metrics).add({"timesteps": 6, "rollout/ep_rew_mean": 2.0})
    np.testing.assert_array_equal(
        read_metrics(folder.metrics)["rollout/ep_rew_mean"], [1.5, 2.0]
    )


@pytest.mark.parametrize(
    "text", ["{", "[" * 100_000, "{}", "[1]", '[{"timesteps": "5"}]', "[{}]", "NaN"]
)
def test_evaluations_of_somebody_else_are_refused(tmp_path: Path, text: str) -> None:
    folder = RunFolder(tmp_path)
    assert read_evaluations(folder.evaluations) == []
    folder.evaluations.write_text(text)
    with pytest.raises(RunFolderError, match=r"evaluations\.json"):
        rewind_logs(folder, 5)


def test_rows_without_a_number_of_steps_are_dropped(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.metrics.write_text(f"timesteps\n1\n²\n{'9' * 5000}\n\nx\n3\n")
    rewind_logs(folder, 2)
    assert folder.metrics.read_text() == "timesteps\n1\n"


def test_rows_are_added_and_new_columns_are_empty_before(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    table = MetricsTable(file)
    for row in ({"step": 1, "a": 0.5}, {"step": 2, "a": 1 / 3}, {"step": 3, "b": 2.0}):
        table.add(row)
    assert file.read_text() == "step,a,b\n1,0.5,\n2,0.333333,\n3,,2\n"
    MetricsTable(file, 1).add({"step": 2, "a": None})
    assert file.read_text() == "step,a,b\n1,0.5,\n2,,\n"


@pytest.mark.parametrize("row", [b"1," + b"9" * 200_000, b"1,\xff"])
def test_a_damaged_table_is_one_line(tmp_path: Path, row: bytes) -> None:
    file = tmp_path / "metrics.csv"
    file.write_bytes(b"timesteps,loss\n" + row + b"\n")
    with pytest.raises(RunFolderError, match=r"metrics\.csv: no table") as caught:
        read_metrics(file)
    assert "\n" not in str(caught.value)
