"""The folder of one locomotion training."""

from __future__ import annotations

from pathlib import Path

from ambulo.common.run_folder import RunFolder


class LocomotionRunFolder(RunFolder):
    """Paths in the folder of a run; making one creates nothing on disk."""

    program = "train_locomotion"
    prefix = "locomotion_"

    def check(self, checkpoint: Path) -> None:
        """Raise `ModelFileError` for a damaged checkpoint."""
        from ambulo.policies.agents.locomotion import load_locomotion

        load_locomotion(checkpoint)
