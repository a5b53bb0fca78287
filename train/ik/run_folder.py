"""The folder of one training run of a network of poses."""

from __future__ import annotations

import os
from pathlib import Path

from ambulo.common.run_folder import RunFolder

KEPT = 2
"""Checkpoints that are kept: the newest, and one in case it is damaged."""


class IKRunFolder(RunFolder):
    """Paths of a run; nothing is created by making one of these.

    Best and final models are folders that `ambulo.ik` loads.
    """

    program = "train_neural_ik"
    prefix = "neural_ik_"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """The run in the folder `path`."""
        super().__init__(path)
        self.best_model = self.path / "best_models" / "ik_net"
        self.final_model = self.path / "final_model"

    def check(self, checkpoint: Path) -> None:
        """`ModelFileError` for a damaged checkpoint."""
        from ambulo.policies.files.model_file import load_model
        from ambulo.policies.kinds.neural_ik import IKMetadata

        load_model(checkpoint, IKMetadata)

    def sweep(self) -> None:
        """Remove what a killed process left half-written."""
        super().sweep()
        for folder in (self.best_model, self.final_model):
            for file in folder.glob(".*.tmp"):
                file.unlink(missing_ok=True)

    def keep_newest(self, checkpoint: Path) -> None:
        """Remove all but the newest checkpoints, of which `checkpoint` is the newest."""

        def steps(file: Path) -> int:
            digits = file.stem.removeprefix(self.prefix).removesuffix("_steps")
            return int(digits) if digits.isdecimal() else -1

        files = sorted(self.checkpoints.glob(f"{self.prefix}*_steps.zip"), key=steps)
        for file in files[:-KEPT]:
            if file != checkpoint:
                file.unlink(missing_ok=True)
