"""The folder of one training run of a motion network."""

from __future__ import annotations

import os
from pathlib import Path

from ambulo.common.run_folder import RunFolder


class MotionRunFolder(RunFolder):
    """Paths in the folder of a run; making one creates nothing on disk."""

    program = "train_motion"
    prefix = "motion_nn_"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the run in the folder `path`."""
        super().__init__(path)
        self.split = self.path / "split_info.json"

    def check(self, checkpoint: Path) -> None:
        """Raise `ModelFileError` for a damaged checkpoint."""
        from ambulo.policies.files.model_file import load_model
        from ambulo.policies.kinds.motion_nn import MotionMetadata

        load_model(checkpoint, MotionMetadata)
