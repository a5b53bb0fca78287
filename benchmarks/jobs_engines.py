"""Cost and gain of the engines of jobs against a plain loop.

    python benchmarks/jobs_engines.py

A job computes for `--work` milliseconds of CPU time. `start_s` is the time until the first
result, `empty_us` the time of a job without work, `speed_up` the loop's time over the engine's:
two workers gain nothing where others compute.
"""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import Any

import numpy as np
from _harness import run

from ambulo.train.shared.jobs import Workers

ENGINES = {
    "loop": Workers(),
    "process, 1 worker": Workers("process", 1),
    "process, 2 workers": Workers("process", 2),
    "ray, 1 worker": Workers("ray", 1),
    "ray, 2 workers": Workers("ray", 2),
}


def compute(milliseconds: float, job: int) -> int:
    """A job that takes some CPU time, [ms]."""
    end = time.process_time() + 1e-3 * milliseconds
    while time.process_time() < end:
        pass
    return job


def timed(workers: Workers, work: float, count: int) -> tuple[float, float]:
    """Time until the first result, and from there to the last one, [s]."""
    begin = time.perf_counter()
    results = workers.in_order(compute, work, range(count))
    next(results)
    first = time.perf_counter()
    made = sum(1 for _ in results)
    assert made == count - 1
    return first - begin, time.perf_counter() - first


def measure(
    jobs: int = 100, work: float = 50.0, empty: int = 500, rounds: int = 3
) -> dict[str, Any]:
    """Medians over rounds in which the engines alternate."""
    names = [name for name in ENGINES if "ray" not in name or find_spec("ray")]
    found: dict[str, list[list[float]]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            _, idle = timed(ENGINES[name], 0.0, empty + 1)
            start, busy = timed(ENGINES[name], work, jobs + 1)
            found[name].append([start, 1e6 * idle / empty, busy])
    medians = {name: np.median(rows, axis=0).tolist() for name, rows in found.items()}
    rows = {
        name: {
            "start_s": a,
            "empty_us": b,
            "busy_s": c,
            "speed_up": medians["loop"][2] / c,
        }
        for name, (a, b, c) in medians.items()
    }
    return {"rows": rows}


if __name__ == "__main__":
    run(measure, {"jobs": 6, "work": 5.0, "empty": 20, "rounds": 1})
