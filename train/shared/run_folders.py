"""The run folder of each training: its names, and what reads its checkpoints."""

from __future__ import annotations

import os

from ambulo.common.run_folder import RunFolder


class NavigationRunFolder(RunFolder):
    """Folder of a training of VR navigation."""

    program = "ambulo train vr"
    prefix = "vr_nav_model_"
    kind = "vr_navigation"


class LocomotionRunFolder(RunFolder):
    """Folder of a training of a locomotion policy."""

    program = "ambulo train walk"
    prefix = "locomotion_"
    kind = "locomotion"


class GodotRunFolder(RunFolder):
    """Folder of a training of the agents of a Godot game."""

    program = "ambulo train godot"
    prefix = "game_"
    kind = "game"


class MotionRunFolder(RunFolder):
    """Folder of a training of a motion network."""

    program = "ambulo train motion"
    prefix = "motion_nn_"
    kind = "motion_nn"


class IKRunFolder(RunFolder):
    """Folder of a training of a pose network; its models are folders of `ambulo.ik`."""

    program = "ambulo train ik"
    prefix = "neural_ik_"
    kind = "neural_ik"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the run in the folder `path`."""
        super().__init__(path)
        self.best_model = self.path / "best_models" / "ik_net"
        self.final_model = self.path / "final_model"

    def remove_partial_files(self) -> None:
        """Remove what a killed process left half-written."""
        super().remove_partial_files()
        for folder in (self.best_model, self.final_model):
            for file in folder.glob(".*.tmp"):
                file.unlink(missing_ok=True)


class GaitRunFolder(RunFolder):
    """Folder of a training of a gait network."""

    program = "ambulo train gait"
    prefix = "gait_net_"
    kind = "gait_net"


class MuscleRunFolder(RunFolder):
    """Folder of a training of a muscle network; its models are files of tensors."""

    program = "ambulo train muscle"
    prefix = "muscle_nn_"
    kind = "muscle_training"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the run in the folder `path`."""
        super().__init__(path)
        self.best_model = self.best_model.with_suffix(".safetensors")
        self.final_model = self.final_model.with_suffix(".safetensors")


class TrackerRunFolder(RunFolder):
    """Folder of a training of a body tracker."""

    program = "ambulo train trackers"
    prefix = "body_tracker_"
    kind = "body_tracker"
