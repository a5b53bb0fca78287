"""HTML report of an evaluation: one page without links, and its pictures."""

from __future__ import annotations

import html
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ambulo.common.files import write_atomic, write_bytes
from ambulo.common.run_folder import provenance
from ambulo.evaluate.shared.result import Metric, ModelEvaluation, Picture
from ambulo.evaluate.shared.tables import breakdown_cells, main_cells
from ambulo.viz.html_report import (
    facts_table,
    figure_html,
    page_html,
    table_html,
    tiles_html,
    video_html,
)

REPORT, RESULT = "report.html", "evaluation.json"
"""File names of the page and of the numbers."""


def write_report(
    folder: Path,
    evaluation: ModelEvaluation,
    pictures: Sequence[Picture] = (),
    facts: Mapping[str, str] | None = None,
    *,
    title: str = "",
    videos: Sequence[Path] = (),
) -> Path:
    """Write page and pictures into the existing `folder`; return the page.

    Args:
        folder: Where to write.
        evaluation: The numbers.
        pictures: Shown in the page and written beside it.
        facts: Settings, beside those of the evaluation.
        title: Of the page; default: the kind of the model.
        videos: Shown in the page.
    """
    for picture in pictures:
        write_bytes(folder / picture.name, picture.png)
    title = title or f"{evaluation.kind.replace('_', ' ')}: evaluation"
    title = title[:1].upper() + title[1:]
    page = folder / REPORT
    parts = _body(evaluation, pictures, facts or {}, videos)
    write_atomic(page, page_html(title, [f"<h1>{html.escape(title)}</h1>", *parts]))
    return page


def _body(
    evaluation: ModelEvaluation,
    pictures: Sequence[Picture],
    facts: Mapping[str, str],
    videos: Sequence[Path],
) -> list[str]:
    hero, columns = evaluation.hero, {c.name: c for c in evaluation.columns}
    metrics = evaluation.agents[hero]
    tiles = {
        columns[name].heading(metrics[name].unit): columns[name].text(
            Metric(metrics[name].value)
        )
        for name in evaluation.headline
        if name in metrics and metrics[name].value is not None
    }
    _, heads, rows = main_cells(evaluation, wide=True)
    parts = [
        f"<p>{html.escape(hero)}: {html.escape(evaluation.evaluated)}</p>",
        tiles_html(tiles),
        "<h2>Scores</h2>",
        f"<div class='scores'>{table_html(heads, rows)}</div>",
        "<p class='note'>Brackets: 95 % intervals. All agents were evaluated on the "
        "same episodes.</p>",
    ]
    for title, heads, rows in breakdown_cells(evaluation, wide=True):
        parts += [f"<h2>{html.escape(title)}</h2>", table_html(heads, rows)]
    parts += [video_html(video) for video in videos]
    parts += [figure_html(picture.caption, picture.png) for picture in pictures]
    parts += [f"<p class='note'>{html.escape(note)}</p>" for note in evaluation.notes]
    made = provenance(0)
    packages = ", ".join(f"{k} {v}" for k, v in made["packages"].items())
    shown = {
        "command": evaluation.command,
        "model": evaluation.model,
        "evaluated on": evaluation.evaluated,
        "seed": str(evaluation.seed),
        **facts,
        "made": time.strftime("%Y-%m-%d %H:%M %Z"),
        "versions": f"ambulo {made['ambulo']}, python {made['python']}, {packages}",
    }
    return [*parts, "<h2>How this was made</h2>", facts_table(shown)]
