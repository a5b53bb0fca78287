"""The folder of one training run of a motion network."""

from __future__ import annotations

import os
from pathlib import Path

from ambulo.common.run_folder import RunFolder

KEPT = 2
"""Checkpoints that are kept: the newest, and one in case it is damaged."""


class MotionRunFolder(RunFolder):
    """Paths of a run; nothing is created by making one of these."""

    program = "train_motion"
    prefix = "motion_nn_"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """The run in the folder `path`."""
        super().__init__(path)
        self.split = self.path / "split_info.json"

    def check(self, checkpoint: Path) -> None:
        """`ModelFileError` for a damaged checkpoint."""
        from ambulo.policies.files.model_file import load_model
        from ambulo.policies.kinds.motion_nn import MotionMetadata

        load_model(checkpoint, MotionMetadata)

    def keep_newest(self, checkpoint: Path) -> None:
        """Remove all but the newest checkpoints, of which `checkpoint` is the newest."""

        def steps(file: Path) -> int:
            digits = file.stem.removeprefix(self.prefix).removesuffix("_steps")
            return int(digits) if digits.isdecimal() else -1

        files = sorted(self.checkpoints.glob(f"{self.prefix}*_steps.zip"), key=steps)
        for file in files[:-KEPT]:
            if file != checkpoint:
                file.unlink(missing_ok=True)
