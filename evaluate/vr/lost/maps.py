"""Paths on maps, coloured by the probability of being lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ambulo.common.figures import new_figure, png_of
from ambulo.configs.arrays import Floats
from ambulo.evaluate.vr.lost.evaluation import LostEvaluation
from ambulo.evaluate.vr.scores import EpisodeRecord, EpisodeRecords
from ambulo.viz.map_plot import draw_level_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection

CAPTION = "Where it said that it was lost: two failures and two solved episodes"
"""Title of the picture."""
_EACH = 2
"""Most failures, and most solved episodes, in the picture."""
_COLOURS = "viridis_r"
_TALL, _WIDEST = 3.6, 1.6
"""Height of a map, [inches], and largest ratio of its width to it."""


def draw_lost_paths(
    result: LostEvaluation, records: EpisodeRecords, goal_radius: float
) -> bytes:
    """PNG of maps of the first failures, and of the solved episodes of the largest mean p.

    Args:
        result: What the head said.
        records: The episodes that it was asked in.
        goal_radius: Of the circle around goals, [m].
    """
    chosen = _chosen(result, records)
    ratios = [_ratio(records.episodes[number]) for number in chosen]
    figure = new_figure((_TALL * sum(ratios) + len(chosen) + 1.0, _TALL + 1.0))
    figure.set_layout_engine("compressed")  # keeps titles of wide maps in
    panels = figure.subplots(
        1, len(chosen), squeeze=False, gridspec_kw={"width_ratios": ratios}
    )[0]
    for axes, number in zip(panels, chosen, strict=True):
        one = records.episodes[number]
        draw_level_map(axes, one.level, goal_radius, muted=True)
        p = result.probability[result.decisions.episode == number]
        lines = _draw_path(axes, one, p)
        end = "solved" if one.success else "not solved"
        axes.set_title(f"{one.level.name}\n{end}, mean p {p.mean():.2f}", fontsize=9)
    bar = figure.colorbar(lines, ax=list(panels), shrink=0.8)
    bar.set_label("p: probability of being lost")
    return png_of(figure)


def _ratio(one: EpisodeRecord) -> float:
    """Return width over height of the map of an episode's level."""
    x0, y0, x1, y1 = one.level.bounds
    return float(np.clip((x1 - x0) / (y1 - y0), 1.0 / _WIDEST, _WIDEST))


def _chosen(result: LostEvaluation, records: EpisodeRecords) -> list[int]:
    """Return the numbers of the episodes that are drawn."""
    episode = result.decisions.episode
    count = len(records.episodes)
    sums = np.bincount(episode, result.probability, minlength=count)
    means = sums / np.maximum(np.bincount(episode, minlength=count), 1)
    solved = records.column("success").astype(np.bool_)
    order = np.argsort(-np.where(solved, means, -1.0), kind="stable")
    failed = np.flatnonzero(~solved)[:_EACH].tolist()
    return [*failed, *order[: min(_EACH, int(solved.sum()))].tolist()]


def _draw_path(axes: Axes, one: EpisodeRecord, p: Floats) -> LineCollection:
    """Draw the path of an episode in the colours of `p` (T,)."""
    from matplotlib.collections import LineCollection

    way = one.trace.position[:, :2]
    parts = list(np.stack([way[:-1], way[1:]], axis=1))
    lines = LineCollection(parts, cmap=_COLOURS, linewidths=2.0, zorder=4)
    lines.set_array(p)
    lines.set_clim(0.0, 1.0)
    axes.add_collection(lines)
    return lines
