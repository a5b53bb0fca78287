"""HTML report of an evaluation: its folder, one self-contained page, and its pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from ambulo.common.files import write_bytes
from ambulo.common.paths import resolve_path
from ambulo.common.run_folder import RunFolder
from ambulo.configs.atomic import probe_folder
from ambulo.configs.errors import RunFolderError
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


STEM = "evaluation"
"""Folders without `--output` are called evaluation_1, evaluation_2, ..."""


def output_folder(output: str | None, model: Path | None, *, stem: str = STEM) -> Path:
    """Return the folder of a new report; no earlier report is overwritten.

    `output` itself where it holds no report and no `stem`.json, else a new folder inside
    it. Without `output`, a new folder in the model's run folder, or in the current folder.
    New folders are called `stem`_1, `stem`_2, ...
    """
    if output is not None:
        folder = resolve_path(output)
        if not any((folder / name).exists() for name in (REPORT, f"{stem}.json")):
            return folder
        return _unused(folder, stem, 2)
    run = None if model is None else RunFolder.around(model)
    return _unused(run.path if run is not None else Path.cwd(), stem, 1)


def _unused(parent: Path, stem: str, first: int) -> Path:
    folders = (parent / f"{stem}_{k}" for k in count(first))
    return next(folder for folder in folders if not folder.exists())


@contextmanager
def made_folder(
    folder: Path,
    *,
    advice: str = "choose another folder with --output, or give --no-report",
) -> Iterator[None]:
    """Make `folder` before the work; remove it again if that fails.

    Raises:
        RunFolderError: It cannot be written.
    """
    existed = folder.exists()
    try:
        probe_folder(folder)
    except OSError as error:
        raise RunFolderError(
            f"{folder}: cannot be written: {error.strerror}; {advice}"
        ) from error
    try:
        yield
    except BaseException:
        if not existed and not any(folder.iterdir()):
            folder.rmdir()
        raise
