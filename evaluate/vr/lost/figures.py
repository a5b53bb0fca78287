"""The reliability diagram of probabilities of being lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ambulo.common.figures import new_figure, png_of
from ambulo.configs.arrays import Floats
from ambulo.evaluate.vr.lost.evaluation import HEAD, LostEvaluation
from ambulo.evaluate.vr.lost.scores import BINS, Reliability
from ambulo.viz.plots import agent_colour, clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CAPTION = "Is it lost as often as it says? Reliability of the probability of being lost"
"""Title of the picture."""
_SHARE = (3, 1)
"""Heights of the diagram and of the histogram below it."""
_GREY = "0.6"


def draw_reliability(result: LostEvaluation) -> bytes:
    """PNG of the reliability diagram of all predictors, and the histogram of the head's p."""
    figure = new_figure((6.2, 6.6))
    figure.set_layout_engine("constrained")
    upper, lower = figure.subplots(
        2, 1, sharex=True, gridspec_kw={"height_ratios": _SHARE}
    )
    upper.plot([0, 1], [0, 1], color=_GREY, linewidth=1, label="calibrated")
    for name, one in result.scores.items():
        label = f"{name}: ECE {one.ece:.3f}"
        if np.isfinite(one.auroc):  # of one class alone there is none
            label += f", AUROC {one.auroc:.2f}"
        _draw_curve(upper, one.reliability, label, first=name == HEAD)
    upper.set_ylabel("fraction of decisions in which it was lost")
    upper.set_xlim(0.0, 1.0)
    upper.set_ylim(0.0, 1.0)
    upper.legend(frameon=False, fontsize=8, loc="upper left")
    count = result.scores[HEAD].reliability.count
    edges = np.linspace(0.0, 1.0, BINS + 1)
    lower.bar(
        edges[:-1], count / max(int(count.sum()), 1), 1.0 / BINS,
        align="edge", color=agent_colour("policy"), edgecolor="white",
    )  # fmt: skip
    lower.set_xlabel("p: probability of being lost, as the predictor says")
    lower.set_ylabel("decisions")
    for axes in (upper, lower):
        clean(axes)
    return png_of(figure)


def _draw_curve(axes: Axes, one: Reliability, label: str, *, first: bool) -> None:
    """Draw the bins of one predictor that are not empty; the first one with intervals."""
    full = one.count > 0
    x, y = one.mean[full], one.rate[full]
    if not first:
        axes.plot(x, y, "o--", markersize=3, linewidth=1, alpha=0.7, label=label)
        return
    ends = np.abs(np.stack([y - one.low[full], one.high[full] - y]))
    axes.errorbar(
        x, y, yerr=_known(ends), fmt="o-", capsize=3, color=agent_colour("policy"),
        label=label, zorder=3,
    )  # fmt: skip


def _known(ends: Floats) -> Floats:
    return np.where(np.isfinite(ends), ends, 0.0)
