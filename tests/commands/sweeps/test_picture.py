"""Pictures of sweeps."""

from __future__ import annotations

from typing import Any

import pytest

from ambulo.commands.sweeps import picture


def report(labels: list[str]) -> dict[str, Any]:
    """A report of two seeds for each of the settings `labels`, the first one best."""
    line = {"low": [0.0, 0.1], "high": [0.2, 0.3]}
    runs = [{"scores": {"all": score}} for score in (0.4, 0.5)]
    variants = [
        {
            "label": label,
            "runs": runs,
            "iqm": 0.5 - 0.01 * k,
            "iqm_ci95": [0.4, 0.6],
            "curve": {"steps": [0, 10], "iqm": [0.1, 0.2], **line},
            "profile": {"thresholds": [0.0, 1.0], "above": [1.0, 0.0], **line},
        }
        for k, label in enumerate(labels)
    ]
    chance = {"probability": 0.7, "probability_ci95": [0.5, 0.9]}
    return {
        "training": "vr first_run",
        "score": {"better": "higher", "label": "success rate"},
        "steps": "steps",
        "seeds": [0, 1],
        "variants": variants,
        "comparisons": [
            {"first": labels[0], "second": label, **chance} for label in labels[1:]
        ],
    }


@pytest.mark.integration
@pytest.mark.parametrize(("count", "length"), [(2, 1), (10, 22), (2, 400)])
def test_settings_of_any_length_fit(
    monkeypatch: pytest.MonkeyPatch, count: int, length: int
) -> None:
    """All texts are inside the picture, and axes keep their width."""
    drawn: list[Any] = []
    png_of = picture.png_of
    monkeypatch.setattr(
        picture, "png_of", lambda figure: drawn.append(figure) or png_of(figure)
    )
    text = ("learning_rate=0.0003 " * 20)[: length - 1]
    assert picture.sweep_picture(report([f"{k}{text}" for k in range(count)]))
    (figure,) = drawn
    width, height = figure.bbox.size
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert len(shown) == 4
    for axes in shown:
        assert axes.get_window_extent().width > 0.2 * width
    titles = [axes.title for axes in shown]
    ticks = [label for axes in shown for label in axes.get_yticklabels()]
    for label in [*titles, *ticks, *figure.texts]:
        box = label.get_window_extent()
        assert 0.0 <= box.x0 <= box.x1 <= width, label
        assert 0.0 <= box.y0 <= box.y1 <= height, label
    for axes in shown[2:]:  # letters stand for long settings
        assert not any(len(tick.get_text()) > 22 for tick in axes.get_yticklabels())
    said = " ".join(text.get_text() for text in figure.texts)
    assert said.count("learning_rate") == (count * 19 if length == 400 else 0)
