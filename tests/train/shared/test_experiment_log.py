"""What a training logs arrives at the real services, in their local or offline mode."""

from __future__ import annotations

import json
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import pytest
from stable_baselines3 import PPO

from ambulo.cli import main
from ambulo.common.run_folder import RunFolder
from ambulo.common.signals import Interrupted
from ambulo.configs.errors import DivergedError
from ambulo.configs.vr import NavigationConfig
from ambulo.train.shared import experiment_log
from ambulo.train.shared.callbacks import ForwardScalars
from ambulo.train.shared.experiment_log import (
    SERVICES,
    ExperimentLogError,
    logging_to,
)
from ambulo.train.vr.command import COMMAND

Rows = dict[int, dict[str, float]]
"""Numbers by step."""
MUSCLE = [
    "train", "muscle", "--preset", "quick_test", "--poses", "60", "--steps", "14",
    "--batch-size", "16", "--no-progress", "--run-name", "here",
]  # fmt: skip


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every service writes below a folder and speaks to no server."""
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path


def of_mlflow(folder: Path, project: str) -> Rows:
    import mlflow

    client = mlflow.MlflowClient(f"sqlite:///{folder}/mlflow.db")
    experiment = client.get_experiment_by_name(project)
    [run] = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    assert run.data.params["training.seed"] == "0"
    rows: Rows = {}
    for name in run.data.metrics:
        for metric in client.get_metric_history(run.info.run_id, name):
            rows.setdefault(metric.step, {})[name] = metric.value
    return rows


def of_trackio(folder: Path, project: str) -> Rows:
    from trackio.sqlite_storage import SQLiteStorage

    del folder
    [run] = SQLiteStorage.get_runs(project)
    rows: Rows = {}
    for entry in SQLiteStorage.get_logs(project, run):
        numbers = {k: v for k, v in entry.items() if isinstance(v, float | int)}
        rows.setdefault(int(numbers.pop("step")), {}).update(numbers)
    return rows


def records(data: bytes) -> Iterator[bytes]:
    """Yield the records of an offline file of W&B: blocks of a LevelDB log."""
    block, at, whole = 2**15, 7, b""  # a file header of 7 bytes
    while at + 7 <= len(data):
        if block - at % block < 7:
            at += block - at % block
            continue
        size, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        whole += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # whole, or the last part
            yield whole
            whole = b""


def of_wandb(folder: Path, project: str) -> Rows:
    import wandb
    from wandb.proto import wandb_internal_pb2

    wandb.teardown()  # as at the end of a process: its writer ends
    rows: Rows = {}
    projects = set()
    for file in sorted(folder.glob("**/offline-run-*/run-*.wandb")):
        for data in records(file.read_bytes()):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            if record.WhichOneof("record_type") == "run":
                projects.add(record.run.project)
            items = {
                (item.key or item.nested_key[0]): json.loads(item.value_json)
                for item in record.history.item
            }
            if items:
                step = int(items["_step"])
                rows.setdefault(step, {}).update(
                    {k: v for k, v in items.items() if not k.startswith("_")}
                )
    assert projects == {project}
    return rows


READERS: dict[str, Callable[[Path, str], Rows]] = {
    "mlflow": of_mlflow,
    "trackio": of_trackio,
    "wandb": of_wandb,
}


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_rows_arrive_and_a_resumed_run_goes_on(name: str, services: Path) -> None:
    pytest.importorskip(name)
    for part in (1, 2):  # a resumed run opens its folder again
        folder = RunFolder(services / "first")
        folder.path.mkdir(exist_ok=True)
        with logging_to(name, "walks", folder, NavigationConfig()):
            folder.record(10 * part, {"train/loss": 0.5 * part, "eval/x": float("nan")})
            folder.record(10 * part + 1, {"train/loss": 0.25})
        assert folder.listeners == []
    rows = READERS[name](services, "walks")
    assert rows == {
        10: {"train/loss": 0.5},
        11: {"train/loss": 0.25},
        20: {"train/loss": 1.0},
        21: {"train/loss": 0.25},
    }


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_training_logs_what_is_in_its_table(
    name: str,
    services: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip(name)
    monkeypatch.chdir(services)
    assert main([*MUSCLE, "--log-to", name, "--log-project", "legs", "--json"]) == 0
    json.loads(capsys.readouterr().out)  # services print, but not to standard output
    lines = (services / "runs" / "here" / "metrics.csv").read_text().splitlines()
    names = lines[0].split(",")
    table = [dict(zip(names, line.split(","), strict=True)) for line in lines[1:]]
    rows = READERS[name](services, "legs")
    assert sorted(rows) == [int(row["step"]) for row in table]
    for row in table:
        for key, value in rows[int(row["step"])].items():
            assert value == pytest.approx(float(row[key]), rel=1e-4)


def test_reinforcement_learning_passes_on_what_it_logs() -> None:
    rows: Rows = {}
    learner = PPO("MlpPolicy", "CartPole-v1", n_steps=32, batch_size=32, seed=0)
    callback = ForwardScalars(lambda step, row: rows.setdefault(step, {}).update(row))
    learner.learn(64, callback=callback)
    learner.learn(64, callback=callback, reset_num_timesteps=False)
    assert sorted(rows) == [32, 64, 96, 128]
    assert "train/loss" in rows[128]
    assert all(
        isinstance(v, float | int) for row in rows.values() for v in row.values()
    )


class BrokenError(Exception):
    """What a service may raise."""


def test_a_service_that_fails_stops_no_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[int] = []

    class Broken(experiment_log.TrackioLog):
        def start(self, *_: object) -> str:  # type: ignore[override]
            return "there"

        def record(self, step: int, values: object) -> None:
            del values
            calls.append(step)
            raise BrokenError("the disk\nis full")

        def finish(self, status: experiment_log.Status) -> None:
            raise BrokenError("closed")

    monkeypatch.setattr(experiment_log, "SERVICES", {"trackio": Broken})
    folder = RunFolder(tmp_path)
    with (
        caplog.at_level(logging.WARNING),
        logging_to("trackio", "p", folder, NavigationConfig()),
    ):
        folder.record(1, {"a": 1.0})
        folder.record(2, {"a": 1.0})
    assert calls == [1]
    assert "--log-to trackio: the disk is full; the training goes on" in caplog.text


class Statuses(experiment_log.ExperimentLog):
    """A service that keeps how its runs end."""

    ended: ClassVar[list[str]] = []

    def start(self, *_: object) -> str:
        return "there"

    def record(self, *_: object) -> None:
        pass

    def finish(self, status: experiment_log.Status) -> None:
        self.ended.append(status)


@pytest.fixture
def statuses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How the runs of the test end, at a service of its own."""
    monkeypatch.setattr(experiment_log, "SERVICES", {"trackio": Statuses})
    monkeypatch.setitem(sys.modules, "trackio", ModuleType("trackio"))
    Statuses.ended.clear()
    return Statuses.ended


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Interrupted(signal.SIGTERM), "killed"),
        (KeyboardInterrupt(), "killed"),
        (SystemExit(143), "killed"),
        (DivergedError("loss"), "failed"),
    ],
)
def test_a_service_is_told_how_a_run_ends(
    error: BaseException, status: str, tmp_path: Path, statuses: list[str]
) -> None:
    with logging_to("trackio", "p", RunFolder(tmp_path), NavigationConfig()):
        pass
    context = logging_to("trackio", "p", RunFolder(tmp_path), NavigationConfig())
    with pytest.raises(type(error)), context:
        raise error
    assert statuses == ["finished", status]


def test_a_training_that_a_signal_stops_is_killed_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statuses: list[str]
) -> None:
    def stopped(*_: object) -> None:
        raise Interrupted(signal.SIGINT)

    run = SimpleNamespace(total_steps=1, train=stopped, close=lambda: None)
    monkeypatch.setattr(type(COMMAND), "build", lambda *_: run)
    flags = ["--output", str(tmp_path), "--no-progress", "--log-to", "trackio"]
    assert COMMAND.main(flags) == 130
    assert statuses == ["killed"]


@pytest.mark.parametrize("status", ["FAILED", "KILLED"])
def test_mlflow_takes_the_status(status: str, services: Path) -> None:
    pytest.importorskip("mlflow")
    import mlflow

    service = experiment_log.MlflowLog()
    run = service.start("p", services, {}, None)
    service.finish("failed" if status == "FAILED" else "killed")
    assert mlflow.MlflowClient().get_run(run).info.status == status


def test_trackio_has_an_alert_of_a_run_that_did_not_finish(services: Path) -> None:
    pytest.importorskip("trackio")
    from trackio.sqlite_storage import SQLiteStorage

    service = experiment_log.TrackioLog()
    service.start("p", services / "here", {}, None)
    service.finish("killed")
    assert [row["title"] for row in SQLiteStorage.get_alerts("p")] == [
        "training killed"
    ]


def test_a_service_that_refuses_is_one_line(
    services: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "nowhere://x")
    folder = RunFolder(services / "first")
    folder.path.mkdir()
    context = logging_to("mlflow", "p", folder, NavigationConfig())
    with (
        pytest.raises(ExperimentLogError, match="--log-to mlflow: ") as caught,
        context,
    ):
        pass
    assert "\n" not in str(caught.value)
    assert list(folder.path.iterdir()) == []


def test_a_missing_package_is_told_before_a_folder_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in SERVICES:
        monkeypatch.setitem(__import__("sys").modules, name, None)
        assert main([*MUSCLE, "--log-to", name]) == 2
        errors = capsys.readouterr().err
        assert f"needs the package {name}" in errors
        assert f"pip install 'ambulo[{name}]'" in errors
    assert list(tmp_path.iterdir()) == []
