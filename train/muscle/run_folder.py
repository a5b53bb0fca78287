"""The folder of one training run of a muscle network."""

from __future__ import annotations

import os
from pathlib import Path

from ambulo.common.run_folder import RunFolder


class MuscleRunFolder(RunFolder):
    """Paths in the folder of a run; making one creates nothing on disk."""

    program = "train_muscle"
    prefix = "muscle_nn_"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the run in the folder `path`."""
        super().__init__(path)
        self.best_model = self.best_model.with_suffix(".safetensors")
        self.final_model = self.final_model.with_suffix(".safetensors")

    def check(self, checkpoint: Path) -> None:
        """Raise `ModelFileError` for a damaged checkpoint."""
        from ambulo.policies.agents.muscle import load_checkpoint_network

        load_checkpoint_network(checkpoint)
