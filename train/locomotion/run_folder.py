"""The folder of one locomotion training."""

from __future__ import annotations

from pathlib import Path

from ambulo.common.run_folder import RunFolder


class LocomotionRunFolder(RunFolder):
    """Paths of a run; nothing is created by making one of these."""

    program = "train_locomotion"
    prefix = "locomotion_"

    def check(self, checkpoint: Path) -> None:
        """`ModelFileError` for a damaged checkpoint."""
        from ambulo.policies.agents.locomotion import load_locomotion

        load_locomotion(checkpoint)
