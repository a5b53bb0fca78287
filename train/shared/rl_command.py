"""Parts of all commands of reinforcement learning: budgets, evaluation, initial policy."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from ambulo.common.paths import resolve_path
from ambulo.common.setting_flags import Settings
from ambulo.configs.errors import ConfigError
from ambulo.train.shared.flags import ActingFlags
from ambulo.train.shared.resume import ResumePoint
from ambulo.train.shared.run_command import RunCommand
from ambulo.train.shared.run_request import RunRequest

if TYPE_CHECKING:
    from ambulo.train.shared.rl_run import RLRun
    from ambulo.train.shared.rl_task import RLTask

Task = TypeVar("Task", bound="RLTask[Any]")


RL_SETTINGS = {
    "--timesteps": "training.total_timesteps",
    "--num-envs": "environment.num_environments",
    "--save-freq": "training.save_freq",
    "--eval-freq": "training.eval_freq",
    "--eval-episodes": "training.eval_episodes",
}
"""Key of the settings for flags of every command of reinforcement learning."""


class RLCommand(
    RunCommand[Settings, "RLRun[Task]"],
    Generic[Settings, Task],
):
    """A command of reinforcement learning."""

    name: ClassVar[str]
    """Beginning of the names of runs with neither preset nor settings file."""
    flags = ActingFlags
    can_fork = True

    @abstractmethod
    def task(self, request: RunRequest[Settings]) -> Task:
        """Make environments and learner."""

    def build(self, request: RunRequest[Settings]) -> RLRun[Task]:
        """Make the run, ready to begin."""
        from ambulo.train.shared.rl_run import RLRun

        task, args = self.task(request), request.args
        host, workers = None, task.budget.num_workers
        if args.on_cluster:
            from ambulo.train.shared.fleet import started

            count = args.workers or (workers if workers > 1 else None)
            host = started(task, count, args.address)
        elif workers > 1:
            from ambulo.common.console import announce

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

    def label(self, config: Settings, args: Any) -> str:
        """Return the name of the preset or of the settings file."""
        if args.preset:
            return str(args.preset)
        if args.config:
            return resolve_path(args.config).stem or "custom"
        return self.name

    def adjust(self, config: Settings, args: Any) -> Settings:
        """Check flags that need another one."""
        for flag in ("workers", "schedule"):
            if not args.on_cluster and getattr(args, flag) is not None:
                raise ConfigError(f"--{flag} needs --engine ray")
        return config

    def evaluation_arguments(self, args: Any) -> list[str]:
        """Return the arguments of `ambulo eval`, with the kind of actions."""
        passed = super().evaluation_arguments(args)
        return passed if args.deterministic else [*passed, "--stochastic"]

    def check_resumed(self, point: ResumePoint[Settings], config: Settings) -> None:
        """As every run; before the first checkpoint all settings may change."""
        if point.model is not None:
            super().check_resumed(point, config)
