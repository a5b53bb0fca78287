"""`metrics.csv` of a run: what each roll-out or epoch logged."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.reading import read_regular_text

FORMER_COLUMNS = {
    "rollout/ep_return": "rollout/ep_rew_mean",
    "rollout/ep_length": "rollout/ep_len_mean",
}
"""Columns of older runs and what they are called now (as in Stable-Baselines3)."""


def read_metrics(file: Path) -> dict[str, Floats]:
    """Columns by name, (rows,) each; empty cells are NaN, and a missing file has none."""
    if not file.is_file():
        return {}
    rows = list(csv.DictReader(io.StringIO(read_regular_text(file))))
    return {
        FORMER_COLUMNS.get(name, name): np.array([_number(row[name]) for row in rows])
        for name in (rows[0] if rows else ())
        if name
    }


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")
