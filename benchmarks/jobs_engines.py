"""What the engines of jobs cost against a plain loop, and what they gain.

    python benchmarks/jobs_engines.py

A job computes for `--work` milliseconds of CPU time. "start" is the time until the first
result, "empty" the time of a job without work, "overhead" what one worker needs beyond the
loop for all jobs (without the start), "speed-up" the loop's time over that of two workers.
The load of the machine is told beside: two workers gain nothing where others compute.

"ahead" are the results of `--size` MiB each that were begun and not yet taken by a consumer
that pauses after each, at most, out of `--results`; "peak MiB" is the memory of the process
that takes them.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from _harness import Options, machine, print_rows, write

from ambulo.configs.arrays import Floats
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


def large(mebibytes: int, job: int) -> Floats:
    """A job with a large result, [MiB]."""
    return np.full(mebibytes * 2**17, float(job))


def timed(workers: Workers, work: float, count: int) -> tuple[float, float]:
    """Time until the first result, and from there to the last one, [s]."""
    begin = time.perf_counter()
    results = workers.in_order(compute, work, range(count))
    next(results)
    first = time.perf_counter()
    made = sum(1 for _ in results)
    assert made == count - 1
    return first - begin, time.perf_counter() - first


def memory(name: str, args: argparse.Namespace) -> dict[str, float]:
    """Results ahead of a slow consumer, and the memory that they take, [MiB]."""
    taken = given = ahead = 0

    def source() -> Iterator[int]:
        nonlocal taken
        for job in range(args.results):
            taken += 1
            yield job

    results = ENGINES[name].in_order(large, args.size, source())
    for result in results:
        given += 1
        ahead = max(ahead, taken - given)
        assert result[0] == given - 1
        time.sleep(args.pause)
    assert given == args.results
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"ahead": ahead, "peak_MiB": peak}


def measured(names: Sequence[str], args: argparse.Namespace) -> dict[str, Any]:
    """Medians over rounds in which the engines alternate."""
    rounds: dict[str, list[list[float]]] = {name: [] for name in names}
    for _ in range(args.rounds):
        for name in names:
            workers = ENGINES[name]
            _, empty = timed(workers, 0.0, args.empty + 1)
            start, busy = timed(workers, args.work, args.jobs + 1)
            rounds[name].append([start, 1e6 * empty / args.empty, busy])
    return {name: np.median(rounds[name], axis=0).tolist() for name in names}


def main() -> int:
    """Measure and print; 0."""
    options = Options(
        __doc__, rounds=1, jobs=6, empty=20, results=12, pause=0.0, work=5.0
    )
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--jobs", type=int, default=100)
    options.add_argument("--work", type=float, default=50.0, metavar="MS")
    options.add_argument("--empty", type=int, default=500, metavar="JOBS")
    options.add_argument("--results", type=int, default=200)
    options.add_argument("--size", type=int, default=8, metavar="MIB")
    options.add_argument("--pause", type=float, default=0.02, metavar="S")
    options.add_argument("--memory-of", help="measure the memory of one engine alone")
    args = options.read()
    if args.memory_of:
        print(json.dumps(memory(args.memory_of, args)))
        return 0
    names = [name for name in ENGINES if "ray" not in name or find_spec("ray")]
    begun = machine()
    times = measured(names, args)
    loop, rows, result = times["loop"][2], {}, {}
    for name in names:
        start, empty, busy = times[name]
        alone = [sys.executable, __file__, "--memory-of", name]
        sizes = [f"--{n}={getattr(args, n)}" for n in ("results", "size", "pause")]
        said = subprocess.run(
            [*alone, *sizes], check=True, capture_output=True, text=True
        )
        kept = json.loads(said.stdout.splitlines()[-1])
        rows[name] = [
            start, empty, busy, 100.0 * (busy / loop - 1.0), loop / busy,
            kept["ahead"], kept["peak_MiB"],
        ]  # fmt: skip
        result[name] = {"start_s": start, "empty_us": empty, "busy_s": busy, **kept}
    print_rows(
        f"{args.jobs} jobs of {args.work:g} ms; {args.results} results of {args.size} "
        f"MiB; load {begun['load']:.1f} before, {machine()['load']:.1f} after",
        [
            "start s",
            "empty us",
            "all s",
            "beyond loop %",
            "speed-up",
            "ahead",
            "peak MiB",
        ],
        rows,
    )
    write({"machine": begun, "engines": result}, args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
