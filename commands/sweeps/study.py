"""The data base of a sweep or a search: its trials, which Optuna keeps."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.pruners import BasePruner, MedianPruner, NopPruner
from optuna.samplers import TPESampler
from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback
from optuna.trial import FrozenTrial, Trial, TrialState
from sqlalchemy.exc import IntegrityError, OperationalError, SQLAlchemyError

from ambulo.commands.sweeps.folder import StudyFolder, StudyPlan
from ambulo.configs.errors import ConfigError
from ambulo.configs.trainings import Score

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
RUN = "run"
"""Attribute of a trial: name of its run folder."""


class Study:
    """Trials of a plan in a data base that several processes may share.

    The trials of a search are drawn from `space`; those of a sweep wait in a queue.
    """

    def __init__(
        self,
        folder: StudyFolder[Any],
        plan: StudyPlan,
        score: Score,
        space: Mapping[str, BaseDistribution] | None = None,
        *,
        url: str | None = None,
        name: str = "sweep",
        seed: int = 0,
        prune: bool = False,
    ) -> None:
        """Open or join the study `name`.

        Args:
            folder: of this process.
            plan: what is trained.
            score: what is improved.
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
        self.folder, self.score, self.space = folder, score, dict(space or {})
        self._shared = url is not None
        pruner: BasePruner = NopPruner()
        if prune:
            pruner = MedianPruner(n_startup_trials=STARTUP, n_warmup_steps=1)
        try:
            self._storage = opened_storage(url or f"sqlite:///{folder.database}")
            self.optuna = optuna.create_study(
                storage=self._storage,
                study_name=name,
                direction="maximize" if score.better == "higher" else "minimize",
                pruner=pruner,
                load_if_exists=True,
            )
            known = self.optuna.user_attrs.get("plan")
            if known is None and self._shared:
                self.optuna.set_user_attr("plan", plan.model_dump(mode="json"))
        except (SQLAlchemyError, ImportError, ValueError, RuntimeError) as error:
            place = (url or str(folder.database)).rpartition("@")[2]
            reason = " ".join(str(error).split())[:200]
            raise ConfigError(f"--storage {place}: cannot be used: {reason}") from None
        if known not in (None, plan.model_dump(mode="json")):
            raise ConfigError(f"--study {name}: the data base has another search there")
        # Another process, or this one continued, must not draw the same numbers again.
        other = int(folder.identity[:7], 16) if self._shared else 0
        self.optuna.sampler = TPESampler(
            seed=(seed + other + len(self.trials())) % 2**32
        )
        self._left = self._unfinished()

    def trials(self, *states: TrialState) -> list[FrozenTrial]:
        """Return all trials, or those in one of `states`."""
        return self.optuna.get_trials(deepcopy=False, states=states or None)

    def runs(self) -> dict[str, FrozenTrial]:
        """Return the newest trial of every run, by its name."""
        return {run_of(trial): trial for trial in self.trials()}

    def enqueue(self, names: Iterable[str]) -> None:
        """Queue runs for training, except those that are finished or interrupted."""
        known = self.runs()
        for name in names:
            if name not in known or known[name].state == TrialState.FAIL:
                self.optuna.enqueue_trial({}, user_attrs={RUN: name})

    def ask(self, total: int) -> Trial | None:
        """Begin a trial; None: none waits, and `total` runs have begun.

        First those that this folder began and did not end, then those that wait, or that
        another process has lost; then new ones.
        """
        if self._left:
            return self._left.pop()
        if self._shared:
            optuna.storages.fail_stale_trials(self.optuna)
        if not self.trials(TrialState.WAITING) and len(self.runs()) >= total:
            return None
        trial = self.optuna.ask(self.space)
        trial.set_user_attr(OWNER, self.folder.identity)
        trial.set_user_attr(RUN, run_of(trial))
        self.beat(trial)
        return trial

    def beat(self, trial: Trial) -> None:
        """Give a sign of life of a running trial."""
        self._storage.record_heartbeat(trial._trial_id)

    def _unfinished(self) -> list[Trial]:
        """Return the trials that a stopped process of this folder has begun."""
        identity = self.folder.identity
        left = [
            Trial(self.optuna, trial._trial_id)
            for trial in self.trials(TrialState.RUNNING)
            if trial.user_attrs.get(OWNER) == identity
        ]
        for trial in left:  # else they are taken to be lost, and repeated
            self.beat(trial)
        return left

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


def run_of(trial: Trial | FrozenTrial) -> str:
    """Return the name of the run folder of a trial."""
    return str(trial.user_attrs.get(RUN, f"trial_{trial.number:04d}"))


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
