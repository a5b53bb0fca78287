"""The command `ambulo train muscle`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ambulo.common.engine_flags import WorkerFlags
from ambulo.common.gl import import_mujoco
from ambulo.configs.errors import setting
from ambulo.configs.presets import MUSCLE_PRESETS
from ambulo.train.shared.flags import RunFlags
from ambulo.train.shared.jobs import workers_of
from ambulo.train.shared.run_command import RunCommand
from ambulo.train.shared.run_folders import MuscleRunFolder
from ambulo.train.shared.run_request import RunRequest

if TYPE_CHECKING:
    from ambulo.configs.muscle import MuscleRunConfig
    from ambulo.train.muscle.training import MuscleBatch
    from ambulo.train.shared.supervised import SupervisedRun

Request = RunRequest["MuscleRunConfig"]


@dataclass(frozen=True, kw_only=True)
class MuscleFlags(RunFlags, WorkerFlags):
    """Train a network from target torques to muscle activations."""


class MuscleCommand(RunCommand["MuscleRunConfig", "SupervisedRun[MuscleBatch]"]):
    """Training of networks from torques to muscle activations."""

    description = "Train a network from target torques to muscle activations."
    examples = """\
ambulo train muscle --preset shipped
ambulo train muscle --preset quick_test --steps 100
ambulo train muscle --resume runs/myolegs_0_20260101-120000
"""
    folder = MuscleRunFolder
    presets = MUSCLE_PRESETS
    resumable = ("save_every", "threads", "output")
    progress = ("steps", "loss", "{:.5f}", 1.0)
    setting_flags: ClassVar[Mapping[str, str]] = {
        "--steps": "network.steps",
        "--poses": "network.poses",
        "--batch-size": "network.batch_size",
        "--threads": "training.threads",
    }
    flags = MuscleFlags

    def label(self, config: MuscleRunConfig, args: Any) -> str:
        """Return the body."""
        return config.character

    def check_names(self, config: MuscleRunConfig) -> None:
        """Refuse unknown bodies."""
        import_mujoco()
        from ambulo.envs.characters.registry import check_character

        with setting("character"):
            check_character(config.character)

    def build(self, request: Request) -> SupervisedRun[MuscleBatch]:
        """Draw the poses and make the training."""
        from ambulo.envs.characters.registry import load_character
        from ambulo.muscle.muscles import MuscleLayer
        from ambulo.train.muscle.training import MuscleTask

        config = request.config
        layer = MuscleLayer(load_character(config.character, muscles=True).model)
        count = config.network.poses + config.training.validation_poses
        print(f"muscles in {count} random poses of {config.character}", file=sys.stderr)
        task = MuscleTask(
            layer,
            config.network,
            config.training,
            run=config,
            command=request.shared_command,
            apply=workers_of(request.args).in_order,
        )
        return request.supervised(task)

    def report(self, request: Request, run: SupervisedRun[MuscleBatch]) -> None:
        """Evaluate on torques in random poses."""
        from ambulo.train.shared.final_evaluation import finish

        scores, result = run.progress.scores, "no validation"
        if scores:
            error, effort = scores["torque_error_rms"], scores["effort"]
            result = (
                f"torque error {error:.3f} N m, mean squared activation {effort:.3f}"
            )
        finish(request, run, result)


COMMAND = MuscleCommand()
