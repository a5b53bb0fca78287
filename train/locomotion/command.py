"""The command `ambulo train walk`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ambulo.common.character_flag import absolute_character
from ambulo.common.command_line import Arg
from ambulo.common.find_model import find_model
from ambulo.common.gl import import_mujoco
from ambulo.common.paths import absolute_path, resolve_path
from ambulo.configs.errors import ConfigError, ModelFileError, nearest, setting
from ambulo.configs.presets import LOCOMOTION_PRESETS
from ambulo.train.shared.flags import ActingFlags, Sets
from ambulo.train.shared.rl_command import RL_SETTINGS, RLCommand
from ambulo.train.shared.run_folders import LocomotionRunFolder
from ambulo.train.shared.run_request import RunRequest

if TYPE_CHECKING:
    from ambulo.configs.locomotion import LocomotionConfig
    from ambulo.policies.files.model_file import ModelFile
    from ambulo.train.locomotion.training import LocomotionTraining
    from ambulo.train.shared.rl_run import RLRun

TEACHERS = ("law", "none")
"""Values of `--teacher` besides models."""
Request = RunRequest["LocomotionConfig"]


def task_of(text: str) -> str:
    """Return the name of the task that `--task` names; a file becomes known.

    Raises:
        ConfigError: There is no such task.
    """
    from ambulo.configs.task_registry import find_task, register_file

    if text.endswith(".py"):
        return register_file(resolve_path(text))
    find_task(text)
    return text


@dataclass(frozen=True, kw_only=True)
class WalkerFlags(ActingFlags):
    """Flags of all trainings of policies that move a simulated body."""

    title = "body and task"
    task: Annotated[str | None, Arg("TASK"), Sets("environment.task", task_of)] = None
    """what bodies are to do: a task by name, or a file with one of your own"""
    character: Annotated[
        str | None, Arg("BODY"), Sets("environment.character", absolute_character)
    ] = None
    """the body: human23, myolegs, or one of your own: FILE.xml (MuJoCo), FILE.urdf,
    FILE.body.json or package:function"""
    teacher: Annotated[str | None, Arg("NAME")] = None
    """imitate a teacher first: law (the balance controller), a trained model, none"""


@dataclass(frozen=True, kw_only=True)
class LocomotionFlags(WalkerFlags):
    """Train, resume and evaluate a policy that moves a simulated body."""

    title = "reference"
    reference: Annotated[
        str | None, Arg("FILE"), Sets("environment.reference", absolute_path)
    ] = None
    """motion clip or prepared reference to follow (default: a walk that the suite makes
    itself; stand needs none)"""


class LocomotionCommand(RLCommand["LocomotionConfig", "LocomotionTraining"]):
    """Training of policies that move a simulated body."""

    description = "Train, resume and evaluate a policy that moves a simulated body."
    examples = """\
ambulo train walk --preset imitate_walk --reference 02_01.amc
ambulo train walk --preset imitate_walk_network --reference 02_01.amc --seed 1
ambulo train walk --resume runs/imitate_walk_0_20260101-120000
ambulo train walk --eval runs/first/best_models/best_model.zip --episodes 100
"""
    name = "locomotion"
    folder = LocomotionRunFolder
    presets = LOCOMOTION_PRESETS
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
    flags: ClassVar[type[WalkerFlags]] = LocomotionFlags

    def load(self, file: Path, args: Any) -> ModelFile[Any]:
        """Read a checkpoint."""
        import_mujoco()
        return super().load(file, args)

    def load_initial(self, name: str, args: Any) -> ModelFile[Any]:
        """Read the model of a file, a run folder or a shipped policy."""
        return self.load(find_model(name), args)

    def adjust(self, config: LocomotionConfig, args: Any) -> LocomotionConfig:
        """Set the teacher; a policy with a teacher acts without the built-in controller."""
        from ambulo.configs.simulation_nn import TeacherConfig

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
        from ambulo.configs.gait import gait_space
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
        self, config: LocomotionConfig, args: Any, *, resumed: bool
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
            remote=request.args.on_cluster,
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
