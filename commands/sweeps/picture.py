"""The picture of a sweep: learning curves, final scores, profiles, comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from textwrap import wrap
from typing import Any

import numpy as np

from ambulo.commands.sweeps.report import finished_runs
from ambulo.common.figures import new_figure, png_of

MAX_COLORS = 10
"""Variants in a picture; of more, the best ones are drawn."""
LONGEST = 22
"""Characters of settings that fit beside a picture; longer ones are named by letters."""
KEY_WIDTH = 150
"""Characters of a line of the key to those letters."""
KEY_LINE = 0.18
"""Its height, [inches]."""


def sweep_picture(report: Mapping[str, Any]) -> bytes:
    """Return the picture of a report with finished runs, as a PNG."""
    score, sign = report["score"], 1 if report["score"]["better"] == "higher" else -1
    done = [data for data in report["variants"] if "iqm" in data]
    shown = sorted(done, key=lambda data: -sign * data["iqm"])[:MAX_COLORS]
    colors = {data["label"]: f"C{k}" for k, data in enumerate(shown)}
    names = _names([data["label"] for data in shown])
    key = [
        line
        for label, name in names.items()
        if name != label
        for line in wrap(f"{name}  {label}", KEY_WIDTH, subsequent_indent="    ")
    ]
    below = KEY_LINE * (len(key) + 1) if key else 0.0
    figure: Any = new_figure((11.0, 7.0 + below))
    curves, profiles, finals, chances = figure.subplots(
        2, 2, width_ratios=(3, 2), squeeze=False
    ).flat
    for data in shown:
        color, curve = colors[data["label"]], data["curve"]
        label = f"{names[data['label']]} ({finished_runs(data)} seeds)"
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
    _finals(finals, shown, colors, names)
    finals.set_xlabel(score["label"])
    _chances(chances, report, colors, names)
    for axes in (curves, profiles):
        axes.grid(alpha=0.3)
    for axes in (curves, profiles, finals):
        axes.locator_params(axis="x", nbins=6)
    seeds = f"{len(report['seeds'])} seeds"
    figure.suptitle(f"{report['training']}, {seeds}", fontsize=12)
    for row, text in enumerate(reversed(key)):
        place = KEY_LINE * (row + 0.5) / (7.0 + below)
        figure.text(0.02, place, text, fontsize=8, parse_math=False)
    figure.tight_layout(rect=(0.0, below / (7.0 + below), 1.0, 1.0))
    return png_of(figure)


def _names(labels: Sequence[str]) -> dict[str, str]:
    """Return short names by label: the labels themselves, or letters if one is long."""
    if max(map(len, labels), default=0) <= LONGEST:
        return {label: label for label in labels}
    return dict(zip(labels, ascii_uppercase, strict=False))


def _bar(
    axes: Any, row: int, middle: float, ends: Sequence[float] | None, color: str
) -> None:
    """Draw a number with its interval, if there is one."""
    if ends:
        axes.plot(ends, [row, row], color=color, linewidth=6, alpha=0.4)
    axes.plot(middle, row, "|", color=color, markersize=18, markeredgewidth=3)


def _finals(
    axes: Any, shown: Any, colors: Mapping[str, str], names: Mapping[str, str]
) -> None:
    """Draw the final score of every run, and interquartile mean and interval."""
    for row, data in enumerate(shown):
        color = colors[data["label"]]
        runs = [
            float(np.mean(list(run["scores"].values())))
            for run in data["runs"]
            if run["scores"]
        ]
        axes.plot(runs, [row + 0.2] * len(runs), "o", color=color, alpha=0.5)
        _bar(axes, row, data["iqm"], data["iqm_ci95"], color)
    ticks = [names[data["label"]] for data in shown]
    axes.set_yticks(range(len(shown)), ticks, fontsize=8)
    axes.set_ylim(-0.6, len(shown) - 0.2)
    axes.invert_yaxis()
    axes.set_title("final scores: runs (dots), IQM and its 95 % interval", fontsize=10)
    axes.grid(axis="x", alpha=0.3)


def _chances(
    axes: Any,
    report: Mapping[str, Any],
    colors: Mapping[str, str],
    names: Mapping[str, str],
) -> None:
    """Draw the probability that a run of the best variant is better than others."""
    rows = [row for row in report["comparisons"] if row["second"] in colors]
    if not rows:
        axes.set_visible(False)
        return
    for place, row in enumerate(rows):
        ends = row["probability_ci95"]
        _bar(axes, place, row["probability"], ends, colors[row["second"]])
    axes.axvline(0.5, color="grey", linestyle=":")
    axes.set_xlim(-0.02, 1.02)
    axes.set_yticks(
        range(len(rows)), [names[row["second"]] for row in rows], fontsize=8
    )
    axes.set_ylim(len(rows) - 0.4, -0.6)
    best = names[rows[0]["first"]]
    axes.set_title(f"probability that\n{best} is better than", fontsize=10)
    axes.grid(axis="x", alpha=0.3)
