"""What all benchmarks share: options, alternating rounds, medians, tables and JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ambulo.common.files import without_nan, write_atomic
from ambulo.common.tables import new_table, print_table


class Options(argparse.ArgumentParser):
    """The options of a benchmark, with `--json FILE` and `--quick`."""

    def __init__(self, description: str | None, **quick: object) -> None:
        """Options of the benchmark with the docstring `description`.

        Args:
            description: Its docstring.
            **quick: Values that `--quick` sets where the command line does not.
        """
        super().__init__(
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self._quick = quick
        self.add_argument(
            "--json", type=Path, metavar="FILE", help="write the numbers there"
        )
        self.add_argument(
            "--quick", action="store_true", help="smallest size: only to see it run"
        )

    def add_mocap(self, folder: str = "cmu/asfamc", **options: Any) -> None:
        """Add `--data`: captured motion, by default `folder` of AMBULO_DATA."""
        root = os.environ.get("AMBULO_DATA")
        default = Path(root) / folder if root else None
        if default is not None and options.get("nargs"):
            options["default"] = [default]
        else:
            options["default"] = default
        self.add_argument(
            "--data",
            type=Path,
            required=root is None,
            metavar="DIR",
            help=f"captured motion (default: {folder} of the folder AMBULO_DATA)",
            **options,
        )

    def read(self, argv: Sequence[str] | None = None) -> argparse.Namespace:
        """The values of the command line."""
        words = sys.argv[1:] if argv is None else argv
        if "--quick" in words:
            self.set_defaults(**self._quick)
        return self.parse_args(words)


def in_turn(
    runs: Mapping[str, Callable[[], object]],
    rounds: int,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, list[float]]:
    """Seconds of each run in each round; the runs alternate, so that load is shared."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            begin = clock()
            run()
            times[name].append(clock() - begin)
    return times


def timed(call: Callable[[int], object], count: int, each: int = 1) -> list[float]:
    """Median, 99 % and least time of `call(i)`, i < count, over `each`, [us]."""
    for i in range(min(count, 20)):
        call(i)
    times = []
    for i in range(count):
        begin = time.perf_counter_ns()
        call(i)
        times.append((time.perf_counter_ns() - begin) / 1e3 / each)
    return spread(times)


def spread(values: Sequence[float]) -> list[float]:
    """Median, 99 % and least."""
    return [float(np.median(values)), float(np.percentile(values, 99)), min(values)]


def machine() -> dict[str, Any]:
    """What the numbers are measured on, with the load at this moment."""
    return {
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def print_rows(
    title: str,
    columns: Iterable[str],
    rows: Mapping[str, Iterable[object]],
    form: str = ".3g",
) -> None:
    """Print a table: a name and its values in each row."""
    table = new_table(title)
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="right")
    for name, values in rows.items():
        cells = (format(v, form) if isinstance(v, float) else str(v) for v in values)
        table.add_row(name, *cells)
    print_table(Console(), table)


def scores_alone(evaluation: Mapping[str, Any], model: str) -> dict[str, Any]:
    """What `ambulo eval --json` wrote of `model`, without its episodes and single levels."""
    groups = {k: v for k, v in evaluation["groups"].items() if k != "level"}
    kept = {k: evaluation[k] for k in ("evaluated", "episodes", "seed", "agents")}
    return {"model": model, **kept, "groups": groups}


def write(result: Mapping[str, Any], args: argparse.Namespace, **more: Any) -> None:
    """Write `result` to the file of `--json`, if there is one."""
    if args.json is not None:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(args.json, json.dumps(without_nan(result | more), indent=1) + "\n")


def judge(values: Sequence[tuple[str, float, str, float]]) -> int:
    """Print each value beside its target; how many targets are missed.

    Args:
        values: Name, value, `<=` or `>=`, and target.
    """
    missed = 0
    for name, value, sign, target in values:
        met = value <= target if sign == "<=" else value >= target  # false for NaN
        missed += not met
        print(
            f"{'ok    ' if met else 'MISSED'} {name}: {value:.4g} ({sign} {target:g})"
        )
    return missed


def exit_code(missed: object, args: argparse.Namespace) -> int:
    """1 where a target is missed, but 0 with `--quick`, whose numbers mean nothing."""
    return 1 if missed and not args.quick else 0
