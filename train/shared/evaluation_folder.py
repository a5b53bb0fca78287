"""The folder of an evaluation's report."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ambulo.configs.errors import RunFolderError
from ambulo.train.shared.files import check_parent
from ambulo.train.shared.paths import resolve_path
from ambulo.train.shared.run_folder import RunFolder, run_folder_of


@contextmanager
def report_folder(
    args: argparse.Namespace, model: Path | None
) -> Iterator[Path | None]:
    """The folder of the report, made before the work; gone again if that fails."""
    for file in (args.json, args.video):
        check_parent(file)
    if args.no_report:
        yield None
        return
    run: RunFolder | None = run_folder_of(model) if model is not None else None
    if args.output is not None:
        folder = resolve_path(args.output)
    else:
        folder = (run.path if run is not None else Path.cwd()) / "evaluation"
    existed = folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".probe.tmp"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise RunFolderError(
            f"{folder}: cannot be written: {error.strerror}; "
            "choose another folder with --output, or give --no-report"
        ) from error
    try:
        yield folder
    except BaseException:
        if not existed and not any(folder.iterdir()):
            folder.rmdir()
        raise
