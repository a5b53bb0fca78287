"""Parts of all commands of reinforcement learning: budgets, evaluation, initial policy."""

from __future__ import annotations

import argparse
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from ambulo.common.console import announce
from ambulo.common.paths import resolve_path
from ambulo.common.setting_flags import Settings
from ambulo.configs.errors import ConfigError
from ambulo.train.shared.flags import Flag, text
from ambulo.train.shared.resume import Folder, ResumePoint
from ambulo.train.shared.run_command import RunCommand
from ambulo.train.shared.run_request import RunRequest

if TYPE_CHECKING:
    from typing import Any

    from ambulo.policies.files.model_file import ModelFile
    from ambulo.train.shared.rl_run import RLRun
    from ambulo.train.shared.rl_task import RLTask

Model = TypeVar("Model", bound="ModelFile[Any]")
Task = TypeVar("Task", bound="RLTask[Any]")
EVALUATION_FLAGS: Sequence[Flag] = (
    Flag(
        "--deterministic",
        "evaluate with the mean action (default)",
        {"action": "store_true", "dest": "deterministic", "default": True},
    ),
    Flag(
        "--stochastic",
        "evaluate with sampled actions",
        {"action": "store_false", "dest": "deterministic"},
    ),
)
"""How the final evaluation is done."""
ENGINE_FLAGS: Sequence[Flag] = (
    Flag(
        "--engine",
        "who has the environments: this process (local, the default) or workers of a "
        "cluster (ray)",
        {"choices": ["local", "ray"], "default": "local"},
    ),
    Flag(
        "--workers",
        "workers of --engine ray (default: as many as the cluster has CPUs)",
        {"metavar": "N", "type": int},
    ),
    text(
        "--address",
        "head node of the cluster (default: RAY_ADDRESS, else this machine)",
        "HOST:PORT",
    ),
    Flag(
        "--schedule",
        argparse.SUPPRESS,  # the only one; earlier versions had another
        {"choices": ["gradients"]},
    ),
)
"""Where the environments are."""
RL_SETTINGS = {
    "--timesteps": "training.total_timesteps",
    "--num-envs": "environment.num_environments",
    "--save-freq": "training.save_freq",
    "--eval-freq": "training.eval_freq",
    "--eval-episodes": "training.eval_episodes",
}
"""Key of the settings for flags of every command of reinforcement learning."""


class RLCommand(
    RunCommand[Settings, Model, Folder, "RLRun[Task]"],
    Generic[Settings, Model, Folder, Task],
):
    """A command of reinforcement learning."""

    name: ClassVar[str]
    """Beginning of the names of runs with neither preset nor settings file."""
    initial = text("--init-from", "begin with the policy of another model", "MODEL")
    flags = (*EVALUATION_FLAGS, *ENGINE_FLAGS)
    can_fork = True

    @abstractmethod
    def task(self, request: RunRequest[Settings, Model, Folder]) -> Task:
        """Make environments and learner."""

    def build(self, request: RunRequest[Settings, Model, Folder]) -> RLRun[Task]:
        """Make the run, ready to begin."""
        from ambulo.train.shared.rl_run import RLRun

        task, args = self.task(request), request.args
        host, workers = None, task.budget.num_workers
        if args.engine == "ray":
            from ambulo.train.shared.fleet import started

            count = args.workers or (workers if workers > 1 else None)
            host = started(task, count, args.address)
        elif workers > 1:
            announce(
                f"training.num_workers = {workers}: workers need --engine ray; this "
                "process steps all environments",
                args.progress,
            )
        given = (request.folder, request.checkpoint, request.initial)
        return RLRun(task, *given, host)

    def close(self, run: RLRun[Task]) -> None:
        """Free the environments."""
        run.close()

    def label(self, config: Settings, args: argparse.Namespace) -> str:
        """Return the name of the preset or of the settings file."""
        if args.preset:
            return str(args.preset)
        if args.config:
            return resolve_path(args.config).stem or "custom"
        return self.name

    def adjust(self, config: Settings, args: argparse.Namespace) -> Settings:
        """Check flags that need another one."""
        for flag in ("workers", "address", "schedule"):
            if args.engine == "local" and getattr(args, flag) is not None:
                raise ConfigError(f"--{flag} needs --engine ray")
        if args.workers is not None and args.workers < 1:
            raise ConfigError(f"--workers {args.workers}: must be at least 1")
        return config

    def evaluation_arguments(self, args: argparse.Namespace) -> list[str]:
        """Return the arguments of `ambulo eval`, with the kind of actions."""
        passed = super().evaluation_arguments(args)
        return passed if args.deterministic else [*passed, "--stochastic"]

    def check_resumed(
        self, point: ResumePoint[Settings, Model, Folder], config: Settings
    ) -> None:
        """As every run; before the first checkpoint all settings may change."""
        if point.model is not None:
            super().check_resumed(point, config)
