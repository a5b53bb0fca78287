"""The command `ambulo train vr`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ambulo.common.command_line import Arg
from ambulo.common.find_model import find_model
from ambulo.common.gl import import_mujoco
from ambulo.common.paths import resolve_path
from ambulo.configs.choices import ENGINE_PLACES
from ambulo.configs.errors import ConfigError, ModelFileError, setting
from ambulo.configs.presets import VR_PRESETS
from ambulo.evaluate.vr.godot_flags import check_godot_flags
from ambulo.train.shared.flags import ActingFlags, Sets
from ambulo.train.shared.resume import ResumePoint, check_resumable, find_resume_point
from ambulo.train.shared.rl_command import RL_SETTINGS, RLCommand
from ambulo.train.shared.run_folders import NavigationRunFolder
from ambulo.train.shared.run_request import RunRequest

if TYPE_CHECKING:
    from ambulo.configs.vr import NavigationConfig
    from ambulo.policies.agents.navigation import NavigationModel
    from ambulo.train.shared.rl_run import RLRun
    from ambulo.train.vr.training import NavigationTraining

Request = RunRequest["NavigationConfig"]
Point = ResumePoint["NavigationConfig"]


OWN_FRACTION = 0.5
"""Fraction of episodes in a user's own levels, in a new run that begins with a model."""


@dataclass(frozen=True, kw_only=True)
class NavigationFlags(ActingFlags):
    """Train, resume and evaluate an agent that navigates in VR levels."""

    title = "levels and code"
    level_file: Annotated[
        str | None,
        Arg("PATH"),
        Sets("environment.level_file", lambda path: str(resolve_path(path))),
    ] = None
    """level JSON file or folder"""
    trust_pickle: bool = False
    """run the pickled code of a Stable-Baselines3 zip; only for your own files"""
    trust_code: bool = False
    """import the reward terms that a resumed run names; only for your own runs"""


class NavigationCommand(RLCommand["NavigationConfig", "NavigationTraining"]):
    """Training of agents that navigate in VR levels."""

    description = "Train, resume and evaluate an agent that navigates in VR levels."
    examples = """\
ambulo train vr --preset first_run
ambulo train vr --preset full_training --seed 1 --run-name first
ambulo train vr --resume runs/first
ambulo train vr --eval runs/first/best_models/best_model.zip --episodes 50
"""
    name = "vr_navigation"
    folder = NavigationRunFolder
    presets = VR_PRESETS
    resumable = (
        "total_timesteps", "save_freq", "eval_freq", "eval_episodes",
        "num_workers", "update_threads", "device", "output",
    )  # fmt: skip
    local_prefix = "godot_"
    private = ENGINE_PLACES
    evaluation_flags = (
        "episodes", "seed", "json", "level_file", "world", "num_envs", "output",
        "godot_url", "godot_bin", "godot_project", "scene", "godot_engines", "verbose",
        "trust_pickle",
    )  # fmt: skip
    setting_flags: ClassVar[Mapping[str, str]] = {
        **RL_SETTINGS,
        "--world": "environment.world",
        "--godot-url": "environment.godot_url",
        "--godot-bin": "environment.godot_bin",
        "--godot-project": "environment.godot_project",
        "--scene": "environment.scene",
        "--godot-engines": "environment.godot_engines",
    }
    flags = NavigationFlags

    def load(self, file: Path, args: Any) -> NavigationModel:
        """Read a checkpoint."""
        from ambulo.policies.agents.navigation import load_navigation

        return load_navigation(file, trust_pickle=args.trust_pickle)

    def load_initial(self, name: str, args: Any) -> NavigationModel:
        """Read the model of a file, a run folder or a shipped agent.

        Raises:
            ModelFileError: It was trained on normalised observations.
        """
        from ambulo.policies.agents.navigation import statistics_beside

        file = find_model(name)
        model = self.load(file, args)
        if statistics_beside(file, model, trust_pickle=args.trust_pickle):
            raise ModelFileError(
                f"{file}: was trained behind VecNormalize; a training that begins with it "
                "would see observations as they are"
            )
        return model

    def find(self, target: str, args: Any) -> Point:
        """Return where `--resume` continues, without the engines that files name."""
        point = find_resume_point(
            target,
            NavigationRunFolder,
            self.presets.config,
            lambda file: self.load(file, args),
            lambda model: model.metadata.config,
        )
        config = point.config.without_engine_places()
        if config.rewards.custom and not args.trust_code:
            raise ConfigError(
                f"{target}: its settings name code to import "
                f"(rewards.custom: {', '.join(config.rewards.custom)}); "
                "if the run is yours, add --trust-code"
            )
        return ResumePoint(point.folder, point.model, config)

    def check_resumed(self, point: Point, config: NavigationConfig) -> None:
        """Compare with the settings in the checkpoint itself."""
        if point.model is not None:
            old = point.model.metadata.config
            check_resumable(old, config, self.resumable, self.local_prefix)

    def check_names(self, config: NavigationConfig) -> None:
        """Refuse unknown levels of the environment and of stages, and unknown walkers."""
        from ambulo.envs.vr.body.walker import walker_file
        from ambulo.envs.vr.families.level_sets import resolve

        env, stages = config.environment, config.training.curriculum_stages
        named = {
            "environment.levels": env.levels,
            **{
                f"training.curriculum_stages[{index}].levels": stage.levels
                for index, stage in enumerate(stages)
            },
        }
        for key, levels in named.items():
            if levels and not config.rewards.custom:  # whose code may add families
                with setting(key):
                    resolve(levels, "train")
        if env.body in ("human23", "myolegs"):
            with setting("environment"):
                walker_file(env.walker)

    def prepare(
        self, config: NavigationConfig, args: Any, *, resumed: bool
    ) -> NavigationConfig:
        """Check engines and graphics before levels are built."""
        from ambulo.configs.vr_learning import check_guide
        from ambulo.envs.godot.settings import check_engines

        check_godot_flags(args, config.environment)
        check_engines(config.environment)
        check_guide(
            config.ppo,
            memory=config.observations.memory,
            mode=config.actions.mode,
            recurrent=config.network.recurrent,
        )
        count, agents = config.environment.num_environments, config.environment.agents
        if count % agents:
            raise ConfigError(
                f"environment.num_environments = {count} (--num-envs): must be a multiple of "
                f"environment.agents = {agents}"
            )
        if config.environment.world == "mujoco":
            import_mujoco()
        if args.init_from and not resumed:  # written down, for a run that begins again
            config = config.override("training", init_from=args.init_from)
        env = config.environment
        mixed = env.level_file is not None and config.training.init_from is not None
        if mixed and env.level_file_fraction is None and not resumed:
            config = config.override("environment", level_file_fraction=OWN_FRACTION)
        return config

    def task(self, request: Request) -> NavigationTraining:
        """Make environments and learner."""
        from ambulo.common.console import announce

        progress = request.args.progress
        announce("loading libraries ...", progress)
        from ambulo.train.vr.training import NavigationTraining

        return NavigationTraining(
            request.config,
            request.folder,
            request.checkpoint,
            command=request.shared_command,
            deterministic=request.args.deterministic,
            announce=lambda line: announce(line, progress),
            remote=request.args.on_cluster,
        )

    def report(self, request: Request, run: RLRun[NavigationTraining]) -> None:
        """Compare with baselines, and write and print the results."""
        from ambulo.train.vr.results import finish

        finish(request, run)


COMMAND = NavigationCommand()
