"""Harness of all benchmarks: options from a function's signature, tables, targets, JSON.

A benchmark is one function `measure` whose keyword arguments are its options and whose result
is its numbers; `run` does the rest. `{"rows": {name: {column: number}}}` is printed as a table.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import platform
import sys
import time
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from rich.console import Console

from ambulo.common.errors import USER_ERROR, cli_entry_point
from ambulo.common.files import without_nan, write_atomic
from ambulo.common.tables import new_table, print_table
from ambulo.configs.errors import ConfigError

CMU = Path("cmu")
"""Default of options that name captured motion: a folder of AMBULO_DATA."""

Target = tuple[str, str, float]
"""Path of a number in the result (`*`: each of a level), `<=` or `>=`, and the limit."""


@contextmanager
def imports(extra: str) -> Iterator[None]:
    """Context of imports; without a package, one line that names `extra`, and exit code 2."""
    try:
        yield
    except ImportError as error:
        print(
            f"ambulo: error: this needs the package {error.name}, which is not installed: "
            f"pip install 'ambulo[{extra}]'",
            file=sys.stderr,
        )
        raise SystemExit(USER_ERROR) from None


def run(
    measure: Callable[..., dict[str, Any]],
    quick: Mapping[str, Any],
    targets: Sequence[Target] = (),
    needs: str = "",
) -> None:
    """Measure with the options of the command line, print, and write the file of `--json`.

    Exits with 1 where a target is missed, but not with `--quick`, whose numbers mean nothing.

    Args:
        measure: its keyword arguments are options, those without a default positional ones.
        quick: values that `--quick` sets where the command line does not.
        targets: what must be reached.
        needs: folder or module that some systems lack: `/proc`, `resource`.
    """
    script = sys.modules[measure.__module__]

    @cli_entry_point
    def main(argv: Sequence[str] | None = None) -> int:
        parser = options_of(measure, script.__doc__ or "")
        words = sys.argv[1:] if argv is None else list(argv)
        if "--quick" in words:
            parser.set_defaults(**quick)
        chosen = vars(parser.parse_args(words))
        file, is_quick = chosen.pop("json"), chosen.pop("quick")
        if needs and not os.path.exists(needs) and find_spec(needs) is None:
            raise ConfigError(f"{script.__file__}: needs {needs}; run it on Linux")
        begun = machine()
        result = measure(**chosen)
        show(result)
        missed = judge(result, targets)
        if file is not None:
            command = f"python benchmarks/{Path(str(script.__file__)).name}"
            told = [f"{f} {_text(v)}" for f, v in _changed(measure, chosen)]
            text = {"command": " ".join([command, *told]), "machine": begun, **result}
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(file, json.dumps(without_nan(text), indent=1) + "\n")
        return int(missed > 0 and not is_quick)

    raise SystemExit(main())


def options_of(
    measure: Callable[..., Any], description: str
) -> argparse.ArgumentParser:
    """A parser with an option for each argument of `measure`, `--json` and `--quick`."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    hints = get_type_hints(measure)
    for name, parameter in inspect.signature(measure).parameters.items():
        kind, more = hints[name], dict[str, Any]()
        flag, default = f"--{name.replace('_', '-')}", parameter.default
        if get_origin(kind) in (list, tuple):
            kind, more["nargs"] = get_args(kind)[0], "+"
        elif get_origin(kind) is types.UnionType:
            kind = get_args(kind)[0]
        if default is inspect.Parameter.empty:
            parser.add_argument(name, type=kind, metavar=name.upper(), **more)
        elif kind is bool:
            parser.add_argument(flag, action="store_true")
        elif isinstance(default, Path) and default.parts[:1] == CMU.parts:
            root = os.environ.get("AMBULO_DATA")
            known = Path(root) / default if root else None
            told = f"captured motion (default: {default} of the folder AMBULO_DATA)"
            parser.add_argument(
                flag, type=Path, default=known, required=known is None, help=told
            )
        else:
            told = "default: %(default)s"
            parser.add_argument(flag, type=kind, default=default, help=told, **more)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers")
    told = "smallest size: only to see it run"
    parser.add_argument("--quick", action="store_true", help=told)
    return parser


def in_turn(
    runs: Mapping[str, Callable[[], object]],
    rounds: int,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, list[float]]:
    """Seconds of each run in each round; the runs alternate, so that load is shared."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, call in runs.items():
            begin = clock()
            call()
            times[name].append(clock() - begin)
    return times


def timed(call: Callable[[int], object], count: int, each: int = 1) -> dict[str, float]:
    """Median, 99 % and least time of `call(i)`, i < count, over `each`, [us]."""
    for i in range(min(count, 20)):
        call(i)
    times = []
    for i in range(count):
        begin = time.perf_counter_ns()
        call(i)
        times.append((time.perf_counter_ns() - begin) / 1e3 / each)
    return spread(times)


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, 99 % and least."""
    return {
        "median": float(np.median(values)),
        "p99": float(np.percentile(values, 99)),
        "least": float(np.min(values)),
    }


class TimedPhysics:
    """The physics of a character's simulation, whose steps are timed."""

    def __init__(self, simulation: Any) -> None:
        """Put this between `simulation` and its physics."""
        self._batch, self.seconds = simulation._batch, 0.0
        simulation._batch = self

    def __getattr__(self, name: str) -> Any:
        """As the physics."""
        return getattr(self._batch, name)

    def step(self, **kwargs: Any) -> None:
        """As the physics."""
        start = time.process_time()
        self._batch.step(**kwargs)
        self.seconds += time.process_time() - start


def machine() -> dict[str, Any]:
    """Machine on which the numbers are measured, with its load at this moment."""
    return {
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def show(result: Mapping[str, Any], title: str = "") -> None:
    """Print a result: plain values as lines, rows as tables."""
    for name, value in result.items():
        full = f"{title}, {name}" if title else name
        if not isinstance(value, Mapping):
            print(f"{full}: {_text(value)}")
        elif value and all(isinstance(row, Mapping) for row in value.values()):
            _show_rows(full, value)
        else:
            show(value, full)


def _show_rows(title: str, rows: Mapping[str, Mapping[str, Any]]) -> None:
    if any(isinstance(v, Mapping) for row in rows.values() for v in row.values()):
        for name, row in rows.items():
            show({name: row}, title)
        return
    columns = list(dict.fromkeys(c for row in rows.values() for c in row))
    table = new_table(title)
    for column in ("", *columns):
        table.add_column(column, justify="right" if column else "left")
    for name, row in rows.items():
        table.add_row(name, *(_text(row.get(column, "")) for column in columns))
    print_table(Console(), table)


def judge(result: Mapping[str, Any], targets: Sequence[Target]) -> int:
    """Print each number beside its target; how many are missed or lacking."""
    missed = 0
    for path, sign, limit in targets:
        for name, value in _at(result, path.split(".")):
            met = value <= limit if sign == "<=" else value >= limit  # false for NaN
            missed += not met
            verdict = "ok    " if met else "MISSED"
            print(f"{verdict} {name}: {value:.4g} ({sign} {limit:g})")
    return missed


def _at(data: Any, path: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Yield the numbers at a path, with the names that stand for `*`."""
    if not path:
        yield "", float("nan") if data is None else float(data)
    elif isinstance(data, Mapping):
        for name in list(data) if path[0] == "*" else path[:1]:
            for rest, value in _at(data.get(name), path[1:]):
                yield f"{name}, {rest}".removesuffix(", "), value
    else:
        yield path[-1], float("nan")


def _changed(
    measure: Callable[..., Any], chosen: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Yield the options that differ from their defaults; of files the name alone."""
    for name, parameter in inspect.signature(measure).parameters.items():
        if chosen[name] != parameter.default and chosen[name] is not None:
            many = parameter.default is inspect.Parameter.empty
            yield "" if many else f"--{name.replace('_', '-')}", chosen[name]


def _text(value: Any) -> str:
    """Return a number with four digits, a file's name, and others as they are."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Path):
        return value.name
    if isinstance(value, list | tuple):
        return " ".join(_text(v) for v in value)
    return str(value)
