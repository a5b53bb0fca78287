"""Folder of an evaluation's report: a new one for each evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from ambulo.common.paths import resolve_path
from ambulo.common.run_folder import RunFolder
from ambulo.configs.atomic import probe_folder
from ambulo.configs.errors import RunFolderError
from ambulo.evaluate.shared.report import REPORT

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
