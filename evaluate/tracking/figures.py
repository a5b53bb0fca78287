"""Pictures of how clips are tracked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ambulo.common.figures import new_figure, png_of
from ambulo.configs.arrays import Ints
from ambulo.evaluate.tracking.episodes import Tracked
from ambulo.viz.plots import agent_colour, clean

MOST_CLIPS = 60
"""Clips in a picture; of more, those that are tracked worst by the first agent."""

LEAST_RUNNING = 0.3
"""Fraction of episodes that still run where errors are drawn."""


def draw_clips(
    runs: Mapping[str, Mapping[str, Tracked]], clips: Ints, names: Sequence[str]
) -> bytes:
    """PNG of the rate of episodes that reach the end, by clip and agent."""
    rates = {
        agent: np.array(
            [cases["random"].success[cases["random"].clip == c].mean() for c in clips]
        )
        for agent, cases in runs.items()
    }
    first = next(iter(rates.values()))
    order = np.argsort(first, kind="stable")[:MOST_CLIPS]
    figure = new_figure((7.0, 1.2 + 0.22 * len(order)))
    ax = figure.add_subplot()
    rows = np.arange(len(order))
    for k, (agent, rate) in enumerate(rates.items()):
        shift = 0.22 * (k - 0.5 * (len(rates) - 1))
        colour = agent_colour(agent)
        ax.plot(rate[order], rows + shift, "o", ms=4, color=colour, label=agent)
    ax.set_yticks(rows, [names[k] for k in order], fontsize=7)
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(-1.0, len(order))
    ax.set_xlabel("episodes from random frames that reach the clip's end")
    ax.legend(frameon=False, fontsize=8, loc="lower left")
    clean(ax)
    figure.tight_layout()
    return png_of(figure)


def draw_errors(runs: Mapping[str, Mapping[str, Tracked]]) -> bytes:
    """PNG of the error over time from first frames: median, and the middle 80 %.

    Of episodes that still run, as long as `LEAST_RUNNING` of them do.
    """
    figure = new_figure((7.0, 3.6))
    ax = figure.add_subplot()
    for agent, cases in runs.items():
        tracked = cases["first"]
        traces = 100.0 * tracked.traces[..., 0]
        known = np.isfinite(traces).mean(axis=0) >= LEAST_RUNNING
        if not known.any():
            continue
        low, middle, high = np.nanpercentile(traces[:, known], (10, 50, 90), axis=0)
        times = np.flatnonzero(known) * tracked.dt
        colour = agent_colour(agent)
        ax.fill_between(times, low, high, color=colour, alpha=0.15, lw=0)
        ax.plot(times, middle, color=colour, label=agent)
    ax.set_xlabel("time from the clip's first frame [s]")
    ax.set_ylabel("joints from the clip's [cm]")
    ax.legend(frameon=False)
    clean(ax)
    figure.tight_layout()
    return png_of(figure)
