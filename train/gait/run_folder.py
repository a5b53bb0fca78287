"""The folder of one training run of a gait network."""

from __future__ import annotations

from pathlib import Path

from ambulo.common.run_folder import RunFolder

KEPT = 2
"""Checkpoints that are kept: the newest, and one in case it is damaged."""


class GaitRunFolder(RunFolder):
    """Paths of a run; nothing is created by making one of these."""

    program = "train_forward_gaitnet"
    prefix = "ref_nn_"

    def check(self, checkpoint: Path) -> None:
        """`ModelFileError` for a damaged checkpoint."""
        from ambulo.policies.agents.gait_training import read_ref_nn

        read_ref_nn(checkpoint)

    def keep_newest(self, checkpoint: Path) -> None:
        """Remove all but the newest checkpoints, of which `checkpoint` is the newest."""

        def steps(file: Path) -> int:
            digits = file.stem.removeprefix(self.prefix).removesuffix("_steps")
            return int(digits) if digits.isdecimal() else -1

        files = sorted(self.checkpoints.glob(f"{self.prefix}*_steps.zip"), key=steps)
        for file in files[:-KEPT]:
            if file != checkpoint:
                file.unlink(missing_ok=True)
