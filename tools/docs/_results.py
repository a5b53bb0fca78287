"""The page of measurements: every file of docs/results as a table."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from _markdown import table

MOST_ROWS = 60
"""A longer table is cut; the file holds all."""
MOST_CELLS = 9
"""Columns of a table."""
DIGITS = 4
"""Significant digits that are shown."""


def write(results: Path, folder: Path) -> None:
    """Write benchmarks.md with a section for every file of `results`."""
    lines = [
        "# Benchmarks", "",
        "Every file of measurements as it was written; the [table of results](results.md) "
        "gives command, seeds, date and baseline of each.", "",
    ]  # fmt: skip
    for file in sorted(results.glob("*.json")):
        data = json.loads(file.read_text(encoding="utf-8"))
        lines += [f"## {file.stem.replace('_', ' ')}", ""]
        lines += [f"[{file.name}](results/{file.name})", ""]
        lines += list(_section(data))
    (folder / "benchmarks.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    shutil.copytree(results, folder / "results", dirs_exist_ok=True)


def _section(data: dict[str, Any]) -> Iterator[str]:
    """Yield the tables of one file: its rows, else its agents, else all plain values."""
    command = data.get("command")
    if isinstance(command, str):
        yield f"`{command}`"
        yield ""
    agents = data.get("agents")
    if isinstance(agents, dict) and all(map(_is_row, agents.values())):
        yield from _agents(agents)
        others = ", ".join(
            f"`{key}`" for key in data if key not in ("agents", "command")
        )
        yield f"Also in the file: {others}."
        yield ""
        return
    rows = data.get("rows")
    if isinstance(rows, list) and rows and all(map(_is_row, rows)):
        columns = list(rows[0])
        yield from table(
            columns, [[_number(row[c]) or str(row[c]) for c in columns] for row in rows]
        )
        yield ""
        return
    rows = [(f"`{name}`", value) for name, value in _flat(data) if name != "command"]
    yield from table(("quantity", "value"), rows[:MOST_ROWS])
    yield ""
    if len(rows) > MOST_ROWS:
        yield f"{len(rows) - MOST_ROWS} more values are in the file."
        yield ""


def _is_row(value: Any) -> bool:
    """Return whether all values are numbers or numbers with intervals."""
    return isinstance(value, dict) and any(_number(entry) for entry in value.values())


def _agents(agents: dict[str, Any]) -> Iterator[str]:
    """Yield one table: metrics as rows, agents as columns."""
    names = list(agents)[: MOST_CELLS - 1]
    metrics = list(dict.fromkeys(m for name in names for m in agents[name]))
    rows = [
        (f"`{metric}`", *(_number(agents[name].get(metric)) for name in names))
        for metric in metrics
        if any(_number(agents[name].get(metric)) for name in names)
    ]
    yield from table(("metric", *names), rows)
    yield ""


def _number(entry: Any) -> str:
    """Return a number, with its interval and unit if it has them; empty for others."""
    if isinstance(entry, dict):
        text = _number(entry.get("value"))
        low, high, unit = (entry.get(key) for key in ("low", "high", "unit"))
        if text and low is not None and high is not None:
            text += f" ({_number(low)} to {_number(high)})"
        return f"{text} {unit}" if text and unit not in (None, "1") else text
    if isinstance(entry, bool) or not isinstance(entry, int | float):
        return ""
    return f"{entry:,}" if isinstance(entry, int) else f"{entry:.{DIGITS}g}"


def _flat(data: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every plain value with its path; of long lists of numbers the size alone."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _flat(value, f"{path}.{key}" if path else str(key))
    elif isinstance(data, list):
        if len(data) > MOST_CELLS or any(isinstance(v, list | dict) for v in data):
            yield path, f"{len(data)} values"
        else:
            yield path, ", ".join(_number(value) or str(value) for value in data)
    elif data is not None:
        yield path, _number(data) or str(data)
