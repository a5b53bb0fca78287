"""What a motion training writes down: `metrics.csv`, and TensorBoard's files."""

from __future__ import annotations

import csv
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

from torch.utils.tensorboard import SummaryWriter

from ambulo.train.motion.run_folder import MotionRunFolder
from ambulo.train.shared.files import write_atomic

if TYPE_CHECKING:
    from ambulo.train.motion.training import Progress


class MotionLog:
    """One row for each epoch; rows of epochs that a resumed run does again are dropped."""

    def __init__(self, folder: MotionRunFolder, step: int) -> None:
        """Go on behind update `step` of the run in `folder`."""
        self._file = folder.metrics
        self._rows: list[dict[str, str]] = []
        if self._file.is_file():
            with self._file.open(encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            self._rows = [r for r in rows if r.get("step") and int(r["step"]) <= step]
        self._writer = SummaryWriter(str(folder.logs), purge_step=step + 1)
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        """Nothing to do."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close TensorBoard's file."""
        self._writer.close()

    def write(
        self,
        progress: Progress,
        losses: Mapping[str, float],
        errors: Mapping[str, float],
        rate: float,
    ) -> None:
        """An epoch's mean losses, validation errors, [mm], and step size."""
        row = {f"train/{name}": value for name, value in losses.items()}
        row |= {f"validation/{name}": value for name, value in errors.items()}
        row["learning_rate"] = rate
        for name, value in row.items():
            self._writer.add_scalar(name, value, progress.step)
        head = {"step": progress.step, "epoch": progress.epoch}
        told = head | {"seconds": round(progress.seconds, 1)} | row
        texts = {
            name: f"{value:.6g}" if isinstance(value, float) else str(value)
            for name, value in told.items()
        }
        self._rows.append(texts)
        names = list(dict.fromkeys(name for row in self._rows for name in row))
        lines = [",".join(names)]
        lines += [",".join(row.get(name, "") for name in names) for row in self._rows]
        write_atomic(self._file, "\n".join(lines) + "\n")
