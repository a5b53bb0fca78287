"""The folder of one training run of VR navigation."""

from __future__ import annotations

from pathlib import Path

from ambulo.common.run_folder import RunFolder


class NavigationRunFolder(RunFolder):
    """Paths in the folder of a run; making one creates nothing on disk."""

    program = "train_vr_navigation"
    prefix = "vr_nav_model_"

    def check(self, checkpoint: Path) -> None:
        """Raise `ModelFileError` for a damaged checkpoint."""
        from ambulo.policies.agents.navigation import load_navigation

        load_navigation(checkpoint)
