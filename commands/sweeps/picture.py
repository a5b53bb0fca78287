"""The picture of a sweep: learning curves, final scores, profiles, comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ambulo.common.figures import new_figure, png_of

MAX_COLORS = 10
"""Variants in a picture; of more, the best ones are drawn."""


def sweep_picture(report: Mapping[str, Any]) -> bytes:
    """Return the picture of a report with finished runs, as a PNG."""
    score, sign = report["score"], 1 if report["score"]["better"] == "higher" else -1
    done = [data for data in report["variants"] if "iqm" in data]
    shown = sorted(done, key=lambda data: -sign * data["iqm"])[:MAX_COLORS]
    colors = {data["label"]: f"C{k}" for k, data in enumerate(shown)}
    figure: Any = new_figure((11.0, 7.0))
    curves, profiles, finals, chances = figure.subplots(
        2, 2, width_ratios=(3, 2), squeeze=False
    ).flat
    for data in shown:
        color, curve = colors[data["label"]], data["curve"]
        label = f"{data['label']} ({_count(data)} seeds)"
        if curve is not None:
            curves.plot(curve["steps"], curve["iqm"], color=color, label=label)
            curves.fill_between(
                curve["steps"], curve["low"], curve["high"], color=color, alpha=0.2
            )
        profile = data["profile"]
        x = profile["thresholds"]
        profiles.plot(x, profile["above"], color=color, drawstyle="steps-post")
        profiles.fill_between(
            x, profile["low"], profile["high"], color=color, alpha=0.2, step="post"
        )
    curves.set_title("learning curves: interquartile mean, 95 % band", fontsize=10)
    curves.set_xlabel(report["steps"])
    curves.set_ylabel(score["label"])
    if curves.lines:
        curves.legend(fontsize=8)
    profiles.set_title("fraction of final scores above a threshold", fontsize=10)
    profiles.set_xlabel(score["label"])
    profiles.set_ylim(-0.02, 1.02)
    _finals(finals, shown, colors, score)
    _chances(chances, report, colors)
    for axes in (curves, profiles):
        axes.grid(alpha=0.3)
    for axes in (curves, profiles, finals):
        axes.locator_params(axis="x", nbins=6)
    seeds = f"{len(report['seeds'])} seeds"
    figure.suptitle(f"{report['training']}, {seeds}", fontsize=12)
    figure.tight_layout()
    return png_of(figure)


def _count(data: Mapping[str, Any]) -> int:
    """Return the number of finished runs."""
    return sum(run["scores"] is not None for run in data["runs"])


def _finals(axes: Any, shown: Any, colors: Mapping[str, str], score: Any) -> None:
    """Draw the final score of every run, and interquartile mean and interval."""
    for row, data in enumerate(shown):
        color = colors[data["label"]]
        runs = [
            float(np.mean(list(run["scores"].values())))
            for run in data["runs"]
            if run["scores"]
        ]
        axes.plot(runs, [row + 0.2] * len(runs), "o", color=color, alpha=0.5)
        if data["iqm_ci95"]:
            axes.plot(data["iqm_ci95"], [row, row], color=color, linewidth=6, alpha=0.4)
        axes.plot(data["iqm"], row, "|", color=color, markersize=18, markeredgewidth=3)
    axes.set_yticks(range(len(shown)), [data["label"] for data in shown], fontsize=8)
    axes.set_ylim(-0.6, len(shown) - 0.2)
    axes.invert_yaxis()
    axes.set_xlabel(score["label"])
    axes.set_title("final scores: runs (dots), IQM and its 95 % interval", fontsize=10)
    axes.grid(axis="x", alpha=0.3)


def _chances(axes: Any, report: Mapping[str, Any], colors: Mapping[str, str]) -> None:
    """Draw the probability that a run of the best variant is better than others."""
    rows = [row for row in report["comparisons"] if row["second"] in colors]
    if not rows:
        axes.set_visible(False)
        return
    for place, row in enumerate(rows):
        color = colors[row["second"]]
        if row["probability_ci95"]:
            axes.plot(
                row["probability_ci95"],
                [place, place],
                color=color,
                linewidth=6,
                alpha=0.4,
            )
        axes.plot(
            row["probability"],
            place,
            "|",
            color=color,
            markersize=18,
            markeredgewidth=3,
        )
    axes.axvline(0.5, color="grey", linestyle=":")
    axes.set_xlim(-0.02, 1.02)
    axes.set_yticks(range(len(rows)), [row["second"] for row in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_title(f"probability that {rows[0]['first']} is better than", fontsize=10)
    axes.grid(axis="x", alpha=0.3)
