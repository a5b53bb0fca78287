"""How long a frame takes through the worker pool, against the solver in this process.

Real poses: CMU clips below `--data`, retargeted to `ik23` and clamped into the rig's limits
(or `--poses`, a file of `ambulo ik extract`). A frame is one job with the targets of
`--characters` characters (five effectors and the hips), each going through its own poses.

    OMP_NUM_THREADS=1 python benchmarks/ik_workers.py --data ../shared/data/cmu

"pool" is the time from handing in targets until the poses are here; a frame's characters
are shared out among the workers. What is not solving is copying, messages through pipes, and
waiting for a processor: on a machine that is busy with other work the last is most of it,
which is why the load average is told too, and what is fastest stands beside the median.
Frame after frame workers stay awake between jobs; at a game's pace they sleep and have to
be woken, with cold caches: that is told apart.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _harness import Options, print_rows, spread, write
from ik_latency import clips_on

from ambulo.ik.data.pose_data import load_poses
from ambulo.ik.limits import clamp
from ambulo.ik.pool.workers import NeuralIKPool
from ambulo.ik.pose import Pose
from ambulo.ik.rig import Rig, load_rig
from ambulo.ik.solver.network import load_ik_network
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.solver.targets import Targets

BLOCK = 50
"""Frames that are solved in one way before the next way has its turn."""
ROWS = {
    "pool": "pool, frame after frame",
    "solve": "  of it in the workers (the longer part)",
    "way": "  of it the way there and back",
    "alone": "the same solve in this process",
    "paced": "pool, frames at --fps",
    "paced_solve": "  of it in the workers (the longer part)",
}


def frames_of(
    rig: Rig, args: argparse.Namespace, count: int, many: int
) -> list[Targets]:
    """Targets of `count` frames with `many` characters each."""
    if args.poses is not None:
        pose = load_poses(args.poses).pose
        roots, rotations = pose.root, pose.rotations
    else:
        parts = clips_on(rig, args.data, args.clips or many)
        roots = np.concatenate([part.root_positions for part in parts])
        rotations = np.concatenate([part.rotations for part in parts])
    rotations = clamp(rig, rotations)
    rotations /= np.linalg.norm(rotations, axis=-1, keepdims=True)
    whole = Targets.of_pose(rig, Pose(roots, rotations))
    starts = np.linspace(0, len(roots), many, endpoint=False).astype(np.int64)
    return [whole[(starts + k) % len(roots)] for k in range(count)]


def statistics(times: Sequence[float]) -> dict[str, float]:
    """Median, 99 % and least of times, [us]."""
    return dict(zip(("median_us", "p99_us", "least_us"), spread(times), strict=True))


class Times:
    """Times of frames through the pool, [us]."""

    def __init__(self) -> None:
        self.through: list[float] = []
        self.inside: list[float] = []
        self.reached: list[float] = []
        self.parts: list[int] = []

    def add(self, pool: NeuralIKPool, targets: Targets) -> None:
        """Solve a frame."""
        begin = time.perf_counter_ns()
        result = pool.solve(targets)
        self.through.append((time.perf_counter_ns() - begin) / 1e3)
        self.inside.append(result.solve_us)
        self.parts.append(len(result.workers))
        assert result.solution is not None
        self.reached.append(float(result.solution.reached.all(axis=1).mean()))


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """All times of one run."""
    rig = load_rig()
    frames = frames_of(rig, arguments, arguments.frames, arguments.characters)
    network = load_ik_network(arguments.network) if arguments.network else None
    solver = NeuralIKSolver(rig, network, steps=arguments.steps)
    solver.warm_up()
    alone: list[float] = []
    with NeuralIKPool(
        workers=arguments.workers, steps=arguments.steps, helps=arguments.helps
    ) as pool:
        if network is not None:
            pool.cache(network)
        for targets in frames[:20]:
            pool.solve(targets)
            solver.solve(targets)
        at_once, paced = Times(), Times()
        for begin in range(0, len(frames), BLOCK):
            # Block by block in turn, so that all meet the same load of the machine.
            block = frames[begin : begin + BLOCK]
            for targets in block:
                at_once.add(pool, targets)
            for targets in block:
                start = time.perf_counter_ns()
                solver.solve(targets)
                alone.append((time.perf_counter_ns() - start) / 1e3)
            for targets in block[: BLOCK // 5]:
                time.sleep(1.0 / arguments.fps)
                paced.add(pool, targets)
        loads = [stats.load for stats in pool.stats()]
    return {
        "pool": statistics(at_once.through),
        "solve": statistics(at_once.inside),
        "way": statistics(np.subtract(at_once.through, at_once.inside).tolist()),
        "alone": statistics(alone),
        "paced": statistics(paced.through),
        "paced_solve": statistics(paced.inside),
        "parts": float(np.mean(at_once.parts)),
        "reached_percent": 100.0 * float(np.mean(at_once.reached + paced.reached)),
        "worker_loads": loads,
        "load_average": os.getloadavg()[0],
    }


def main() -> int:
    """Measure and print."""
    parser = Options(__doc__, clips=1, frames=10, characters=2)
    parser.add_mocap()
    parser.add_argument("--clips", type=int, help="most clips")
    parser.add_argument(
        "--poses", type=Path, help="file of `ambulo ik extract` instead of --data"
    )
    parser.add_argument("--network", default="ik_net", help="name, folder or empty")
    parser.add_argument("--characters", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--helps", action="store_true", help="this process solves a part of each frame"
    )
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--frames", type=int, default=2000)
    parser.add_argument("--fps", type=float, default=60.0, help="of the paced frames")
    arguments = parser.read()
    found = measure(arguments)
    print_rows(
        f"{arguments.characters} characters a frame, [us]",
        ("median", "99 %", "least"),
        {label: found[name].values() for name, label in ROWS.items()},
        ".0f",
    )
    print(
        f"all targets met: {found['reached_percent']:.2f} % of characters; "
        f"{found['parts']:.1f} parts a frame; "
        f"load average {found['load_average']:.1f}"
    )
    write(found, arguments)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
