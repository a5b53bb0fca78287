"""Figures without windows, as the bytes of PNG files."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(size: tuple[float, float]) -> Figure:
    """A figure without any global state or window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=110, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def png_of(figure: Figure) -> bytes:
    """The figure as the bytes of a PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
