"""Searches with real trainings of a small muscle network."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
import sqlalchemy
from fixtures.processes import processes_of, wait_for
from optuna.trial import TrialState

from ambulo.commands.sweeps.flags import tune as main
from ambulo.commands.sweeps.folder import StudyFolder, TuningPlan
from ambulo.commands.sweeps.kinds import Training
from ambulo.commands.sweeps.processes import Host, Job
from ambulo.commands.sweeps.space import distribution
from ambulo.commands.sweeps.study import Study, opened_storage, run_of
from ambulo.commands.sweeps.trials import TuningError
from ambulo.commands.sweeps.tune import trials_of
from ambulo.common.signals import StopRequest

TINY = [
    "muscle", "quick_test", "--set", "network.poses=200", "--set", "network.steps=40",
    "--set", "network.hidden=[8]", "--set", "training.epoch_steps=10",
    "--set", "training.validation_poses=20",
    "--search", "network.learning_rate=1e-4:1e-2:log", "--search", "network.corrections=0:2",
    "--episodes", "20",
]  # fmt: skip


@pytest.mark.slow
def test_a_search_writes_a_preset_that_train_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*TINY, "--output", str(tmp_path), "--name", "t", "--parallel", "2"]
    assert main([*arguments, "--trials", "5"]) == 0
    told = capsys.readouterr().out
    assert "importance  network." in told
    report = json.loads((tmp_path / "t" / "report.json").read_text())
    ended = {trial["state"] for trial in report["trials"]}
    assert len(report["trials"]) == 5
    assert ended <= {"complete", "pruned"}
    values = [t["value"] for t in report["trials"] if t["value"] is not None]
    best = report["trials"][report["best"]]
    assert best["value"] == min(values)
    config = Training("muscle").settings(
        ["--config", str(tmp_path / "t" / "best.json")]
    )
    assert config.network.learning_rate == best["settings"]["network.learning_rate"]
    assert config.network.corrections == best["settings"]["network.corrections"]
    assert main([*arguments, "--trials", "6"]) == 0
    report = json.loads((tmp_path / "t" / "report.json").read_text())
    assert len(report["trials"]) == 6


@pytest.mark.slow
def test_a_killed_search_continues_its_trial(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-m", "ambulo.cli", "tune", *TINY]
    command += ["--output", str(tmp_path), "--name", "t", "--trials", "1"]
    search = subprocess.Popen(command)
    run = tmp_path / "t" / "trial_0000"
    wait_for((run / "metrics.csv").exists, "first epoch")
    os.kill(search.pid, signal.SIGKILL)
    search.wait()
    wait_for(lambda: not processes_of(tmp_path / "t"), "end of the training")
    assert main([*command[4:]]) == 0
    report = json.loads((tmp_path / "t" / "report.json").read_text())
    assert [trial["state"] for trial in report["trials"]] == ["complete"]
    assert len((run / "command.txt").read_text().splitlines()) == 2


PLAN = TuningPlan(
    folder="muscle", preset="quick_test", arguments=(), score="torque_error_rms",
    search={"network.learning_rate": "1e-4:1e-2:log"},
)  # fmt: skip


@pytest.fixture
def study(tmp_path: Path) -> Callable[..., Study]:
    """Open a study in a folder of its own, or one data base for several folders."""

    def opened(name: str = "t", url: str | None = None) -> Study:
        folder = StudyFolder(tmp_path / name, TuningPlan)
        score = PLAN.training.kind.score(PLAN.score)
        with folder.claimed(PLAN):
            (folder.logs / "begun.log").touch()  # else the folder goes again
            space = {key: distribution(key, text) for key, text in PLAN.search.items()}
            return Study(folder, PLAN, score, space, url=url, name="s", prune=True)

    return opened


class Watched:
    """A training that writes a curve, and ends with the next of its exit codes."""

    def __init__(self, curve: list[float], code: int | None) -> None:
        self.curve, self.code, self.stopped = curve, code, False

    def start(self, run: Path) -> "Watched":
        run.mkdir(exist_ok=True)
        rows = [f"{10 * k},{v},{v}" for k, v in enumerate(self.curve, start=1)]
        head = "step,validation/loss,validation/torque_error_rms"
        (run / "metrics.csv").write_text("\n".join([head, *rows]) + "\n")
        return self

    def poll(self) -> int | None:
        return 143 if self.stopped and self.code is None else self.code

    def stop(self) -> None:
        self.stopped = True

    def end(self) -> None:
        self.stopped = True


class Machine:
    """A host whose trainings are given, in the order in which they begin."""

    def __init__(self, study: Study, *trainings: Watched) -> None:
        self.study, self.left = study, list(trainings)
        self.begun: list[str] = []

    def train(self, total: int, stop: StopRequest | None = None) -> list[TrialState]:
        """Run trials up to `total`; return the states of all."""
        host = Host(1, self.start)
        trials_of(self.study, PLAN, total, 0).run(host, stop or StopRequest())
        return [trial.state for trial in self.study.trials()]

    def start(self, job: Job) -> Watched:
        name = job.log.stem
        self.begun.append(name)
        return self.left.pop(0).start(self.study.folder.run(name))


@pytest.mark.integration
def test_a_poor_learning_curve_is_stopped(study: Callable[..., Study]) -> None:
    opened = study()
    good = [Watched([3.0, 2.0, 1.0 + 0.1 * number], 0) for number in range(5)]
    poor = Watched([9.0, 8.0, 7.0], None)
    states = Machine(opened, *good, poor).train(6)
    assert states == [TrialState.COMPLETE] * 5 + [TrialState.PRUNED]
    best = opened.best()
    assert best is not None
    assert (best.number, best.value) == (0, 1.0)


@pytest.mark.integration
def test_killed_processes_and_killed_searches_continue(
    study: Callable[..., Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is trained under another name, also after a day without a sign of life."""
    opened, stop = study(), StopRequest()
    killed, stopped = Watched([], -9), Watched([], None)
    machine = Machine(opened, killed, stopped)
    start = machine.start

    def stopping(job: Job) -> Watched:
        if len(machine.begun) == 1:  # the second process is asked to save and leave
            stop.signal_number = signal.SIGTERM
        return start(job)

    monkeypatch.setattr(machine, "start", stopping)
    assert machine.train(2, stop) == [TrialState.RUNNING]
    assert machine.begun == ["trial_0000", "trial_0000"]
    long_ago = "UPDATE trial_heartbeats SET heartbeat = datetime('now', '-1 day')"
    with opened._storage.engine.begin() as database:
        database.execute(sqlalchemy.text(long_ago))
    again = Machine(study(), Watched([2.0], 0), Watched([1.0], 0))
    assert again.train(2) == [TrialState.COMPLETE] * 2
    assert again.begun == ["trial_0000", "trial_0001"]


@pytest.mark.integration
def test_a_process_that_is_always_killed_fails(study: Callable[..., Study]) -> None:
    machine = Machine(study(), *(Watched([], -9) for _ in range(4)))
    assert machine.train(1) == [TrialState.FAIL]
    assert machine.begun == ["trial_0000"] * 4


@pytest.mark.integration
def test_a_search_whose_trials_all_fail_ends(study: Callable[..., Study]) -> None:
    machine = Machine(study(), *(Watched([], 2) for _ in range(5)))
    with pytest.raises(TuningError, match="5 trials in a row failed"):
        machine.train(9)


@pytest.mark.integration
def test_a_trial_that_another_process_repeated_is_stopped(
    study: Callable[..., Study], capsys: pytest.CaptureFixture[str]
) -> None:
    opened = study()
    machine = Machine(opened, Watched([2.0], None))
    start = machine.start

    def taken(job: Job) -> Watched:
        opened.optuna.tell(0, state=TrialState.FAIL)
        return start(job)

    machine.start = taken  # type: ignore[method-assign]
    assert machine.train(1) == [TrialState.FAIL]
    assert "trial_0000: another process has repeated it" in capsys.readouterr().err


@pytest.mark.integration
def test_trials_that_another_machine_lost_are_repeated(
    study: Callable[..., Study], tmp_path: Path
) -> None:
    """With their settings, and counted once."""
    url = f"sqlite:///{tmp_path / 'shared.db'}"
    lost = study("one", url)
    assert lost.ask(1) is not None
    long_ago = "UPDATE trial_heartbeats SET heartbeat = datetime('now', '-1 day')"
    with lost._storage.engine.begin() as database:
        database.execute(sqlalchemy.text(long_ago))
    other = Machine(study("two", url), Watched([1.0], 0))
    assert other.train(1) == [TrialState.FAIL, TrialState.COMPLETE]
    first, second = other.study.trials()
    assert first.params == second.params
    assert other.begun == ["trial_0000"]


def test_a_data_base_that_others_make_at_the_same_time(tmp_path: Path) -> None:
    """Processes that begin together all make its tables; all of them get it."""
    count = 4
    for number in range(2):
        url = f"sqlite:///{tmp_path / f'{number}.db'}"
        together = Barrier(count)

        def make(url: str = url, together: Barrier = together) -> None:
            together.wait()
            opened_storage(url)

        with ThreadPoolExecutor(count) as pool:
            for done in [pool.submit(make) for _ in range(count)]:
                done.result()


@pytest.mark.integration
def test_two_folders_share_a_data_base(
    study: Callable[..., Study], tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'shared.db'}"
    one, two = study("one", url), study("two", url)
    first, second = one.ask(2), two.ask(2)
    assert first is not None
    assert second is not None
    assert [run_of(first), run_of(second)] == ["trial_0000", "trial_0001"]
    assert one.ask(2) is None
    again = study("one", url).ask(2)
    assert again is not None
    assert again.number == 0
    assert first.params != second.params
