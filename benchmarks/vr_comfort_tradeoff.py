"""What comfort costs: success and SPL against the published comfort score.

Each point continues the shipped agent with `--preset comfort_optimized` under another
`network.action_bound` (stick:rotation), then plays held-out levels. Draws a PNG and prints
a table.

    python benchmarks/vr_comfort_tradeoff.py --bounds 1:1,0.8:0.47,0.6:0.47 --out tradeoff.png
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from _harness import Options, write

COLUMNS = (
    "success_rate",
    "spl",
    "comfort_score",
    "collisions_per_episode",
    "mean_time_s",
)


def point(bound: str, args: argparse.Namespace, folder: str) -> dict[str, float]:
    """Scores of the agent trained under one bound, written as stick:rotation."""
    stick, rotation = (float(part) for part in bound.split(":"))
    name = f"bound_{stick:g}_{rotation:g}"
    subprocess.run(
        [
            sys.executable, "-m", "ambulo.train.train_vr_navigation",
            "--preset", "comfort_optimized", "--seed", str(args.seed),
            "--init-from", args.shipped, "--timesteps", str(args.timesteps),
            "--episodes", "9", "--no-progress",
            "--set", f"network.action_bound=[{stick},{rotation}]",
            "--set", "ppo.learning_rate=1e-4", "--set", "ppo.learning_rate_final=1e-5",
            "--output", folder, "--run-name", name, "--json", f"{folder}/run.json",
        ],
        check=True,
    )  # fmt: skip
    return scores(f"{folder}/{name}/final_model.zip", args.episodes, folder)


def scores(model: str, episodes: int, folder: str) -> dict[str, float]:
    """Scores of `model` on held-out levels."""
    out = Path(folder) / "scores.json"
    subprocess.run(
        [
            sys.executable, "-c", "from ambulo.cli import main; raise SystemExit(main())",
            "eval", model, "--episodes", str(episodes), "--level-set", "heldout",
            "--baselines", "none", "--no-report", "--world", "kernel", "--json", str(out),
        ],
        check=True,
    )  # fmt: skip
    metrics = json.loads(out.read_text())["agents"]["policy"]
    return {name: row["value"] for name, row in metrics.items()}


def draw(rows: dict[str, dict[str, float]], path: Path) -> None:
    """Success and SPL against comfort, one labelled point a row, joined in their order."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    ax = figure.add_subplot()
    for key, label in (("success_rate", "success"), ("spl", "SPL")):
        found = [(row["comfort_score"], row[key]) for row in rows.values()]
        ax.plot(*zip(*found, strict=True), marker="o", label=label)
    for name, row in rows.items():
        ax.annotate(
            name, (row["comfort_score"], row["success_rate"]), fontsize=8,
            xytext=(-8, -3), textcoords="offset points", ha="right",
        )  # fmt: skip
    ax.set_xlabel("published comfort score")
    ax.set_xlim(0.7, 1.02)
    ax.set_ylim(0.7, 1.0)
    ax.grid(alpha=0.3)
    ax.legend(loc="lower left")
    figure.savefig(path, dpi=120)


def main(argv: Sequence[str] | None = None) -> int:
    """Print a row per bound and draw the curve."""
    parser = Options(__doc__, bounds="0.6:0.47", timesteps=2048, episodes=9)
    parser.add_argument("--bounds", default="1:1,0.9:0.7,0.8:0.47,0.6:0.47,0.4:0.3")
    parser.add_argument("--shipped", default="vr_navigation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timesteps", type=int, default=500_000)
    parser.add_argument("--episodes", type=int, default=270)
    parser.add_argument("--out", type=Path, default=Path("comfort_tradeoff.png"))
    args = parser.read(argv)
    with tempfile.TemporaryDirectory() as folder:
        rows = {args.shipped: scores(args.shipped, args.episodes, folder)}
        for text in args.bounds.split(","):
            rows[text] = point(text, args, folder)
    print(" | ".join(["bound", *COLUMNS]))
    for name, row in rows.items():
        print(" | ".join([name, *(f"{row[c]:.3f}" for c in COLUMNS)]))
    write(rows, args)
    draw(rows, args.out)
    print(f"curve: {args.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
