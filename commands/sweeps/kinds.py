"""The trainings that sweeps and searches start, by the names that users write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ambulo.common.command_line import arguments_of
from ambulo.common.run_folder import RunFolder
from ambulo.configs.errors import ConfigError, RunFolderError, nearest
from ambulo.configs.presets import preset_folders
from ambulo.configs.trainings import TrainingKind, load_kind

OWN = (
    "--seed", "--output", "--run-name", "--resume", "--eval", "--save-config",
    "--print-config", "--fresh", "--preset", "--workers", "--schedule",
)  # fmt: skip
"""Flags of trainings that runs of a sweep cannot have: it sets or replaces them."""


@dataclass(frozen=True)
class Training:
    """A kind of training, and the preset of it if one is named."""

    folder: str
    """Folder of its presets, and of its module in `train/`."""
    preset: str | None = None
    """Name of the preset; None: the defaults, or the file of `--config`."""

    @property
    def word(self) -> str:
        """Its name in `ambulo train WORD`."""
        return self.kind.word

    @property
    def command(self) -> Any:
        """Its `RunCommand`."""
        return import_module(self.kind.commands[self.word].module).COMMAND

    @property
    def kind(self) -> TrainingKind:
        """How its runs are compared."""
        return load_kind(self.folder)

    def arguments(self, forwarded: Sequence[str]) -> list[str]:
        """Return the flags of a new run: the preset and what the user added."""
        preset = [] if self.preset is None else ["--preset", self.preset]
        return [*preset, *forwarded]

    def resumed(self, forwarded: Sequence[str]) -> list[str]:
        """Return the flags that a run may have again when it is resumed."""
        command = self.command
        names = {*command.kept_on_resume, "init_from"}
        dropped = {
            spelling
            for argument in arguments_of(command.flag_class)
            for spelling in argument.spellings
            if argument.name in names
        }
        selected: list[str] = []
        skipping = False
        for argument in forwarded:
            if argument.startswith("--"):
                skipping = argument.partition("=")[0] in dropped
            if not skipping:
                selected.append(argument)
        return selected

    def settings(self, arguments: Sequence[str]) -> Any:
        """Return the settings of a run with the flags `arguments`, checked.

        Raises:
            ConfigError: a flag, a setting or the data is wrong.
        """
        command = self.command
        args = command.parse(arguments)
        data = command.data
        config = command.settings(args)
        if data is not None and not config.model_dump()["data"]:
            raise ConfigError(command.no_data())
        return config


def find_training(names: Sequence[str], program: str) -> Training:
    """Return the training that `KIND PRESET`, `KIND/PRESET`, `KIND` or `PRESET` names.

    Raises:
        ConfigError: nothing or several trainings have that name.
    """
    folders = preset_folders()
    kinds = {load_kind(name).word: name for name in folders} | {n: n for n in folders}
    parts = [part for name in names for part in name.split("/")]
    if not parts:
        raise ConfigError(
            f"name a training, before its flags: {program} KIND PRESET [FLAG ...]; KIND is "
            f"one of {', '.join(sorted(kinds))}"
        )
    if parts[0] not in kinds and len(parts) == 1:
        return _by_preset(parts[0], folders, program)
    if parts[0] not in kinds:
        raise ConfigError(
            f"unknown kind of training {parts[0]!r}{nearest(parts[0], kinds)}"
        )
    if len(parts) > 2:
        raise ConfigError(f"one training at a time, not {' '.join(names)}")
    training = Training(kinds[parts[0]], *parts[1:])
    presets = folders[training.folder]
    if training.preset is not None and training.preset not in presets:
        hint = nearest(training.preset, presets)
        raise ConfigError(
            f"unknown preset {training.preset!r} of {training.word}{hint}"
        )
    return training


def check_forwarded(forwarded: Iterable[str], program: str) -> None:
    """Refuse flags that the runs of a sweep or of a search cannot have.

    Raises:
        ConfigError: there is one.
    """
    for argument in forwarded:
        name = argument.partition("=")[0].replace("_", "-")
        if name in OWN:
            raise ConfigError(f"{name} is no flag of {program}; see {program} --help")


def training_of(run: Path) -> Training:
    """Return the kind of training that made the run folder `run`.

    Raises:
        RunFolderError: it is no run folder.
    """
    folder = RunFolder(run).training
    if folder is None:
        raise RunFolderError(f"{run}: not a run folder: no command.txt of a training")
    return Training(folder)


def _by_preset(name: str, folders: Any, program: str) -> Training:
    """Return the only training with a preset of that name."""
    owners = [folder for folder, presets in folders.items() if name in presets]
    if len(owners) == 1:
        return Training(owners[0], name)
    if owners:
        words = [load_kind(owner).word for owner in owners]
        raise ConfigError(
            f"{name} is a preset of {', '.join(words)}: write {program} {words[-1]} {name}"
        )
    every = sorted({preset for presets in folders.values() for preset in presets})
    raise ConfigError(f"unknown preset {name!r}{nearest(name, every)}")
