"""HTML report of an evaluation: one page without links, and its pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ambulo.common.files import write_bytes
from ambulo.evaluate.shared.result import Metric, ModelEvaluation, Picture
from ambulo.evaluate.shared.tables import breakdown_cells, main_cells
from ambulo.viz.html_report import write_html

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
    columns = {column.name: column for column in evaluation.columns}
    metrics = evaluation.agents[evaluation.main_agent]
    return write_html(
        folder / REPORT,
        Path(__file__).with_name("report.html"),
        title[:1].upper() + title[1:],
        {
            "command": evaluation.command,
            "model": evaluation.model,
            "evaluated on": evaluation.evaluated,
            "seed": str(evaluation.seed),
            **(facts or {}),
        },
        evaluation=evaluation,
        headline={
            columns[name].heading(metrics[name].unit): columns[name].text(
                Metric(metrics[name].value)
            )
            for name in evaluation.headline
            if name in metrics and metrics[name].value is not None
        },
        scores=main_cells(evaluation, wide=True)[1:],
        breakdowns=list(breakdown_cells(evaluation, wide=True)),
        pictures=pictures,
        videos=videos,
    )
