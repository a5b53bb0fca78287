"""The folder of one training run of a gait network."""

from __future__ import annotations

from pathlib import Path

from ambulo.common.run_folder import RunFolder


class GaitRunFolder(RunFolder):
    """Paths in the folder of a run; making one creates nothing on disk."""

    program = "train_forward_gaitnet"
    prefix = "ref_nn_"

    def check(self, checkpoint: Path) -> None:
        """Raise `ModelFileError` for a damaged checkpoint."""
        from ambulo.policies.agents.gait_training import read_ref_nn

        read_ref_nn(checkpoint)
