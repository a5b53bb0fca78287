"""`metrics.csv` and `evaluations.json` of a run: its logs and its scores."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import RunFolderError
from ambulo.configs.json_text import json_value
from ambulo.configs.reading import read_regular_text

FORMER_COLUMNS = {
    "rollout/ep_return": "rollout/ep_rew_mean",
    "rollout/ep_length": "rollout/ep_len_mean",
}
"""Columns of older runs and their present names (as in Stable-Baselines3)."""
_DIGITS = 19
"""Number of digits from which a number of steps is invalid."""


def read_metrics(file: Path) -> dict[str, Floats]:
    """Columns by name, (rows,) each; empty cells are NaN, and a missing file has none.

    Raises:
        RunFolderError: The file cannot be read, or is no table.
    """
    if not file.is_file():
        return {}
    try:
        rows = list(csv.DictReader(io.StringIO(read_regular_text(file))))
    except OSError as error:
        raise RunFolderError(f"{file}: cannot be read: {error.strerror}") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise RunFolderError(f"{file}: no table of numbers: {error}") from None
    return {
        FORMER_COLUMNS.get(name, name): np.array([_number(row[name]) for row in rows])
        for name in (rows[0] if rows else ())
        if name
    }


def read_evaluations(file: Path) -> list[dict[str, Any]]:
    """Rows of `evaluations.json`, each with its `timesteps`; a missing file has none.

    Raises:
        RunFolderError: The file has another content.
    """
    if not file.exists():
        return []
    try:
        rows = json_value(read_regular_text(file))
    except OSError as error:
        raise RunFolderError(f"{file}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise RunFolderError(f"{file}: not valid JSON: {error}") from None
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and type(row.get("timesteps")) is int for row in rows
    ):
        raise RunFolderError(f"{file}: not a list of evaluations with timesteps")
    return rows


def step_of(text: str) -> int | None:
    """The number of steps in a cell of a table, or None."""
    plain = text.isascii() and text.isdecimal() and len(text) < _DIGITS
    return int(text) if plain else None


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")
