"""Shows the newest model of a run folder, and the next one when there is one."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from ambulo.commands.viewing.flags import PlayFlags
from ambulo.commands.viewing.kinds import STAGES, stage_of
from ambulo.common.run_folder import RunFolder
from ambulo.configs.errors import AmbuloError
from ambulo.evaluate.shared.models import model_kind
from ambulo.viz.viewer.empty_stage import EmptyStage
from ambulo.viz.viewer.stage import Stage

log = logging.getLogger(__name__)

PERIOD = 3.0
"""Time between looks for a new checkpoint, [s]."""


class RunFollower:
    """Looks for checkpoints in a thread of its own, and makes their stages there."""

    def __init__(self, run: RunFolder, flags: PlayFlags) -> None:
        """Nothing looked for yet."""
        self._run, self._flags = run, flags
        self._shown: tuple[Path, float] | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def first(self) -> Stage:
        """The stage of the newest model; an empty one where there is none to show."""
        result = self._next()
        return (
            EmptyStage(f"{self._run.path.name}: no checkpoint yet")
            if result is None
            else result
        )

    def start(self, show: Callable[[Stage], None]) -> None:
        """Give each new model's stage to `show`, until `stop`."""

        def look() -> None:
            while not self._stop.wait(PERIOD):
                try:
                    stage = self._next()
                    if stage is not None:
                        show(stage)
                except Exception:  # such as a checkpoint that was removed just now
                    log.exception("%s: not shown", self._run.path)

        self._thread = threading.Thread(target=look, name="run follower", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop looking for new models."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=10.0)

    def _next(self) -> Stage | None:
        """The stage of the newest model, if it is another than the one before."""
        file = newest_model(self._run)
        if file is None:
            return None
        mark = file, file.stat().st_mtime
        if mark == self._shown:
            return None
        is_first, self._shown = self._shown is None, mark
        name = f"{self._run.path.name}, {file.stem.replace('_', ' ')}"
        if model_kind(file) not in STAGES:
            return EmptyStage(f"{name}: a model without a body")
        try:
            stage = stage_of(file, self._flags)
        except AmbuloError as error:
            log.warning("%s", error)
            return EmptyStage(f"{name}: {error}") if is_first else None
        stage.title = name
        return stage


def newest_model(run: RunFolder) -> Path | None:
    """The newest of a run's checkpoints, best and final model; None: it has none."""
    files = [run.best_model, run.final_model]
    if run.checkpoints.is_dir():
        files += run.checkpoints.glob("*.zip")
    there = [file for file in files if file.is_file()]
    return max(there, key=lambda file: file.stat().st_mtime, default=None)
