"""What `--preset quick_test` learns in 10 000 decisions: success and seconds, over seeds.

Runs the command itself, once a seed, and prints the scores that it wrote.

    python benchmarks/vr_quick_test.py --seeds 3 [--world godot]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from _harness import Options, write

AGENTS = ("policy", "random", "straight", "oracle")


def run(seed: int, folder: str, episodes: int, world: str) -> tuple[dict, float]:
    """Scores of one run and the seconds that the whole command took."""
    out = Path(folder) / f"{seed}.json"
    began = time.perf_counter()
    subprocess.run(
        [
            sys.executable, "-m", "ambulo.train.train_vr_navigation",
            "--preset", "quick_test", "--seed", str(seed), "--output", folder,
            "--episodes", str(episodes), "--json", str(out), "--no-progress",
            "--world", world,
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return json.loads(out.read_text()), time.perf_counter() - began


def main(argv: Sequence[str] | None = None) -> int:
    """Print a row per seed and the means."""
    parser = Options(__doc__, seeds=1, episodes=2)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--world", default="kernel")
    args = parser.read(argv)
    rows = []
    heads = [f"{name} success/SPL" for name in AGENTS] + [
        "training [s]",
        "whole run [s]",
    ]
    print(" | ".join(["seed", *heads]))
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(args.seeds):
            found, seconds = run(seed, folder, args.episodes, args.world)
            scores = [
                (found["agents"][name]["success_rate"], found["agents"][name]["spl"])
                for name in AGENTS
            ]
            rows.append([s for pair in scores for s in pair])
            rows[-1] += [found["training_seconds"], seconds]
            _print(str(seed), rows[-1])
    _print("mean", list(np.mean(rows, axis=0)))
    write({"columns": heads, "seeds": rows}, args)
    return 0


def _print(name: str, row: list[float]) -> None:
    pairs = [f"{row[2 * k]:.2f} / {row[2 * k + 1]:.2f}" for k in range(len(AGENTS))]
    print(" | ".join([name, *pairs, f"{row[-2]:.1f}", f"{row[-1]:.1f}"]))


if __name__ == "__main__":
    raise SystemExit(main())
