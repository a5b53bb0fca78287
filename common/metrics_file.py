"""`metrics.csv` of a run: what each roll-out or epoch logged."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from ambulo.configs.arrays import Floats

FORMER_COLUMNS = {
    "rollout/ep_return": "rollout/ep_rew_mean",
    "rollout/ep_length": "rollout/ep_len_mean",
}
"""Columns of older runs and what they are called now (as in Stable-Baselines3)."""


def read_metrics(file: Path) -> dict[str, Floats]:
    """Columns by name, (rows,) each; empty cells are NaN, and a missing file has none."""
    if not file.is_file():
        return {}
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
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
