"""`--watch`: the viewer of a run as a process beside its training."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ambulo.common.run_folder import RunFolder

_PATIENCE = 10.0
"""Time in which the viewer must end, [s]."""


def check_watch(port: int | None) -> None:
    """Refuse `--watch` before a run folder is made.

    Raises:
        ConfigError: The port is taken.
        ImportError: viser is not installed.
    """
    if port is None:
        return
    import viser  # noqa: F401

    from ambulo.viz.viewer.window import checked_port

    checked_port(port)


@contextmanager
def watched(folder: RunFolder, port: int | None) -> Iterator[None]:
    """Show the run in the browser while the context lasts; None: not at all.

    The viewer is a process of its own, which gives way to the training and is not able to
    end it; it reads the run folder alone.
    """
    if port is None:
        yield
        return
    command = [
        sys.executable, "-m", "ambulo.cli", "watch", str(folder.path), "--port", str(port),
    ]  # fmt: skip
    own = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    # A session of its own, so that Ctrl-C reaches the training alone, which ends it.
    viewer = subprocess.Popen(
        command, env=own, stdin=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield
    finally:
        viewer.terminate()
        try:
            viewer.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            viewer.kill()
