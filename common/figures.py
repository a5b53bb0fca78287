"""Figures without windows, as the bytes of PNG files."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

log = logging.getLogger(__name__)


def new_figure(
    size: tuple[float, float], *, dpi: float = 110, background: Any = "white"
) -> Figure:
    """Return a figure of `size` [inches] without any global state or window.

    Letters missing in matplotlib's own font, as in file names, are drawn with an installed font
    that has them.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = _figure_class()(figsize=size, dpi=dpi, facecolor=background)
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


@cache
def _figure_class() -> type[Figure]:
    """The figures of this module: they choose fonts before they are laid out and drawn."""
    from matplotlib.figure import Figure

    class LetteredFigure(Figure):
        """A figure whose texts have fonts with their letters."""

        def draw(self, renderer: Any) -> None:
            """Draw it."""
            with _fonts_of(self):
                super().draw(renderer)

        def tight_layout(self, **options: Any) -> None:
            """Lay it out."""
            with _fonts_of(self):
                super().tight_layout(**options)

    return LetteredFigure


@contextmanager
def _fonts_of(figure: Figure) -> Iterator[None]:
    """Give each text of `figure` a font with its letters; missing letters become boxes."""
    from matplotlib.text import Text

    for text in figure.findobj(lambda artist: isinstance(artist, Text)):
        assert isinstance(text, Text)
        families = text.get_fontfamily()
        rare = frozenset(c for c in text.get_text() if not c.isascii())
        family = _family_with(rare) if rare else None
        if family is not None and family not in families:
            text.set_fontfamily([*families, family])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph ")  # it is logged, once
        yield


@cache
def _family_with(letters: frozenset[str]) -> str | None:
    """A font with the `letters` that the usual one lacks; None: not needed, or none."""
    from matplotlib.font_manager import (
        FontProperties,
        findfont,
        fontManager,
        get_font,
    )

    def lacking(file: str, among: list[str]) -> list[str]:
        font = get_font(file)
        return [c for c in among if c.isprintable() and not font.get_char_index(ord(c))]

    missing = lacking(findfont(FontProperties()), sorted(letters))
    if not missing:
        return None
    for entry in sorted(fontManager.ttflist, key=lambda entry: entry.name):
        if entry.name.startswith("Last Resort"):  # boxes for all letters
            continue
        with suppress(OSError, RuntimeError):  # no font after all
            if not lacking(entry.fname, missing):
                return str(entry.name)
    log.warning(
        "no installed font has %s: drawn as boxes (Noto Sans CJK has most letters)",
        "".join(missing),
    )
    return None
