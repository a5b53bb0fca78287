"""Log of a supervised training: `metrics.csv`, and TensorBoard's files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from torch.utils.tensorboard import SummaryWriter

from ambulo.common.metrics_file import MetricsTable
from ambulo.common.run_folder import RunFolder


class EpochLog:
    """One row for each epoch; rows of epochs that a resumed run does again are dropped."""

    def __init__(self, folder: RunFolder, step: int) -> None:
        """Go on behind update `step` of the run in `folder`."""
        self._folder = folder
        self._table = MetricsTable(folder.metrics, step)
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
        counters = {"step": step, "epoch": epoch, "seconds": f"{seconds:.1f}"}
        self._table.add(counters | dict(row))
