"""A lock on a folder: one process at a time works in it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from ambulo.configs.errors import RunFolderError


class FolderLock:
    """Reserves a folder for this process, until it ends.

    The lock is the file `.NAME.lock` beside the folder, so that the folder can be moved
    while it is held.
    """

    def __init__(self, folder: Path, work: str) -> None:
        """Reserve `folder` for `work`, such as `a training`.

        Raises:
            RunFolderError: Another process has reserved the folder.
        """
        # `gait_net`, a network that is only loaded, does not need the package.
        from filelock import FileLock, Timeout

        real = folder.resolve()
        self._lock = FileLock(real.parent / f".{real.name}.lock", timeout=0)
        try:
            self._lock.acquire()
        except Timeout:
            raise RunFolderError(
                f"{folder}: {work} is running in this folder; stop it first"
            ) from None
        except OSError as error:
            raise RunFolderError(
                f"{folder}: cannot be locked: {error.strerror}"
            ) from error

    def release(self) -> None:
        """Let other processes use the folder."""
        # A process that locks a file that has been removed tries again (filelock compares the
        # links). Windows removes no open file; there, filelock does it.
        with contextlib.suppress(OSError):
            os.unlink(self._lock.lock_file)
        self._lock.release()
