"""The command `ambulo train godot`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ambulo.common.command_line import Arg
from ambulo.common.find_model import find_model
from ambulo.common.paths import absolute_path, resolve_path
from ambulo.configs.choices import ENGINE_PLACES
from ambulo.configs.errors import ConfigError
from ambulo.configs.presets import GODOT_PRESETS
from ambulo.train.shared.flags import ActingFlags, Sets
from ambulo.train.shared.rl_command import RL_SETTINGS, RLCommand
from ambulo.train.shared.run_folders import GodotRunFolder
from ambulo.train.shared.run_request import RunRequest

if TYPE_CHECKING:
    from ambulo.configs.godot import GodotConfig
    from ambulo.policies.files.model_file import ModelFile
    from ambulo.train.godot.training import GodotTraining
    from ambulo.train.shared.rl_run import RLRun

Request = RunRequest["GodotConfig"]


@dataclass(frozen=True, kw_only=True)
class GodotFlags(ActingFlags):
    """Train, resume and evaluate the agents of a Godot game."""

    title = "game"
    godot_project: Annotated[
        str | None,
        Arg("PATH", names=("--project", "--godot-project")),
        Sets("environment.godot_project", absolute_path),
    ] = None
    """folder of the game, with project.godot, or an exported game"""
    demos: Annotated[
        str | None, Arg("FOLDER"), Sets("training.demonstrations.folder", absolute_path)
    ] = None
    """folder of recorded play that the policies imitate first"""


class GodotCommand(RLCommand["GodotConfig", "GodotTraining"]):
    """Training of the agents of a Godot game."""

    description = "Train, resume and evaluate the agents of a Godot game."
    examples = """\
ambulo train godot --project my_game --scene res://game.tscn --preset quick
ambulo train godot --project my_game --engines 2 --seed 1 --run-name first
ambulo train godot --resume runs/first
ambulo train godot --eval runs/first/best_models/best_model.zip --episodes 50
"""
    name = "godot"
    folder = GodotRunFolder
    presets = GODOT_PRESETS
    resumable = (
        "total_timesteps", "save_freq", "eval_freq", "eval_episodes",
        "num_workers", "update_threads", "device", "output",
    )  # fmt: skip
    local_prefix = "godot_"
    private = ENGINE_PLACES
    evaluation_flags = (
        "episodes", "seed", "json", "output", "verbose", "godot_project", "scene", "demos",
    )  # fmt: skip
    progress = ("steps of agents", "successful")
    setting_flags: ClassVar[Mapping[str, str]] = {
        **{flag: key for flag, key in RL_SETTINGS.items() if flag != "--num-envs"},
        "--scene": "environment.scene",
        "--godot-url": "environment.godot_url",
        "--godot-bin": "environment.godot_bin",
        "--engines": "environment.godot_engines",
        "--action-repeat": "environment.action_repeat",
    }
    flags = GodotFlags

    def load_initial(self, name: str, args: Any) -> ModelFile[Any]:
        """Read the model of a file or a run folder."""
        return self.load(find_model(name), args)

    def prepare(self, config: GodotConfig, args: Any, *, resumed: bool) -> GodotConfig:
        """Check where the game is, and the recordings."""
        env, demos = config.environment, config.training.demonstrations
        if env.godot_project is None and env.godot_url is None:
            raise ConfigError(
                "no game: name its folder with --project, or a running one with --godot-url"
            )
        if demos.folder is not None and not resolve_path(demos.folder).exists():
            raise ConfigError(f"--demos {demos.folder}: no such folder")
        from ambulo.envs.godot.settings import BridgeSettings

        project, scene = env.godot_project, env.scene or ""  # "": its main scene
        BridgeSettings(env.godot_url, env.godot_bin, project, scene).check_project()
        if args.init_from and not resumed:  # written down, for a run that begins again
            config = config.override("training", init_from=args.init_from)
        return config

    def task(self, request: Request) -> GodotTraining:
        """Start the engines and make the learner."""
        from ambulo.common.console import announce

        args = request.args
        announce("starting the game ...", args.progress)
        from ambulo.train.godot.training import GodotTraining

        return GodotTraining(
            request.config,
            request.folder,
            command=request.shared_command,
            deterministic=args.deterministic,
            remote=args.on_cluster,
        )

    def report(self, request: Request, run: RLRun[GodotTraining]) -> None:
        """Compare with the baselines, and write and print the results."""
        from ambulo.train.godot.results import finish

        finish(request, run)


COMMAND = GodotCommand()
