"""The folder of an evaluation's report."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ambulo.common.files import check_parent
from ambulo.common.paths import resolve_path
from ambulo.common.run_folder import RunFolder
from ambulo.configs.atomic import probe_folder
from ambulo.configs.errors import RunFolderError


@contextmanager
def report_folder(
    args: argparse.Namespace, model: Path | None
) -> Iterator[Path | None]:
    """The folder of the report; None where none is wanted. See `made_folder`."""
    for file in (args.json, args.video):
        check_parent(file)
    if args.no_report:
        yield None
        return
    run = None if model is None else RunFolder.around(model)
    if args.output is not None:
        folder = resolve_path(args.output)
    else:
        folder = (run.path if run is not None else Path.cwd()) / "evaluation"
    with made_folder(folder):
        yield folder


@contextmanager
def made_folder(folder: Path) -> Iterator[None]:
    """Make `folder` before the work, if it can be written; gone again if that fails."""
    existed = folder.exists()
    try:
        probe_folder(folder)
    except OSError as error:
        raise RunFolderError(
            f"{folder}: cannot be written: {error.strerror}; "
            "choose another folder with --output, or give --no-report"
        ) from error
    try:
        yield
    except BaseException:
        if not existed and not any(folder.iterdir()):
            folder.rmdir()
        raise
