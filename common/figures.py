"""Figures without windows, as the bytes of PNG files."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(
    size: tuple[float, float], *, dpi: float = 110, background: Any = "white"
) -> Figure:
    """Return a figure of `size` [inches] without any global state or window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=dpi, facecolor=background)
    FigureCanvasAgg(figure)
    return figure


def png_of(figure: Figure) -> bytes:
    """Return the figure as the bytes of a PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def pixels_of(figure: Figure) -> NDArray[np.uint8]:
    """Return the figure as it was last drawn, red, green and blue. Shape (H, W, 3)."""
    canvas: Any = figure.canvas  # the methods of its class have no types
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()
