"""The process of one run: a training that ends with the process that started it.

The starter keeps the child's standard input open. When it closes, because the starter
asks for a stop or is gone, the training saves a checkpoint and leaves.
"""

from __future__ import annotations

import copy
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any

from ambulo.commands.sweeps.kinds import Training

GRACE = 60.0
"""Time to save a checkpoint, [s]; then the process is ended."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `FOLDER FLAG ...`, the training of a folder of presets; return its exit code."""
    folder, mode, *arguments = sys.argv[1:] if argv is None else argv
    threading.Thread(target=_watch, daemon=True).start()
    command = Training(folder).command
    if mode == "trial":
        command = without_report(command)
    code: int = command.main(arguments)
    return code


def without_report(command: Any) -> Any:
    """Return `command` without what follows a training: evaluation, pictures, films."""
    quick = copy.copy(command)
    quick.report = lambda request, run: None
    return quick


def request_stop() -> None:
    """Send this process a SIGTERM that its handler receives."""
    if sys.platform == "win32":  # where `os.kill` ends it without its handler
        signal.raise_signal(signal.SIGTERM)
    else:
        os.kill(os.getpid(), signal.SIGTERM)


def _watch() -> None:
    """Stop this process when its standard input is closed."""
    while os.read(0, 4096):
        pass
    request_stop()
    threading.Event().wait(GRACE)
    os._exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
