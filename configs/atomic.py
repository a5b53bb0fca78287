"""Atomic file writes, and a test whether a folder is writable."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path


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
