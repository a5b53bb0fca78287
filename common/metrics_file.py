"""`metrics.csv` and `evaluations.json` of a run: what it logged, and how it scored."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.common.files import write_atomic
from ambulo.configs.arrays import Floats
from ambulo.configs.errors import RunFolderError
from ambulo.configs.json_text import json_value
from ambulo.configs.reading import read_regular_text

FORMER_COLUMNS = {
    "rollout/ep_return": "rollout/ep_rew_mean",
    "rollout/ep_length": "rollout/ep_len_mean",
}
"""Columns of older runs and what they are called now (as in Stable-Baselines3)."""
_DIGITS = 19
"""Of a number of steps that is too long to be one."""


def read_metrics(file: Path) -> dict[str, Floats]:
    """Columns by name, (rows,) each; empty cells are NaN, and a missing file has none.

    Raises:
        RunFolderError: It cannot be read, or is no table.
    """
    names, rows = _read_table(file)
    return {name: np.array([_number(row[name]) for row in rows]) for name in names}


def read_evaluations(file: Path) -> list[dict[str, Any]]:
    """Rows of `evaluations.json`, each with its `timesteps`; a missing file has none.

    Raises:
        RunFolderError: It is something else.
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


class MetricsTable:
    """A table that grows with a training, as a CSV file; the first column counts its steps."""

    def __init__(self, file: Path, last: int | None = None) -> None:
        """Continue the table in `file`, which may be missing.

        Args:
            file: The CSV file.
            last: Rows after this step, which a resumed run repeats, are dropped; None: none.

        Raises:
            RunFolderError: It cannot be written.
        """
        self._file, self._names = file, list[str]()
        rows = self._rows()
        if last is not None and file.is_file():
            self._write([row for row in rows if _is_until(row, last)])

    def add(self, row: Mapping[str, object]) -> None:
        """Add a row; new columns are empty in the rows before.

        Raises:
            RunFolderError: It cannot be written.
        """
        cells = {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()}
        new = [name for name in cells if name not in self._names]
        if new:
            rows = self._rows()
            self._names += new
            self._write([*rows, cells])
            return
        try:
            with self._file.open("a", encoding="utf-8", newline="") as stream:
                stream.write(self._text([cells]))
        except OSError as error:
            raise RunFolderError(
                f"{self._file}: cannot be written: {error.strerror}"
            ) from error

    def _rows(self) -> list[dict[str, Any]]:
        """Return the rows in the file, and take over its columns."""
        self._names, rows = _read_table(self._file)
        return rows

    def _write(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Write the file anew."""
        header = dict(zip(self._names, self._names, strict=True))
        write_atomic(self._file, self._text([header, *rows]))

    def _text(self, rows: Sequence[Mapping[str, object]]) -> str:
        text = io.StringIO()
        writer = csv.DictWriter(
            text, self._names, extrasaction="ignore", lineterminator="\n"
        )
        writer.writerows(rows)
        return text.getvalue()


def _read_table(file: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """Return columns, by their names of today, and rows of a table; none of a missing file.

    Raises:
        RunFolderError: It cannot be read, or is no table.
    """
    if not file.is_file():
        return [], []
    try:
        reader = csv.DictReader(io.StringIO(read_regular_text(file)))
        names = [FORMER_COLUMNS.get(name, name) for name in reader.fieldnames or ()]
        reader.fieldnames = names
        return [name for name in names if name], list(reader)
    except OSError as error:
        raise RunFolderError(f"{file}: cannot be read: {error.strerror}") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise RunFolderError(f"{file}: no table of numbers: {error}") from None


def _is_until(row: Mapping[str, Any], last: int) -> bool:
    """Whether the first column of a row counts steps up to `last`."""
    step = step_of(next(iter(row.values()), None) or "")
    return step is not None and step <= last


def step_of(text: str) -> int | None:
    """The number of steps in a cell of a table; None for what is none."""
    plain = text.isascii() and text.isdecimal() and len(text) < _DIGITS
    return int(text) if plain else None


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")
