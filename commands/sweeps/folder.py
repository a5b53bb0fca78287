"""The folder of a sweep: its plan, its runs, their results, logs and the report."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ambulo.commands.sweeps.grid import Variant
from ambulo.commands.sweeps.kinds import Training
from ambulo.common.files import write_atomic
from ambulo.common.folder_lock import FolderLock
from ambulo.common.paths import resolve_path
from ambulo.configs.base import Config, load_json
from ambulo.configs.errors import RunFolderError


class SweepPlan(Config):
    """What a sweep runs: every variant with every seed."""

    folder: str
    """Folder of the presets of its training."""
    preset: str | None
    """Name of the preset."""
    arguments: tuple[str, ...]
    """Further flags of every run."""
    seeds: tuple[int, ...]
    """Seeds of each variant."""
    variants: tuple[Variant, ...]
    """Combinations of settings."""
    settings: dict[str, dict[str, Any]]
    """All settings of each variant, by its folder."""

    @property
    def training(self) -> Training:
        """The training of all runs."""
        return Training(self.folder, self.preset)


@dataclass(frozen=True)
class PlannedRun:
    """One run of a sweep."""

    name: str
    """Name of its folder."""
    variant: Variant
    """Its settings."""
    seed: int
    """Its seed."""


class SweepFolder:
    """Paths in the folder of a sweep."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the sweep in `path`; nothing is made on disk."""
        self.path = resolve_path(path)
        self.plan_file = self.path / "sweep.json"
        self.results = self.path / "results"
        self.logs = self.path / "logs"
        self.report = self.path / "report.json"
        self.picture = self.path / "report.png"

    @property
    def exists(self) -> bool:
        """Whether this is the folder of a sweep."""
        return self.plan_file.is_file()

    def plan(self) -> SweepPlan:
        """Return what the sweep runs."""
        return load_json(SweepPlan, self.plan_file)

    def runs(self, plan: SweepPlan) -> list[PlannedRun]:
        """Return all runs: the first seed of every variant, then the next."""
        return [
            PlannedRun(f"{variant.folder}_seed{seed}", variant, seed)
            for seed in plan.seeds
            for variant in plan.variants
        ]

    def run(self, planned: PlannedRun) -> Path:
        """Return the run folder."""
        return self.path / planned.name

    def result(self, planned: PlannedRun) -> Path:
        """Return the file that a run writes last; it exists if the run is finished."""
        return self.results / f"{planned.name}.json"

    def log(self, planned: PlannedRun) -> Path:
        """Return what the run printed."""
        return self.logs / f"{planned.name}.log"

    @contextmanager
    def claimed(self, plan: SweepPlan) -> Iterator[SweepPlan]:
        """Reserve the folder for this process; write `plan`, or extend the one in it.

        Raises:
            RunFolderError: another sweep runs in it, or it holds something else.
        """
        made = not self.path.exists()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunFolderError(
                f"{self.path}: cannot be written: {error.strerror}"
            ) from error
        lock = FolderLock(self.path, "a sweep")
        try:
            merged = self._merged(plan)
            write_atomic(self.plan_file, merged.to_json())
            self.results.mkdir(exist_ok=True)
            self.logs.mkdir(exist_ok=True)
            yield merged
        finally:
            if made and not _begun(self.logs):
                shutil.rmtree(self.path, ignore_errors=True)
            lock.release()

    def _merged(self, plan: SweepPlan) -> SweepPlan:
        """Return `plan` with the seeds and variants that the folder has already."""
        if not self.exists:
            if any(self.path.iterdir()):
                raise RunFolderError(
                    f"{self.path}: is not the folder of a sweep; choose another --name"
                )
            return plan
        old = self.plan()
        same = (old.folder, old.preset, old.arguments)
        shared = old.settings.keys() & plan.settings.keys()
        changed = [name for name in shared if old.settings[name] != plan.settings[name]]
        if same != (plan.folder, plan.preset, plan.arguments) or changed:
            raise RunFolderError(
                f"{self.path}: holds a sweep of other settings; choose another --name"
            )
        seeds = tuple(dict.fromkeys([*old.seeds, *plan.seeds]))
        known = list(old.settings.values())  # maybe under another name
        added = [v for v in plan.variants if plan.settings[v.folder] not in known]
        settings = {v.folder: plan.settings[v.folder] for v in added}
        return plan.replace(
            seeds=seeds,
            variants=[v.model_dump() for v in (*old.variants, *added)],
            settings={**old.settings, **settings},
        )


def _begun(logs: Path) -> bool:
    """Return whether any run has begun."""
    return logs.is_dir() and any(logs.iterdir())
