"""Atomic writes of files and folders, and a test whether a folder is writable."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from ambulo.configs.errors import RunFolderError


def probe_folder(folder: Path) -> None:
    """Create `folder` if it is missing and write a test file; `OSError` if that fails."""
    folder.mkdir(parents=True, exist_ok=True)
    probe = folder / f".probe-{os.getpid()}-{threading.get_ident()}.tmp"
    probe.touch()
    probe.unlink()


def replace_file(path: Path, data: bytes) -> None:
    """Write `data` to `path` atomically, or leave it unchanged and raise `OSError`.

    The bytes go to a temporary file beside it, are synced to disk, and the file is renamed.
    """
    owner = f"{os.getpid()}-{threading.get_ident()}"
    temporary = path.with_name(f".{path.name}.{owner}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:  # also on a second Ctrl-C
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def replace_folder(target: Path) -> Iterator[Path]:
    """Yield a new folder, which then takes the place of `target`, whole or not at all.

    An earlier folder is back in its place if anything fails, also by a signal.

    Raises:
        RunFolderError: No folder can be made beside `target`.
    """
    import tempfile  # slow to import, and most commands replace no folder

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        place = tempfile.TemporaryDirectory(
            prefix=f".{target.name}-", dir=target.parent, ignore_cleanup_errors=True
        )
    except OSError as error:
        raise RunFolderError(
            f"{target.parent}: cannot be written: {error.strerror}"
        ) from None
    with place as work:
        new, old = Path(work, "new"), Path(work, "old")
        new.mkdir()
        yield new
        try:
            if target.exists():
                target.rename(old)
            new.rename(target)
        except BaseException:
            if old.exists() and not target.exists():
                old.rename(target)
            raise
