"""What starting costs: our command line and imports beside those of what they build on.

Each line is a fresh process; the processes alternate and the median counts, by the clock and
in processor time, which a busy machine disturbs less. Targets by the clock, on an unloaded
machine: `ambulo --help` 0.3 s and `import ambulo.envs` 1.0 s.

    python benchmarks/import_cost.py --rounds 15
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
from _harness import Options, exit_code, in_turn, judge, machine, print_rows, write

COMMANDS = {
    "python -c pass": ("-c", "pass"),
    "import numpy": ("-c", "import numpy"),
    "import mujoco": ("-c", "import mujoco"),
    "import gymnasium": ("-c", "import gymnasium"),
    "import ambulo": ("-c", "import ambulo"),
    "import ambulo.envs": ("-c", "import ambulo.envs"),
    "ambulo --help": ("-m", "ambulo.cli", "--help"),
}
TARGETS = {"ambulo --help": 0.3, "import ambulo.envs": 1.0}
"""Largest time, [s]."""


def main(argv: Sequence[str] | None = None) -> int:
    """Print the times; 1 if a target is missed."""
    parser = Options(__doc__, rounds=1)
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.read(argv)
    runs = {name: _process(arguments) for name, arguments in COMMANDS.items()}
    in_turn(runs, 1)  # compiles bytecode, fills the file cache
    wall, processor = {}, {}
    for clock, times in ((time.perf_counter, wall), (_children_seconds, processor)):
        times |= {
            name: float(np.median(taken))
            for name, taken in in_turn(runs, args.rounds, clock).items()
        }
    rows = {name: (wall[name], processor[name]) for name in COMMANDS}
    print_rows("seconds of a fresh process", ("clock", "processor"), rows)
    missed = judge([(name, wall[name], "<=", most) for name, most in TARGETS.items()])
    write({"machine": machine(), "wall_s": wall, "processor_s": processor}, args)
    return exit_code(missed, args)


def _process(arguments: Sequence[str]) -> Callable[[], object]:
    def run() -> None:
        subprocess.run(
            [sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL
        )

    return run


def _children_seconds() -> float:
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    sys.exit(main())
