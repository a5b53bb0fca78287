"""The command line of a training: flags, settings, resume, errors and interrupts.

Each training command is one subclass of `RunCommand`. Its attributes say which settings
and flags it has; its methods load a checkpoint, build the run and report its results.
"""

from __future__ import annotations

import shlex
import sys
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from ambulo.common.command_line import Argument, CommandLine, arguments_of
from ambulo.common.errors import Parser, cli_entry_point
from ambulo.common.files import check_parent, write_atomic
from ambulo.common.paths import installed_program, resolve_path
from ambulo.common.run_folder import RunFolder
from ambulo.common.setting_flags import Settings, parse_override, with_changes
from ambulo.common.signals import Interrupted, StopRequest
from ambulo.configs.errors import ConfigError, RunFolderError
from ambulo.configs.presets import PresetFolder
from ambulo.train.shared.command_text import evaluation_arguments, shareable_arguments
from ambulo.train.shared.experiment_log import check_service, logging_to
from ambulo.train.shared.flags import (
    COMMON_SETTINGS,
    ContinuingFlags,
    RunFlags,
    with_setting_flags,
)
from ambulo.train.shared.resume import (
    ResumePoint,
    check_resumable,
    find_resume_point,
    unfinished_run,
)
from ambulo.train.shared.run_request import BuiltRun, RunRequest
from ambulo.train.shared.watching import check_watch, watched

if TYPE_CHECKING:
    from ambulo.configs.base import Config
    from ambulo.policies.files.model_file import ModelFile


class RunCommand(ABC, Generic[Settings, BuiltRun]):
    """A training command: its flags and settings, and how its run is made."""

    description: ClassVar[str]
    """Purpose, for `--help`."""
    examples: ClassVar[str]
    """Command lines for `--help`."""
    folder: type[RunFolder]
    """Class of its run folders, which names the command."""
    typed: str | None = None
    """The command, where its run folders name another one, or its script was started."""
    presets: PresetFolder[Settings]
    """Its presets, with the class of its settings."""
    setting_flags: ClassVar[Mapping[str, str]] = {}
    """Its own flags for settings: dotted keys by flag; several are split by spaces."""
    flags: ClassVar[type[RunFlags]] = RunFlags
    """Its other flags; `init_from` is the model whose weights a new training begins with."""
    data: ClassVar[str | None] = None
    """Field of the flag for the setting `data`: files or folders that a training needs."""
    progress: ClassVar[tuple[Any, ...]] = ()
    """Arguments of `Words` for the progress display."""
    can_fork: ClassVar[bool] = False
    """Whether `--resume` with `--run-name` continues in a folder of that name."""
    kept_on_resume: ClassVar[Sequence[str]] = ("preset", "config")
    """Fields of flags that a resumed run refuses: it continues with its own values."""
    resumable: ClassVar[Sequence[str]] = ()
    """Settings of the group `training` that may change when a run is resumed."""
    local_prefix: ClassVar[str | None] = None
    """Prefix of settings that depend on the machine and may change too."""
    private: ClassVar[Sequence[str]] = ()
    """Settings of `environment` that never get into model files."""
    evaluation_flags: ClassVar[Sequence[str]] = (
        "episodes",
        "json",
        "output",
        "verbose",
    )
    """Flags that `--eval` passes on to `ambulo eval`."""

    def load(self, file: Path, args: Any) -> ModelFile[Any]:
        """Read a checkpoint."""
        model: ModelFile[Any] = self.folder.read(file)
        return model

    @abstractmethod
    def label(self, config: Settings, args: Any) -> str:
        """Return how the names of new run folders begin."""

    @abstractmethod
    def build(self, request: RunRequest[Settings]) -> BuiltRun:
        """Make the run, ready to begin."""

    @abstractmethod
    def report(self, request: RunRequest[Settings], run: BuiltRun) -> None:
        """Write and print the results of a finished run."""

    def close(self, run: BuiltRun) -> None:
        """Free what the run holds."""

    def adjust(self, config: Settings, args: Any) -> Settings:
        """Return `config` changed by flags that no single setting stands for."""
        return config

    def check_names(self, config: Settings) -> None:
        """Refuse names in the settings that nothing has, such as of bodies and levels.

        Raises:
            ConfigError: A setting with the name of nothing; it says which.
        """

    def prepare(self, config: Settings, args: Any, *, resumed: bool) -> Settings:
        """Check and complete the settings before slow work begins."""
        return config

    def load_initial(self, name: str, args: Any) -> ModelFile[Any]:
        """Read the model file that the flag `initial` names, or a run's newest checkpoint."""
        path = resolve_path(name)
        if not path.is_dir():
            return self.load(path, args)
        model = self.find(name, args).model
        if model is None:
            raise RunFolderError(f"{path}: no checkpoint yet")
        return model

    def find(self, target: str, args: Any) -> ResumePoint[Settings]:
        """Return where `--resume` continues."""
        return find_resume_point(
            target, self.folder, self.presets.config, lambda file: self.load(file, args)
        )

    def check_resumed(self, point: ResumePoint[Settings], config: Settings) -> None:
        """Raise `ConfigError` if `config` makes another run of a resumed one."""
        check_resumable(point.config, config, self.resumable, self.local_prefix)

    def evaluation_arguments(self, args: Any) -> list[str]:
        """Return the arguments of `ambulo eval` for `--eval`."""
        return evaluation_arguments(args, self.evaluation_flags)

    def main(self, argv: Sequence[str] | None = None) -> int:
        """Run the command with the flags `argv` (None: those of this process).

        Returns:
            The exit code; see `cli_entry_point`.
        """
        script = Path(sys.argv[0]).stem
        if argv is None and installed_program(script):
            self.typed = script
        return cli_entry_point(lambda words: self._run(list(words or ())))(argv)

    @property
    def program(self) -> str:
        """The command as it was typed: `ambulo train WORD`, or its script."""
        return self.typed or self.folder.program

    def _run(self, argv: Sequence[str]) -> int:
        """Train, evaluate, or show settings, as the flags say; return the exit code."""
        args = self.parse(argv)
        args.set_up_logging()
        if args.eval:
            from ambulo.evaluate.command import main as evaluate

            return evaluate(self.evaluation_arguments(args))
        if args.resume:
            return self._resume(args, argv, args.resume)
        config = self.settings(args)
        if args.print_config or args.save_config:
            return show_config(args, config)
        values = config.model_dump()
        if self.data is not None and not values["data"]:
            raise ConfigError(self.no_data())
        if isinstance(args, ContinuingFlags) and not (
            args.fresh or args.force or self._initial(args)
        ):
            output = values["training"]["output"]
            unfinished = unfinished_run(self.folder, config, output, args.run_name)
            if unfinished is not None:
                path = str(unfinished.path)
                print(f"continuing {path}; --fresh starts a new run", file=sys.stderr)
                return self._resume(args, argv, path)
        return self._train(args, argv, config, None, None)

    def parse(self, argv: Sequence[str]) -> Any:
        """Return the flags, which go with each other.

        Raises:
            ConfigError: Flags that exclude each other, or missing data.
        """
        args = self._line().parse(argv)
        args.changes()  # a task in a file is known before settings name it
        if args.resume:
            if any(getattr(args, name) for name in self.kept_on_resume):
                raise ConfigError(
                    "--resume continues with the run's own settings: no "
                    + _alternatives([self._spelled(n) for n in self.kept_on_resume])
                )
            if self._initial(args):
                raise ConfigError(
                    f"--resume and {self._spelled('init_from')} exclude each other"
                )
            if args.eval:
                raise ConfigError("--eval and --resume exclude each other")
        shown = args.print_config or args.save_config
        named = args.resume or args.eval or args.config or shown
        if self.data is not None and not (named or getattr(args, self.data)):
            flag = self.argument(self.data)
            words = f"{flag.spellings[0]} {flag.arg.metavar}"
            raise ConfigError(f"missing {words}: {flag.help}")
        return args

    def no_data(self) -> str:
        """Return the error of a run without data."""
        flag = self.argument(self.data or "")
        return f"no data: name {flag.help} with {flag.spellings[0]}"

    def _spelled(self, name: str) -> str:
        return self.argument(name).spellings[0]

    def settings(self, args: Any, config: Settings | None = None) -> Settings:
        """Return the settings that the flags ask for, with names that there are.

        Args:
            args: all flags.
            config: settings of a resumed run; None: those of preset and file.
        """
        if config is None:
            config = args.base_of(self.presets)
            data = getattr(args, self.data) if self.data else None
            if isinstance(data, str):
                config = config.replace(data=str(resolve_path(data)))
            elif data:
                config = config.replace(data=[str(resolve_path(path)) for path in data])
        changes = [parse_override(override) for override in args.overrides]
        changes += args.changes()
        config = self.adjust(with_changes(config, changes), args)
        self.check_names(config)
        return config

    def resumed_folder(
        self, args: Any, point: ResumePoint[Settings]
    ) -> RunFolder | None:
        """Return the run folder of a resumed run.

        None: `--run-name` asks for a new folder, or the checkpoint lies in no run folder.
        """
        folder = point.folder
        if folder is None or (args.run_name and self.can_fork):
            return None
        if point.model is None:
            print("no checkpoint yet: starting from the beginning", file=sys.stderr)
        return folder

    def _resume(self, args: Any, argv: Sequence[str], target: str) -> int:
        """Continue a run in its folder, or in a new one where `--run-name` forks it."""
        point = self.find(target, args)
        config = self.settings(args, point.config)
        self.check_resumed(point, config)
        if args.print_config or args.save_config:
            return show_config(args, config)
        folder = self.resumed_folder(args, point)
        return self._train(args, argv, config, folder, point.model)

    def _train(
        self,
        args: Any,
        argv: Sequence[str],
        config: Settings,
        folder: RunFolder | None,
        model: ModelFile[Any] | None,
    ) -> int:
        """Train in `folder` (None: a new one) from `model` (None: from the beginning)."""
        check_parent(args.json)
        check_service(args.log_to)
        check_watch(args.watch)
        config = self.prepare(config, args, resumed=model is not None)
        name = self._initial(args) or _training(config).get("init_from")
        initial = self.load_initial(name, args) if name and model is None else None
        words = shareable_arguments(argv, self.private)
        shared = f"{self.program} {shlex.join(words)}".rstrip()
        with self._claimed(args, config, folder) as owned:
            request = RunRequest(args, argv, config, owned, model, initial, shared)
            try:
                run = self._fit(request)
            except Interrupted as interrupted:
                return report_interrupt(interrupted, owned)
            self.report(request, run)
        return 0

    def _fit(self, request: RunRequest[Settings]) -> BuiltRun:
        """Build the run, train it and log how it ends; return the finished run.

        Raises:
            Interrupted: A signal stopped it at a checkpoint.
        """
        from ambulo.common.console import Words, announce, make_display

        args, config, folder = request.args, request.config, request.folder
        seed = _training(config)["seed"]
        with StopRequest() as stop, ExitStack() as logs:
            with folder.starting(config.to_json(), request.arguments, seed):
                service = logging_to(args.log_to, args.log_project, folder, config)
                logs.enter_context(service)
                run = self.build(request)
            announce(f"results go to {folder.path}", args.progress)
            try:
                words = Words(*self.progress)
                display = make_display(run.total_steps, args.progress, words)
                with watched(folder, args.watch):
                    run.train(display, stop)
            finally:
                self.close(run)
        return run

    @contextmanager
    def _claimed(
        self, args: Any, config: Settings, folder: RunFolder | None
    ) -> Iterator[RunFolder]:
        """Reserve a folder for this process: the given one, or a new one."""
        if folder is None:
            training = _training(config)
            label, force = self.label(config, args), bool(args.force)
            folder = self.folder.create(
                training["output"], args.run_name, label, training["seed"], force=force
            )
        else:
            folder.claim()
        folder.typed = self.program
        try:
            yield folder
        finally:
            folder.release()

    @cached_property
    def flag_class(self) -> type[RunFlags]:
        """Class of all its flags, with those that set settings."""
        keys = {**COMMON_SETTINGS, **self.setting_flags}
        return with_setting_flags(self.flags, self.presets, keys)

    def argument(self, name: str) -> Argument:
        """Return the flag whose field is `name`."""
        return next(a for a in arguments_of(self.flag_class) if a.name == name)

    def parser(self) -> Parser:
        """Return the parser of all flags."""
        return self._line().parser()

    def _line(self) -> CommandLine[RunFlags]:
        examples = f"examples:\n{textwrap.indent(self.examples.strip(), '  ')}\n"
        return CommandLine(self.program, self.flag_class, examples, self.description)

    def _initial(self, flags: RunFlags) -> str | None:
        """Return the model whose weights the run begins with."""
        name: str | None = getattr(flags, "init_from", None)
        return name


def show_config(args: Any, config: Config) -> int:
    """Print the settings or write them to a file, as asked."""
    if args.print_config:
        print(config.to_json(), end="")
    if args.save_config:
        check_parent(args.save_config)
        path = resolve_path(args.save_config)
        write_atomic(path, config.to_json())
        print(f"settings written to {path}", file=sys.stderr)
    return 0


def report_interrupt(interrupted: Interrupted, folder: RunFolder) -> int:
    """Print how the run in `folder` is continued; return the exit code."""
    print(
        f"ambulo: {interrupted}; saved. Continue with:\n  {folder.resume_command}",
        file=sys.stderr,
    )
    return interrupted.exit_code


def _alternatives(names: Sequence[str]) -> str:
    """Return `a/b` for two names, and `a, b or c` for more."""
    if len(names) == 2:
        return "/".join(names)
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _training(config: Config) -> dict[str, Any]:
    """Return the group `training` of any configuration."""
    values: dict[str, Any] = config.model_dump()["training"]
    return values
