"""The command `train_locomotion`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ambulo.common.character_flag import CHARACTER_HELP, absolute_character
from ambulo.common.find_model import find_model
from ambulo.common.gl import import_mujoco
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, ModelFileError, nearest, setting
from ambulo.configs.gait import gait_space
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.presets.locomotion import PRESETS
from ambulo.configs.simulation_nn import TeacherConfig
from ambulo.configs.task_registry import find_task, register_file
from ambulo.train.shared.flags import Flag, text
from ambulo.train.shared.rl_command import (
    ENGINE_FLAGS,
    EVALUATION_FLAGS,
    RL_SETTINGS,
    RLCommand,
)
from ambulo.train.shared.run_folders import LocomotionRunFolder
from ambulo.train.shared.run_request import RunRequest

if TYPE_CHECKING:
    from ambulo.policies.agents.locomotion import LocomotionModel
    from ambulo.train.locomotion.training import LocomotionTraining
    from ambulo.train.shared.rl_run import RLRun

TEACHERS = ("law", "none")
"""Values of `--teacher` besides models."""
Request = RunRequest[LocomotionConfig, "LocomotionModel", LocomotionRunFolder]


def task_of(text: str) -> str:
    """Return the name of the task that `--task` names; a file becomes known.

    Raises:
        ConfigError: There is no such task.
    """
    if text.endswith(".py"):
        return register_file(resolve_path(text))
    find_task(text)
    return text


class LocomotionCommand(
    RLCommand[
        LocomotionConfig, "LocomotionModel", LocomotionRunFolder, "LocomotionTraining"
    ]
):
    """Training of policies that move a simulated body."""

    description = "Train, resume and evaluate a policy that moves a simulated body."
    examples = """\
train_locomotion --preset imitate_walk --reference 02_01.amc
train_locomotion --preset imitate_walk_network --reference 02_01.amc --seed 1
train_locomotion --resume runs/imitate_walk_0_20260101-120000
train_locomotion --eval runs/first/best_models/best_model.zip --episodes 100
"""
    name = "locomotion"
    folder = LocomotionRunFolder
    presets = PRESETS
    resumable = (
        "total_timesteps", "save_freq", "eval_freq", "eval_episodes", "eval_seconds",
        "num_workers", "update_threads", "num_threads", "device", "output",
    )  # fmt: skip
    evaluation_flags = ("episodes", "seed", "json", "num_envs", "output", "verbose")
    progress = ("control steps", "on their feet")
    setting_flags: ClassVar[Mapping[str, str]] = {
        **RL_SETTINGS,
        "--actuation": "environment.actuation",
        "--backend": "environment.backend",
        "--threads": "training.num_threads",
        "--frames": "environment.reference_frames",
        "--standing-reference": "environment.standing_reference",
    }
    flags = (
        *EVALUATION_FLAGS,
        *ENGINE_FLAGS,
        Flag(
            "--task",
            "what bodies are to do: a task by name, or a file with one of your own",
            {"metavar": "TASK", "type": task_of},
            "environment.task",
        ),
        Flag(
            "--character",
            CHARACTER_HELP,
            {"metavar": "BODY"},
            "environment.character",
            convert=absolute_character,
        ),
        Flag(
            "--reference",
            "motion clip or prepared reference to follow (default: a walk that the suite "
            "makes itself; stand needs none)",
            {"metavar": "FILE"},
            "environment.reference",
            convert=lambda path: str(resolve_path(path).absolute()),
        ),
        text(
            "--teacher",
            "imitate a teacher first: law (the balance controller), a trained model, none",
            "NAME",
        ),
    )

    def load(self, file: Path, args: argparse.Namespace) -> LocomotionModel:
        """Read a checkpoint."""
        import_mujoco()
        return super().load(file, args)

    def load_initial(self, name: str, args: argparse.Namespace) -> LocomotionModel:
        """Read the model of a file, a run folder or a shipped policy."""
        return self.load(find_model(name), args)

    def adjust(
        self, config: LocomotionConfig, args: argparse.Namespace
    ) -> LocomotionConfig:
        """Set the teacher; a policy with a teacher acts without the built-in controller."""
        config = super().adjust(config, args)
        if args.teacher is None:
            return config
        if args.teacher == "none":
            return config.override("training", teacher=None)
        model = None if args.teacher == "law" else _teacher_model(args.teacher)
        teacher = config.training.teacher or TeacherConfig()
        config = config.override("training", teacher=teacher.replace(model=model))
        return config.override("environment", balance_law=False)

    def check_names(self, config: LocomotionConfig) -> None:
        """Refuse unknown bodies, and unknown gait parameters of the task `gait`."""
        import_mujoco()
        from ambulo.envs.characters.registry import check_character

        env, gait = config.environment, config.gait
        with setting("environment.character"):
            check_character(env.character)
        if env.traits.parameters:
            space = gait_space(env.character)
            for key, names in (("parameters", gait.parameters), ("vary", gait.vary)):
                with setting(f"gait.{key}"):
                    for name in names:
                        space.index(name)

    def prepare(
        self, config: LocomotionConfig, args: argparse.Namespace, *, resumed: bool
    ) -> LocomotionConfig:
        """Check graphics, prepare an own body, find the model that a correction is above."""
        import_mujoco()
        from ambulo.envs.reference.configured import with_body

        with setting("environment.character"):
            config = with_body(config)
        if resumed or config.gait.base is None:
            return config
        base = str(find_model(config.gait.base).resolve())
        return config.override("gait", base=base)

    def task(self, request: Request) -> LocomotionTraining:
        """Make environments and learner."""
        from ambulo.train.locomotion.training import LocomotionTraining, read_parts

        config, folder = request.config, request.folder
        return LocomotionTraining(
            config,
            folder,
            read_parts(config, folder, request.checkpoint, request.initial),
            remote=request.args.engine == "ray",
            command=request.shared_command,
            deterministic=request.args.deterministic,
        )

    def report(self, request: Request, run: RLRun[LocomotionTraining]) -> None:
        """Compare with the built-in controller, and write and print the results."""
        from ambulo.train.locomotion.results import finish

        finish(request, run)


def _teacher_model(name: str) -> str:
    """Return the file of the model that `--teacher` names."""
    try:
        return str(find_model(name).absolute())
    except ModelFileError as error:
        hint = nearest(name, TEACHERS)
        raise ConfigError(f"--teacher: neither law nor none{hint}; {error}") from error


COMMAND = LocomotionCommand()
