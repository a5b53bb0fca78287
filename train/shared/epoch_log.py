"""What a supervised training writes down: `metrics.csv`, and TensorBoard's files."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Self

from torch.utils.tensorboard import SummaryWriter

from ambulo.common.files import write_atomic
from ambulo.common.metrics_file import step_of
from ambulo.common.run_folder import RunFolder
from ambulo.configs.reading import read_regular_text


class EpochLog:
    """One row for each epoch; rows of epochs that a resumed run does again are dropped."""

    def __init__(self, folder: RunFolder, step: int) -> None:
        """Go on behind update `step` of the run in `folder`."""
        self._folder, self._file = folder, folder.metrics
        self._rows: list[dict[str, str]] = []
        if self._file.is_file():
            text = read_regular_text(self._file)
            rows = list(csv.DictReader(io.StringIO(text)))
            numbers = (step_of(row.get("step") or "") for row in rows)
            self._rows = [
                row
                for row, number in zip(rows, numbers, strict=True)
                if number is not None and number <= step
            ]
        self._writer = SummaryWriter(str(folder.logs), purge_step=step + 1)

    def __enter__(self) -> Self:
        """Nothing to do."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close TensorBoard's file."""
        self._writer.close()

    def write(
        self, step: int, epoch: int, seconds: float, row: Mapping[str, float]
    ) -> None:
        """The numbers of an epoch that ended at update `step`."""
        for name, value in row.items():
            self._writer.add_scalar(name, value, step)
        self._folder.record(step, row)
        told = {"step": str(step), "epoch": str(epoch), "seconds": f"{seconds:.1f}"}
        self._rows.append(told | {name: f"{value:.6g}" for name, value in row.items()})
        names = list(dict.fromkeys(name for row in self._rows for name in row))
        lines = [",".join(names)]
        lines += [",".join(r.get(name, "") for name in names) for r in self._rows]
        write_atomic(self._file, "\n".join(lines) + "\n")
