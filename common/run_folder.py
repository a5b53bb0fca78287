"""The folder of one training run: paths and provenance."""

from __future__ import annotations

import json
import logging
import os
import platform
import re
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from ambulo.common.files import write_atomic
from ambulo.common.folder_lock import FolderLock
from ambulo.common.paths import resolve_path, typed_command
from ambulo.configs.errors import ModelFileError, RunFolderError
from ambulo.configs.names import RUN
from ambulo.configs.reading import read_regular_text

log = logging.getLogger(__name__)

_REPORTED_PACKAGES = (
    "gymnasium", "mujoco", "numba", "numpy", "pydantic", "stable-baselines3", "torch",
)  # fmt: skip


KEPT = 2
"""Number of checkpoints that `keep_newest` keeps: the newest, and one in case it is damaged."""


class RunFolder:
    """Paths in the folder of a run of any kind; the constructor creates nothing on disk.

    Each training command has a subclass with its checkpoints.
    """

    program = ""
    """Command that makes such runs, such as `ambulo train vr`."""
    typed: str | None = None
    """How the command of this process was typed; None: it is none that makes runs."""
    prefix = ""
    """Beginning of the names of checkpoints; empty: any."""
    kind = ""
    """Kind of model of its checkpoints (see `policies/kinds`); empty: any."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the run in the folder `path`."""
        self.path = Path(path)
        self.config = self.path / "config.json"
        self.command = self.path / "command.txt"
        self.run = self.path / "run.json"
        self.checkpoints = self.path / "checkpoints"
        self.best_model = self.path / "best_models" / "best_model.zip"
        self.final_model = self.path / "final_model.zip"
        self.logs = self.path / "logs"
        self.metrics = self.path / "metrics.csv"
        self.evaluations = self.path / "evaluations.json"
        self.scores = self.path / "scores.json"
        self.report = self.path / "report.html"
        self.listeners: list[Callable[[int, Mapping[str, float]], None]] = []
        """Called with step and numbers whenever the run logs."""
        self._lock: FolderLock | None = None
        self._made: list[Path] = []
        self._replaced: Path | None = None

    @classmethod
    def create(
        cls, output: str, name: str | None, label: str, seed: int, *, force: bool
    ) -> Self:
        """Make a new, empty run folder in `output`.

        Args:
            output: Folder of runs; `user://` is Godot's user-data folder.
            name: Its name; None makes `<label>_<seed>_<time>`.
            label: Preset or configuration name.
            seed: Seed of the run.
            force: Replace a run of the same name.
        """
        if name is not None and not RUN.allows(name):
            raise RunFolderError(f"run name {name!r} must be {RUN.expected}")
        parent = resolve_path(output)
        stamp = time.strftime("%Y%m%d-%H%M%S")
        folder = cls(parent / (name or f"{label}_{seed}_{stamp}"))
        number = 1
        while name is None and folder.path.exists():
            number += 1
            folder = cls(parent / f"{label}_{seed}_{stamp}_{number}")
        if folder.path.exists():
            folder._make_room(force)
        folder._make()
        return folder

    @classmethod
    def around(cls, checkpoint: Path) -> Self | None:
        """Return the run that contains a checkpoint, best or final model, or None."""
        folders = map(cls, checkpoint.resolve().parents[:2])
        return next((folder for folder in folders if folder.exists), None)

    @property
    def exists(self) -> bool:
        """Whether this is the folder of a run."""
        return self.run.is_file() and self.config.is_file()

    @property
    def resume_command(self) -> str:
        """The shell command that continues this run."""
        program = typed_command(self.typed or self.made_by or self.program)
        return f"{program} --resume {shlex.quote(str(self.path))}"

    @property
    def made_by(self) -> str | None:
        """The command that started this run, as it was typed, or None."""
        try:
            words = read_regular_text(self.command).split(maxsplit=3)
        except (OSError, UnicodeDecodeError):
            return None
        return " ".join(words[: 3 if words[0] == "ambulo" else 1]) if words else None

    @property
    def training(self) -> str | None:
        """The kind of training that made this run (see `configs/trainings`), or None."""
        from ambulo.configs.trainings import kind_of_command  # not for every help

        return kind_of_command(self.made_by or "")

    def record(self, step: int, row: Mapping[str, float]) -> None:
        """Pass numbers that the run logs after `step` to its listeners."""
        for listener in self.listeners:
            listener(step, row)

    def checkpoint(self, num_timesteps: int) -> Path:
        """Return the file of the checkpoint after `num_timesteps` steps."""
        return self.checkpoints / f"{self.prefix}{num_timesteps}_steps.zip"

    def newest_checkpoint(self) -> Path | None:
        """Return the newest intact checkpoint; None if there are no checkpoints.

        Damaged ones are skipped with a warning.

        Raises:
            ModelFileError: All checkpoints are damaged.
        """
        files = self._checkpoints()
        damaged: list[ModelFileError] = []
        for steps in sorted(files, reverse=True):
            try:
                self.check(files[steps])
            except ModelFileError as error:
                damaged.append(error)
                continue
            for newer in damaged:
                log.warning("%s; continuing from %s", newer, files[steps].name)
            return files[steps]
        if damaged:
            raise ModelFileError(f"{damaged[0]}; no checkpoint of this run is whole")
        return None

    def keep_newest(self, checkpoint: Path) -> None:
        """Remove all but the newest checkpoints, of which `checkpoint` is the newest."""
        files = self._checkpoints()
        for steps in sorted(files)[:-KEPT]:
            if files[steps] != checkpoint:
                files[steps].unlink(missing_ok=True)

    def _checkpoints(self) -> dict[int, Path]:
        """Return the files of checkpoints by number of steps."""
        pattern = re.compile(rf"{self.prefix or '.*_'}(\d+)_steps\.zip")
        return {
            int(match[1]): file
            for file in self.checkpoints.glob(f"{self.prefix}*.zip")
            if (match := pattern.fullmatch(file.name))
        }

    def check(self, checkpoint: Path) -> None:
        """Raise `ModelFileError` for a damaged checkpoint."""
        if self.kind:
            self.read(checkpoint)
        else:
            from ambulo.policies.files.archive import read_archive

            read_archive(checkpoint)

    @classmethod
    def read(cls, checkpoint: Path) -> Any:
        """Return the contents of a checkpoint, a `ModelFile`.

        Raises:
            ModelFileError: The file is damaged, or no checkpoint of this kind of run.
        """
        from ambulo.policies.files.model_file import load_model
        from ambulo.policies.registry import model_kinds

        return load_model(checkpoint, model_kinds()[cls.kind].header)

    def describe(self, config_json: str, arguments: Sequence[str], seed: int) -> None:
        """Write the run's provenance: `config.json`, `command.txt`, `run.json`."""
        write_atomic(self.config, config_json)
        with self.command.open("a", encoding="utf-8") as file:
            program = self.typed or self.program
            file.write(f"{program} {shlex.join(arguments)}".rstrip() + "\n")
        if not self.run.exists():
            write_atomic(self.run, json.dumps(provenance(seed), indent=2) + "\n")

    @contextmanager
    def starting(
        self, config_json: str, arguments: Sequence[str], seed: int
    ) -> Iterator[None]:
        """Write the provenance of the run in the context; remove a new folder if it fails."""
        new = not self.exists
        try:
            if new:  # first of all: a process killed from here on can be resumed
                self.describe(config_json, arguments, seed)
            yield
            if not new:
                self.describe(config_json, arguments, seed)
        except BaseException:
            self.discard()
            raise
        self.keep()

    def claim(self) -> None:
        """Reserve the folder for this process, until it ends.

        The lock is the file `.NAME.lock` beside the folder, so that the folder can be moved
        while it is held. Partial files of a killed process are removed.

        Raises:
            RunFolderError: Another training is running in the folder.
        """
        if self._lock is not None:
            return
        self._lock = FolderLock(self.path, "a training")
        if self.exists:
            self.remove_partial_files()

    def release(self) -> None:
        """Let other trainings use the folder."""
        if self._lock is None:
            return
        lock, self._lock = self._lock, None
        lock.release()

    def remove_partial_files(self) -> None:
        """Remove partial files of a killed process."""
        for folder in (self.path, self.checkpoints, self.best_model.parent):
            for file in folder.glob(".*.tmp"):
                file.unlink(missing_ok=True)

    def keep(self) -> None:
        """Keep this run: remove the run that it replaces."""
        if self._replaced is not None:
            shutil.rmtree(self._replaced, ignore_errors=True)
            self._replaced = None

    def discard(self) -> None:
        """Undo `create`: remove its files, restore a replaced run."""
        if self.path in self._made:
            shutil.rmtree(self.path, ignore_errors=True)
            self._made.remove(self.path)
        if self._replaced is not None:
            os.replace(self._replaced, self.path)
            self._replaced = None
        self.release()
        for parent in reversed(self._made):
            try:
                parent.rmdir()
            except OSError:
                break
        self._made = []

    def _make_room(self, force: bool) -> None:
        """Move an existing run out of the way, if requested and safe."""
        if self.path.exists() and not self.path.is_dir():
            raise RunFolderError(f"{self.path}: is a file, not a folder")
        if force:
            self.claim()  # before any check: another process may be moving it
        try:
            if not any(self.path.iterdir()):
                return
        except FileNotFoundError:
            return  # it was moved or removed meanwhile
        if not force:
            raise RunFolderError(
                f"{self.path}: exists already; continue it with --resume {self.path}, "
                "or replace it with --force"
            )
        if not self.exists:
            self.release()
            raise RunFolderError(
                f"{self.path}: is not the folder of a run; --force replaces only runs"
            )
        aside = self.path.with_name(f".{self.path.name}.{os.getpid()}.replaced")
        try:
            os.replace(self.path, aside)
        except OSError as error:
            self.release()
            raise RunFolderError(
                f"{self.path}: cannot be replaced: {error.strerror}"
            ) from error
        self._replaced = aside

    def _make(self) -> None:
        """Create the folder and its parents, or nothing at all."""
        missing = [p for p in (self.path, *self.path.parents) if not p.exists()]
        try:
            for folder in reversed(missing):
                if folder == self.path:
                    self.claim()
                try:
                    folder.mkdir()
                except FileExistsError:
                    if folder == self.path or not folder.is_dir():
                        raise
                    continue  # another training has just created it
                self._made.append(folder)
            self.claim()
            self.checkpoints.mkdir(exist_ok=True)
            self.best_model.parent.mkdir(exist_ok=True)
        except RunFolderError:
            self.discard()
            raise
        except OSError as error:
            self.discard()
            raise RunFolderError(
                f"{self.path}: cannot be written: {error.strerror}; "
                "choose another folder with --output"
            ) from error


def provenance(seed: int) -> dict[str, Any]:
    """Return versions, source state, platform, seed and start time of a run."""
    return {
        "ambulo": installed_version("ambulo"),
        "git": git_state(),
        "python": platform.python_version(),
        "packages": {
            name: version
            for name in _REPORTED_PACKAGES
            if (version := installed_version(name)) is not None
        },
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "seed": seed,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def installed_version(package: str) -> str | None:
    """Return the version of an installed package, or None."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def git_state() -> dict[str, Any] | None:
    """Return the commit and whether files differ from it; None outside a checkout."""
    root = Path(__file__).resolve().parents[1]
    if not (root / "src" / "ambulo").is_dir() or not (root / ".git").exists():
        return None
    commit = _git(root, "rev-parse", "HEAD")
    changes = _git(root, "status", "--porcelain")
    if changes is None:
        return None
    return {"commit": commit, "dirty": bool(changes)}


def _git(root: Path, *arguments: str) -> str | None:
    import subprocess

    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
