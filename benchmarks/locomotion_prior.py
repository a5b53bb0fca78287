"""What a motion network's features are worth: learning curves with and without them.

Reads the run folders of trainings that differ in the prior and the seed alone
(`metrics.csv`, `evaluations.json`), prints a table and draws mean and range over seeds.

    python benchmarks/locomotion_prior.py \
        "no prior=runs/locomote_0,runs/locomote_1,runs/locomote_2" \
        "prior=runs/locomote_prior_0,runs/locomote_prior_1,runs/locomote_prior_2" \
        --json docs/results/locomotion_prior.json --png docs/images/locomotion_prior.png
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _harness import Options, write
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ambulo.common.metrics_file import read_metrics
from ambulo.configs.arrays import Floats

Run = dict[str, Any]

PANELS = (
    ("evaluation", "survival_rate", "on their feet for 20 s (evaluation)"),
    ("metrics", "rollout/ep_len_mean", "control steps until an episode ends"),
    ("metrics", "reward/speed", "speed reward in each step (of 1)"),
)
"""Where a curve comes from, its column and its title."""
SMOOTH = 5
"""Roll-outs in a running mean."""
POINTS = 60
"""Points of a curve."""


def main(argv: Sequence[str] | None = None) -> int:
    """Read the runs; print the table, write numbers and picture."""
    parser = Options(__doc__)
    parser.add_argument("groups", nargs="+", metavar="NAME=RUN,RUN,...")
    parser.add_argument("--png", type=Path)
    args = parser.read(argv)
    groups = {}
    for text in args.groups:
        name, _, folders = text.partition("=")
        groups[name] = [read_run(Path(folder)) for folder in folders.split(",")]
    found = {name: summary(runs) for name, runs in groups.items()}
    for name, row in found.items():
        print(name)
        for key, value in row.items():
            print(f"  {key:28} {value}")
    write(found, args)
    if args.png:
        draw(groups).savefig(args.png)
    return 0


def read_run(folder: Path) -> Run:
    """Curves of one run: steps and values of each panel, and its time."""
    logged = read_metrics(folder / "metrics.csv")
    evaluations = json.loads((folder / "evaluations.json").read_text(encoding="utf-8"))
    curves: dict[str, tuple[Floats, Floats]] = {}
    for source, column, _ in PANELS:
        if source == "evaluation":
            at, values = (
                np.array([row[name] for row in evaluations], float)
                for name in ("timesteps", column)
            )
        else:
            at, values = logged["timesteps"], logged[column]
        known = np.isfinite(values)
        curves[column] = at[known], values[known]
    return {
        "curves": curves,
        "seconds": float(logged["seconds"][-1]),
        "evaluations": evaluations,
    }


def summary(runs: Sequence[Run]) -> dict[str, Any]:
    """Numbers of one group, a list where there is one for each seed."""
    survival = [run["curves"]["survival_rate"] for run in runs]
    speed = [run["curves"]["reward/speed"][1] for run in runs]
    length = [run["curves"]["rollout/ep_len_mean"] for run in runs]
    return {
        "evaluations_at": survival[0][0].tolist(),
        "survival_rate": [np.round(values, 3).tolist() for _, values in survival],
        "area_under_survival": [
            round(float(np.mean(values)), 3) for _, values in survival
        ],
        "speed_reward_last": [round(float(v[-SMOOTH:].mean()), 3) for v in speed],
        "ep_length_mean": [round(float(v.mean()), 1) for _, v in length],
        "minutes": [round(run["seconds"] / 60.0, 1) for run in runs],
    }


def draw(groups: dict[str, list[Run]]) -> Figure:
    """Mean and range over the seeds of each group, one panel a curve."""
    figure = Figure(figsize=(12.0, 3.6), layout="constrained")
    panels = figure.subplots(1, len(PANELS))
    for axes, (_, column, title) in zip(panels, PANELS, strict=True):
        for name, runs in groups.items():
            _band(axes, [run["curves"][column] for run in runs], name)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("control steps")
        axes.grid(alpha=0.3)
    panels[0].set_ylim(0.0, 1.05)
    panels[0].legend(loc="lower right")
    return figure


def _band(axes: Axes, curves: Sequence[tuple[Floats, Floats]], name: str) -> None:
    """One group in one panel."""
    ends = [steps[[0, -1]] for steps, _ in curves]
    grid = np.linspace(max(e[0] for e in ends), min(e[1] for e in ends), POINTS)
    lines = np.array([np.interp(grid, *_smooth(*curve)) for curve in curves])
    (line,) = axes.plot(grid, lines.mean(axis=0), label=f"{name} ({len(curves)} seeds)")
    axes.fill_between(
        grid, lines.min(axis=0), lines.max(axis=0), alpha=0.2, color=line.get_color()
    )


def _smooth(steps: Floats, values: Floats) -> tuple[Floats, Floats]:
    """A running mean of long curves; short ones as they are."""
    if len(values) < 4 * SMOOTH:
        return steps, values
    kernel = np.ones(SMOOTH) / SMOOTH
    inner = np.convolve(values, kernel, mode="valid")
    return steps[SMOOTH // 2 : len(steps) - SMOOTH // 2], inner


if __name__ == "__main__":
    raise SystemExit(main())
