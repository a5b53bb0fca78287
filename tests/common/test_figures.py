"""Fonts of figures."""

from __future__ import annotations

import warnings

import pytest
from matplotlib.font_manager import FontProperties, findfont, get_font

from ambulo.common import figures
from ambulo.common.figures import new_figure, png_of


def drawn(text: str) -> str:
    """Draw `text`, with all warnings as errors; the last of its font families."""
    figure = new_figure((2.0, 1.0))
    title = figure.add_subplot().set_title(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.tight_layout()
        assert png_of(figure).startswith(b"\x89PNG")
    return title.get_fontfamily()[-1]


def test_letters_that_the_usual_font_lacks_have_another(
    caplog: pytest.LogCaptureFixture,
) -> None:
    usual = FontProperties().get_family()[-1]
    known = get_font(findfont(FontProperties())).get_charmap()
    other = get_font(findfont(FontProperties(family="STIXGeneral"))).get_charmap()
    rare = next(code for code in sorted(other) if code not in known and code > 0x2000)
    assert drawn("plain") == drawn("Größe") == usual
    assert drawn(f"a{chr(rare)}") != usual
    assert not caplog.text


def test_letters_of_no_font_are_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("matplotlib.font_manager.fontManager.ttflist", [])
    figures._family_with.cache_clear()
    drawn("名前")
    drawn("前名")
    assert caplog.messages == [
        "no installed font has 前名: drawn as boxes (Noto Sans CJK has most letters)"
    ]
    figures._family_with.cache_clear()
