"""The folder of one training run of a network of poses."""

from __future__ import annotations

import os
from pathlib import Path

from ambulo.common.run_folder import RunFolder


class IKRunFolder(RunFolder):
    """Paths in the folder of a run; making one creates nothing on disk.

    Best and final models are folders that `ambulo.ik` loads.
    """

    program = "train_neural_ik"
    prefix = "neural_ik_"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the run in the folder `path`."""
        super().__init__(path)
        self.best_model = self.path / "best_models" / "ik_net"
        self.final_model = self.path / "final_model"

    def check(self, checkpoint: Path) -> None:
        """Raise `ModelFileError` for a damaged checkpoint."""
        from ambulo.policies.files.model_file import load_model
        from ambulo.policies.kinds.neural_ik import IKMetadata

        load_model(checkpoint, IKMetadata)

    def sweep(self) -> None:
        """Remove what a killed process left half-written."""
        super().sweep()
        for folder in (self.best_model, self.final_model):
            for file in folder.glob(".*.tmp"):
                file.unlink(missing_ok=True)
