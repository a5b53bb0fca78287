"""The folder of one training run of a gait network."""

from __future__ import annotations

from pathlib import Path

from ambulo.common.run_folder import RunFolder


class GaitRunFolder(RunFolder):
    """Paths of a run; nothing is created by making one of these."""

    program = "train_forward_gaitnet"
    prefix = "ref_nn_"

    def check(self, checkpoint: Path) -> None:
        """`ModelFileError` for a damaged checkpoint."""
        from ambulo.policies.agents.gait_training import read_ref_nn

        read_ref_nn(checkpoint)
