"""A study: the data base of its trials, and the folder of the runs of this process."""

from __future__ import annotations

import logging
import shutil
import time
import uuid
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.pruners import BasePruner, MedianPruner, NopPruner
from optuna.samplers import TPESampler
from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback
from optuna.trial import FrozenTrial, Trial, TrialState
from sqlalchemy.exc import IntegrityError, OperationalError, SQLAlchemyError

from ambulo.commands.sweeps.kinds import Training
from ambulo.common.files import write_atomic
from ambulo.common.folder_lock import FolderLock
from ambulo.common.paths import resolve_path
from ambulo.configs.base import Config, load_json
from ambulo.configs.errors import ConfigError, RunFolderError
from ambulo.train.shared.cluster import ClusterError

HEARTBEAT = 60
"""Time between signs of life of a running trial, [s]."""
GRACE = 4 * HEARTBEAT
"""Without one for this long, another process repeats the trial, [s]."""
STARTUP = 5
"""Finished trials before any is pruned."""
ATTEMPTS = 20
"""How often a data base is opened that another process is just making."""
PAUSE = 0.5
"""Time between attempts, [s]."""
OWNER = "owner"
"""Attribute of a trial: identity of the folder with its run."""


class TuningPlan(Config):
    """What a study searches."""

    folder: str
    """Folder of the presets of its training."""
    preset: str | None
    """Name of the preset."""
    arguments: tuple[str, ...]
    """Further flags of every run."""
    score: str
    """Score that is improved."""
    search: dict[str, str]
    """Range of each setting."""

    @property
    def training(self) -> Training:
        """The training of all trials."""
        return Training(self.folder, self.preset)


class TuningFolder:
    """The folder of one process of a study: plan, data base, runs, logs, results."""

    def __init__(self, path: str) -> None:
        """Open the folder `path`; nothing is made on disk."""
        self.path = resolve_path(path).absolute()
        self.plan_file = self.path / "tune.json"
        self.identity_file = self.path / "identity"
        self.database = self.path / "study.db"
        self.logs = self.path / "logs"
        self.best = self.path / "best.json"
        self.report = self.path / "report.json"

    @property
    def identity(self) -> str:
        """What tells this folder from others of the same study."""
        return self.identity_file.read_text("utf-8").strip()

    def run(self, number: int) -> Path:
        """Return the run folder of a trial."""
        return self.path / f"trial_{number:04d}"

    def log(self, number: int) -> Path:
        """Return what a trial printed."""
        return self.logs / f"trial_{number:04d}.log"

    @contextmanager
    def claimed(self, plan: TuningPlan) -> Iterator[None]:
        """Reserve the folder for this process and write `plan` to it.

        Raises:
            RunFolderError: another search runs in it, or it holds something else.
        """
        made = not self.path.exists()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunFolderError(
                f"{self.path}: cannot be written: {error.strerror}"
            ) from error
        lock = FolderLock(self.path, "a search")
        try:
            self._check(plan)
            self.logs.mkdir(exist_ok=True)
            if not self.identity_file.exists():
                write_atomic(self.identity_file, uuid.uuid4().hex + "\n")
            write_atomic(self.plan_file, plan.to_json())
            yield
        except (ConfigError, ClusterError):
            if made and not any(self.logs.glob("*")):  # no trial has begun
                shutil.rmtree(self.path, ignore_errors=True)
            raise
        finally:
            lock.release()

    def _check(self, plan: TuningPlan) -> None:
        """Refuse a folder that holds something else than this search."""
        if not self.plan_file.is_file():
            if any(self.path.iterdir()):
                raise RunFolderError(
                    f"{self.path}: is not the folder of a search; choose another --name"
                )
        elif load_json(TuningPlan, self.plan_file) != plan:
            raise RunFolderError(
                f"{self.path}: holds a search of other settings; choose another --name"
            )


class Study:
    """Trials of a plan in a data base that several processes may share."""

    def __init__(
        self,
        folder: TuningFolder,
        plan: TuningPlan,
        space: Mapping[str, BaseDistribution],
        *,
        url: str | None,
        name: str,
        seed: int,
        prune: bool,
    ) -> None:
        """Open or join the study `name`.

        Args:
            folder: of this process.
            plan: what is searched.
            space: range of each setting.
            url: of the data base; None: a file in the folder.
            name: of the study in the data base.
            seed: of the sampler.
            prune: whether trials with poor learning curves are stopped.

        Raises:
            ConfigError: the data base cannot be used, or holds another search there.
        """
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        logging.getLogger("alembic").setLevel(logging.WARNING)
        warnings.filterwarnings(
            "ignore", category=optuna.exceptions.ExperimentalWarning
        )
        warnings.filterwarnings("ignore", message="Heartbeat of storage")
        self.folder, self.plan, self.space = folder, plan, dict(space)
        score = plan.training.kind.score(plan.score)
        upwards = score.better == "higher"
        pruner: BasePruner = NopPruner()
        if prune:
            pruner = MedianPruner(n_startup_trials=STARTUP, n_warmup_steps=1)
        try:
            self._storage = opened_storage(url or f"sqlite:///{folder.database}")
            self.optuna = optuna.create_study(
                storage=self._storage,
                study_name=name,
                direction="maximize" if upwards else "minimize",
                pruner=pruner,
                load_if_exists=True,
            )
            known = self.optuna.user_attrs.setdefault("plan", None)
            if known is None:
                self.optuna.set_user_attr("plan", plan.model_dump(mode="json"))
        except (SQLAlchemyError, ImportError, ValueError, RuntimeError) as error:
            place = (url or str(folder.database)).rpartition("@")[2]
            reason = " ".join(str(error).split())[:200]
            raise ConfigError(f"--storage {place}: cannot be used: {reason}") from None
        if known not in (None, plan.model_dump(mode="json")):
            raise ConfigError(f"--study {name}: the data base has another search there")
        # Another process, or this one continued, must not draw the same numbers again.
        other = 0 if url is None else int(folder.identity[:7], 16)
        self.optuna.sampler = TPESampler(
            seed=(seed + other + len(self.trials())) % 2**32
        )

    def trials(self, *states: TrialState) -> list[FrozenTrial]:
        """Return all trials, or those in one of `states`."""
        return self.optuna.get_trials(deepcopy=False, states=states or None)

    def unfinished(self) -> list[Trial]:
        """Return the trials that this folder began and did not end."""
        identity = self.folder.identity
        return [
            Trial(self.optuna, trial._trial_id)
            for trial in self.trials(TrialState.RUNNING)
            if trial.user_attrs.get(OWNER) == identity
        ]

    def ask(self) -> Trial:
        """Begin a trial: one that another process lost, or a new one."""
        optuna.storages.fail_stale_trials(self.optuna)
        trial = self.optuna.ask(self.space)
        trial.set_user_attr(OWNER, self.folder.identity)
        self.beat(trial)
        return trial

    def beat(self, trial: Trial) -> None:
        """Give a sign of life of a running trial."""
        self._storage.record_heartbeat(trial._trial_id)

    def best(self) -> FrozenTrial | None:
        """Return the best complete trial."""
        if not self.trials(TrialState.COMPLETE):
            return None
        return self.optuna.best_trial

    def importance(self) -> dict[str, float] | None:
        """Return how much each setting matters (PED-ANOVA); None with too few trials.

        Of the evaluators of Optuna, this one needs no scikit-learn.
        """
        if len(self.trials(TrialState.COMPLETE)) < STARTUP:
            return None
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()
        try:
            return optuna.importance.get_param_importances(
                self.optuna, evaluator=evaluator
            )
        except (ValueError, RuntimeError):  # all trials have the same score
            return None

    def to_data(self) -> dict[str, Any]:
        """Return all trials, the best one and the importance of settings, for JSON."""
        best = self.best()
        return {
            "training": self.plan.training.word,
            "preset": self.plan.preset,
            "score": self.plan.score,
            "search": dict(self.plan.search),
            "best": None if best is None else best.number,
            "importance": self.importance(),
            "trials": [
                {
                    "number": trial.number,
                    "state": trial.state.name.lower(),
                    "value": trial.value
                    if trial.state == TrialState.COMPLETE
                    else None,
                    "settings": trial.params,
                    "curve": list(trial.intermediate_values.values()),
                    "seconds": trial.duration.total_seconds()
                    if trial.duration
                    else None,
                }
                for trial in self.trials()
            ],
        }


def opened_storage(url: str) -> RDBStorage:
    """Open a data base; its tables are made if there are none.

    Two processes that begin together may make the tables of an empty one at the same
    time: the later one fails in the middle, and then opens what the other has made.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return RDBStorage(
                url,
                heartbeat_interval=HEARTBEAT,
                grace_period=GRACE,
                heartbeat_stale_trial_callback=RetryHeartbeatStaleTrialCallback(),
            )
        except (IntegrityError, OperationalError) as error:
            texts = ("already exists", "UNIQUE", "duplicate", "locked")
            if attempt == ATTEMPTS or not any(text in str(error) for text in texts):
                raise
            time.sleep(PAUSE)
    raise AssertionError("the last attempt raises")
