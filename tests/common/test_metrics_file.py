"""`metrics.csv` of runs old and new."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ambulo.common.metrics_file import read_metrics
from ambulo.common.run_folder import RunFolder
from ambulo.train.shared.callbacks import append_row, rewind_logs


def test_columns_of_older_runs_are_found_by_their_names_of_now(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert read_metrics(folder.metrics) == {}
    folder.metrics.write_text("timesteps,rollout/ep_return\n5,1.5\n9,\n")
    logged = read_metrics(folder.metrics)
    np.testing.assert_array_equal(logged["timesteps"], [5.0, 9.0])
    np.testing.assert_array_equal(logged["rollout/ep_rew_mean"], [1.5, np.nan])
    rewind_logs(folder, 5)  # as a resumed run does
    append_row(folder.metrics, {"timesteps": 6, "rollout/ep_rew_mean": 2.0})
    np.testing.assert_array_equal(
        read_metrics(folder.metrics)["rollout/ep_rew_mean"], [1.5, 2.0]
    )
