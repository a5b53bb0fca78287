"""The folder of a sweep or a search: plan, data base, runs, logs and report."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from ambulo.commands.sweeps.grid import Variant
from ambulo.commands.sweeps.kinds import Training
from ambulo.common.files import write_atomic
from ambulo.common.folder_lock import FolderLock
from ambulo.common.paths import resolve_path
from ambulo.configs.base import Config, load_json
from ambulo.configs.errors import RunFolderError


class StudyPlan(Config):
    """Plan of the runs of one training in a folder."""

    noun: ClassVar[str]
    """Its name in messages."""
    file: ClassVar[str]
    """Name of the file with the plan."""

    folder: str
    """Folder of the presets of its training."""
    preset: str | None
    """Name of the preset."""
    arguments: tuple[str, ...]
    """Further flags of every run."""

    @property
    def training(self) -> Training:
        """The training of all runs."""
        return Training(self.folder, self.preset)

    def extending(self, old: Self) -> Self | None:
        """Return this plan with the runs of `old`; None: they do not go together."""
        return self if self == old else None


class TuningPlan(StudyPlan):
    """Plan of a search: score and range of each setting."""

    noun = "search"
    file = "tune.json"

    score: str
    """Score that is improved."""
    search: dict[str, str]
    """Range of each setting."""


@dataclass(frozen=True)
class PlannedRun:
    """One run of a sweep."""

    name: str
    """Name of its folder."""
    variant: Variant
    """Its settings."""
    seed: int
    """Its seed."""


class SweepPlan(StudyPlan):
    """Plan of a sweep: every variant with every seed."""

    noun = "sweep"
    file = "sweep.json"

    seeds: tuple[int, ...]
    """Seeds of each variant."""
    variants: tuple[Variant, ...]
    """Combinations of settings."""
    settings: dict[str, dict[str, Any]]
    """All settings of each variant, by its folder."""

    def runs(self) -> list[PlannedRun]:
        """Return all runs: the first seed of every variant, then the next."""
        return [
            PlannedRun(f"{variant.folder}_seed{seed}", variant, seed)
            for seed in self.seeds
            for variant in self.variants
        ]

    def extending(self, old: Self) -> Self | None:
        """Return this plan with the seeds and variants of `old`; see the base class."""
        same = (old.folder, old.preset, old.arguments)
        shared = old.settings.keys() & self.settings.keys()
        changed = [name for name in shared if old.settings[name] != self.settings[name]]
        if same != (self.folder, self.preset, self.arguments) or changed:
            return None
        seeds = tuple(dict.fromkeys([*old.seeds, *self.seeds]))
        known = list(old.settings.values())  # maybe under another name
        added = [v for v in self.variants if self.settings[v.folder] not in known]
        settings = {v.folder: self.settings[v.folder] for v in added}
        return self.replace(
            seeds=seeds,
            variants=[v.model_dump() for v in (*old.variants, *added)],
            settings={**old.settings, **settings},
        )


Plan = TypeVar("Plan", bound=StudyPlan)


class StudyFolder(Generic[Plan]):
    """Paths in the folder of a sweep or a search."""

    def __init__(self, path: str | os.PathLike[str], kind: type[Plan]) -> None:
        """Open the folder `path` with a plan of class `kind`; nothing is made on disk."""
        self._kind = kind
        self.path = resolve_path(path).absolute()
        self.plan_file = self.path / kind.file
        self.database = self.path / "study.db"
        self.logs = self.path / "logs"
        self.best = self.path / "best.json"
        self.report = self.path / "report.json"
        self.picture = self.path / "report.png"

    @property
    def exists(self) -> bool:
        """Whether the folder has such a plan."""
        return self.plan_file.is_file()

    def plan(self) -> Plan:
        """Return its plan."""
        return load_json(self._kind, self.plan_file)

    def run(self, name: str) -> Path:
        """Return a run folder."""
        return self.path / name

    def log(self, name: str) -> Path:
        """Return what a run printed."""
        return self.logs / f"{name}.log"

    @cached_property
    def identity(self) -> str:
        """Random name of this folder, to distinguish it from others of the same study."""
        file = self.path / "identity"
        if not file.exists():
            write_atomic(file, uuid.uuid4().hex + "\n")
        return file.read_text("utf-8").strip()

    @contextmanager
    def claimed(self, plan: Plan) -> Iterator[Plan]:
        """Reserve the folder for this process; write `plan`, or extend the one in it.

        A folder that is made here is removed if no run begins.

        Raises:
            RunFolderError: another process works in it, or it holds something else.
        """
        made = not self.path.exists()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunFolderError(
                f"{self.path}: cannot be written: {error.strerror}"
            ) from error
        lock = FolderLock(self.path, f"a {plan.noun}")
        try:
            merged = self._merged(plan)
            write_atomic(self.plan_file, merged.to_json())
            self.logs.mkdir(exist_ok=True)
            yield merged
        finally:
            if made and not (self.logs.is_dir() and any(self.logs.iterdir())):
                shutil.rmtree(self.path, ignore_errors=True)
            lock.release()

    def _merged(self, plan: Plan) -> Plan:
        """Return `plan` with the runs that the folder has already."""
        if not self.exists:
            if any(self.path.iterdir()):
                raise RunFolderError(
                    f"{self.path}: is not the folder of a {plan.noun}; choose another "
                    "--name"
                )
            return plan
        merged = plan.extending(self.plan())
        if merged is None:
            raise RunFolderError(
                f"{self.path}: holds a {plan.noun} of other settings; choose another "
                "--name"
            )
        return merged
