"""Learning curves in the panel: numbers of a run that grow during training."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.viz.viewer.plots import COLOURS
from ambulo.viz.viewer.widgets import Widgets

PERIOD = 1.0
"""Time between checks for new numbers, [s]."""


@dataclass(frozen=True)
class Curve:
    """One plot of numbers against training steps."""

    title: str
    steps: Floats
    """Training steps, shape (n,)."""
    series: Mapping[str, Floats]
    """Numbers by name, (n,) each; NaN for missing ones."""


ReadCurves = Callable[[], Sequence[Curve]]
"""Return the present curves: the same object as before without new numbers."""


class CurvePlots:
    """The curves of a run in the open container."""

    def __init__(self, widgets: Widgets, read: ReadCurves) -> None:
        """Create plots of the present numbers."""
        self._widgets, self._read = widgets, read
        self._next = 0.0
        self._shown: Sequence[Curve] = ()
        self._nodes: dict[str, Any] = {}
        self._folder = widgets.add_folder("Learning curves")
        self.update()

    @property
    def folder(self) -> Any:
        """The folder of the plots."""
        return self._folder

    def update(self) -> None:
        """Show new numbers, if the last check was long enough ago."""
        now = time.perf_counter()
        if now < self._next:
            return
        self._next = now + PERIOD
        curves = self._read()
        if curves is self._shown:
            return
        self._shown = curves
        for curve in curves:
            data = (curve.steps, *curve.series.values())
            node = self._nodes.get(curve.title)
            if node is None:
                self._nodes[curve.title] = self._made(curve, data)
            elif len(node.data) == len(data):
                node.data = data

    def _made(self, curve: Curve, data: tuple[Floats, ...]) -> Any:
        lines = tuple(
            {
                "label": name, "stroke": COLOURS[k % len(COLOURS)], "width": 2,
                "spanGaps": True,
            }
            for k, name in enumerate(curve.series)
        )  # fmt: skip
        with self._folder:
            return self._widgets.add_uplot(
                tuple(np.asarray(column) for column in data),
                ({"label": "steps"}, *lines), title=curve.title, height=190,
                scales={"x": {"time": False, "auto": True}, "y": {"auto": True}},
            )  # fmt: skip
