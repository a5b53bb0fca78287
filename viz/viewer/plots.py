"""Live plots of a stage's numbers: the last seconds, ten times a second."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from ambulo.viz.viewer.snapshot import Snapshot
from ambulo.viz.viewer.stage import Plot
from ambulo.viz.viewer.widgets import Widgets

SECONDS = 8.0
"""Span of the plots, [s] of simulated time."""
PERIOD = 0.1
"""Time between updates, [s]."""
COLOURS = (
    "#2e61c9", "#c2175c", "#2a9d5c", "#e08a00", "#7b4fb3", "#00838f", "#8d6e63", "#546e7a",
)  # fmt: skip


class LivePlots:
    """The plots of one stage in a folder of the panel."""

    def __init__(self, widgets: Widgets, plots: Sequence[Plot]) -> None:
        """Create empty plots in the open container."""
        self._plots = plots
        self._next = 0.0
        empty = np.zeros(1)
        self._nodes = []
        for plot in plots:
            lines = tuple(
                {"label": name, "stroke": COLOURS[k % len(COLOURS)], "width": 2}
                for k, name in enumerate(plot.series)
            )
            self._nodes.append(
                widgets.add_uplot(
                    (empty, *(empty for _ in plot.series)), ({"label": "s"}, *lines),
                    title=plot.title, height=170, legend={"show": True},
                    scales={"x": {"time": False, "auto": True}, "y": {"auto": True}},
                )
            )  # fmt: skip

    def update(self, history: Sequence[Snapshot], shown: Snapshot) -> None:
        """Show the numbers up to `shown`, if the last update was long enough ago."""
        now = time.perf_counter()
        if now < self._next or not self._plots:
            return
        self._next = now + PERIOD
        recent = _recent(history, shown.time)
        if not recent:
            return
        times = np.array([one.time for one in recent])
        for plot, node in zip(self._plots, self._nodes, strict=True):
            columns = [
                np.array(
                    [one.values.get(f"{plot.name}/{name}", np.nan) for one in recent]
                )
                for name in plot.series
            ]
            node.data = (times, *columns)


def _recent(history: Sequence[Snapshot], until: float) -> list[Snapshot]:
    """Return the snapshots of the last seconds before a time, the oldest first."""
    found = []
    for one in reversed(history):
        if one.time > until + 1e-9:
            continue
        if one.time < until - SECONDS:
            break
        found.append(one)
    return found[::-1]
