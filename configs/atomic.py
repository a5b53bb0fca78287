"""Files that appear whole or not at all, and whether a folder takes any."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path


def probe_folder(folder: Path) -> None:
    """Make `folder` if need be and write in it, before work; `OSError` if that fails."""
    folder.mkdir(parents=True, exist_ok=True)
    probe = folder / f".probe-{os.getpid()}-{threading.get_ident()}.tmp"
    probe.touch()
    probe.unlink()


def replace_file(path: Path, data: bytes) -> None:
    """Make `path` hold `data`, or leave it as it was and raise `OSError`.

    The bytes are written beside it, synced to the disk, and then take its name.
    """
    owner = f"{os.getpid()}-{threading.get_ident()}"
    temporary = path.with_name(f".{path.name}.{owner}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:  # also a second Ctrl-C
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
