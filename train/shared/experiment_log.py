"""One hook for all trainings: what a run logs also goes to W&B, MLflow or trackio.

Each service is a package of its own with its own settings (`WANDB_MODE`,
`MLFLOW_TRACKING_URI`, `TRACKIO_DIR`, ...) and its own login. A service that fails while a
training runs is left out from then on; the training goes on.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ambulo.common.files import write_atomic
from ambulo.common.run_folder import RunFolder
from ambulo.common.signals import Interrupted
from ambulo.configs.errors import AmbuloError
from ambulo.configs.json_text import json_value
from ambulo.configs.reading import read_regular_text

if TYPE_CHECKING:
    from ambulo.configs.base import Config

log = logging.getLogger(__name__)

IDENTIFIERS = "experiment_log.json"
"""File of a run folder: identifier of the run at each service, for resumed runs."""
Status = Literal["finished", "failed", "killed"]
"""How a run ended; a signal kills it."""
MAX_VALUE, MAX_PARAMS = 500, 100
"""Longest value of a setting, and most settings at once, that MLflow takes."""


class ExperimentLogError(AmbuloError):
    """A service that cannot be used: no login, no server, a bad project."""


class ExperimentLog(ABC):
    """A run at a service that shows experiments."""

    package: ClassVar[str]
    """Name of the package."""

    @abstractmethod
    def start(
        self, project: str, folder: Path, settings: Mapping[str, Any], known: str | None
    ) -> str:
        """Start the run; return its identifier there.

        Args:
            project: Project or experiment.
            folder: The run folder, whose name the run has.
            settings: All settings of the training.
            known: Identifier of the run that is resumed; None for a new one.
        """

    @abstractmethod
    def record(self, step: int, values: Mapping[str, float]) -> None:
        """Log finite numbers after `step` environment steps or updates."""

    @abstractmethod
    def finish(self, status: Status) -> None:
        """End the run, and wait until everything is written."""


class WandbLog(ExperimentLog):
    """Weights & Biases; `WANDB_MODE=offline` writes into the run folder alone."""

    package = "wandb"

    def start(
        self, project: str, folder: Path, settings: Mapping[str, Any], known: str | None
    ) -> str:
        """See `ExperimentLog.start`."""
        import wandb

        self._run = wandb.init(
            project=project,
            dir=folder,
            name=folder.name,
            id=known,
            resume="allow",
            config=dict(settings),
            settings=wandb.Settings(silent=True, console="off"),
        )
        return str(self._run.id)

    def record(self, step: int, values: Mapping[str, float]) -> None:
        """See `ExperimentLog.record`."""
        self._run.log(dict(values), step=step)

    def finish(self, status: Status) -> None:
        """See `ExperimentLog.finish`; an interrupted run counts as failed there."""
        self._run.finish(exit_code=int(status != "finished"))


class MlflowLog(ExperimentLog):
    """MLflow: files, a data base or a server, as `MLFLOW_TRACKING_URI` says."""

    package = "mlflow"

    def start(
        self, project: str, folder: Path, settings: Mapping[str, Any], known: str | None
    ) -> str:
        """See `ExperimentLog.start`."""
        import mlflow
        from mlflow.entities import Param

        self._client = mlflow.MlflowClient()
        if known is not None:
            self._id = known
            self._client.update_run(known, status="RUNNING")
            return known
        found = self._client.get_experiment_by_name(project)
        experiment = (
            found.experiment_id if found else self._client.create_experiment(project)
        )
        self._id = self._client.create_run(experiment, run_name=folder.name).info.run_id
        params = [Param(key, str(value)[:MAX_VALUE]) for key, value in _flat(settings)]
        for first in range(0, len(params), MAX_PARAMS):
            some = params[first : first + MAX_PARAMS]
            self._client.log_batch(self._id, params=some)
        return str(self._id)

    def record(self, step: int, values: Mapping[str, float]) -> None:
        """See `ExperimentLog.record`."""
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        metrics = [Metric(name, value, now, step) for name, value in values.items()]
        self._client.log_batch(self._id, metrics=metrics)

    def finish(self, status: Status) -> None:
        """See `ExperimentLog.finish`."""
        self._client.set_terminated(self._id, status.upper())


class TrackioLog(ExperimentLog):
    """trackio: a data base on this machine unless its settings name another."""

    package = "trackio"

    def start(
        self, project: str, folder: Path, settings: Mapping[str, Any], known: str | None
    ) -> str:
        """See `ExperimentLog.start`."""
        import trackio

        name = known or folder.name
        self._run = trackio.init(
            project=project,
            name=name,
            config=dict(settings),
            resume="allow",
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )
        return name

    def record(self, step: int, values: Mapping[str, float]) -> None:
        """See `ExperimentLog.record`."""
        self._run.log(dict(values), step=step)

    def finish(self, status: Status) -> None:
        """See `ExperimentLog.finish`; runs have no status there, but alerts."""
        import trackio

        if status != "finished":
            trackio.alert(f"training {status}", level=trackio.AlertLevel.ERROR)
        trackio.finish()


SERVICES: Mapping[str, Callable[[], ExperimentLog]] = {
    "wandb": WandbLog,
    "mlflow": MlflowLog,
    "trackio": TrackioLog,
}
"""Services by the name that `--log-to` takes."""


def check_service(name: str | None) -> None:
    """Raise `ImportError` now if the package of a service is not installed."""
    if name is not None:
        with contextlib.redirect_stdout(sys.stderr):
            __import__(name)


@contextmanager
def logging_to(
    name: str | None, project: str, folder: RunFolder, config: Config
) -> Iterator[None]:
    """Pass what a run logs on to a service while the context lasts.

    Args:
        name: One of `SERVICES`; None for none.
        project: Project or experiment there.
        folder: The run folder, whose `record` is listened to.
        config: All settings.

    Raises:
        ExperimentLogError: The service refuses, or cannot be reached.
    """
    if name is None:
        yield
        return
    listener = _Listener(name, SERVICES[name]())
    file = folder.path / IDENTIFIERS
    known = _identifiers(file)
    settings = config.model_dump(mode="json")
    # Results may go to standard output as JSON; nothing else may.
    with contextlib.redirect_stdout(sys.stderr):
        try:
            run = listener.service.start(
                project, folder.path, settings, known.get(name)
            )
        except Exception as error:
            reason = " ".join(str(error).split())[:300] or type(error).__name__
            raise ExperimentLogError(f"--log-to {name}: {reason}") from error
    write_atomic(file, json.dumps(known | {name: run}) + "\n")
    folder.listeners.append(listener.record)
    status: Status = "failed"
    try:
        yield
        status = "finished"
    except (Interrupted, KeyboardInterrupt, SystemExit):
        status = "killed"
        raise
    finally:
        folder.listeners.remove(listener.record)
        with contextlib.redirect_stdout(sys.stderr):
            listener.finish(status)


class _Listener:
    """Passes rows on until the service fails."""

    def __init__(self, name: str, service: ExperimentLog) -> None:
        self.name, self.service, self._works = name, service, True

    def record(self, step: int, row: Mapping[str, float]) -> None:
        """Log the finite numbers of a row."""
        values = {k: float(v) for k, v in row.items() if math.isfinite(v)}
        if values and self._works:
            self._guarded(lambda: self.service.record(step, values))

    def finish(self, status: Status) -> None:
        """End the run."""
        self._guarded(lambda: self.service.finish(status))

    def _guarded(self, call: Callable[[], None]) -> None:
        """Call a service; whatever it raises is logged once, for trainings are dear."""
        try:
            call()
        except Exception as error:
            self._works = False
            reason = " ".join(str(error).split())[:300] or type(error).__name__
            log.warning("--log-to %s: %s; the training goes on", self.name, reason)


def _identifiers(file: Path) -> dict[str, str]:
    """Return the identifiers in a run folder; none where they cannot be read."""
    try:
        found = json_value(read_regular_text(file))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {k: v for k, v in found.items() if isinstance(v, str)}


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield settings by dotted key."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
