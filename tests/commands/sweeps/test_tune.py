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

from ambulo.commands.sweeps.kinds import Training
from ambulo.commands.tune import main
from ambulo.commands.tuning.space import distribution
from ambulo.commands.tuning.study import (
    Study,
    TuningFolder,
    TuningPlan,
    opened_storage,
)
from ambulo.commands.tuning.trials import Trials

TINY = [
    "muscle", "quick_test", "--set", "network.poses=200", "--set", "network.steps=40",
    "--set", "network.hidden=[8]", "--set", "training.epoch_steps=10",
    "--set", "training.validation_poses=20",
    "--search", "network.learning_rate=1e-4:1e-2:log", "--search", "network.corrections=0:2",
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


@pytest.fixture
def study(tmp_path: Path) -> Callable[..., Study]:
    """Open a study in a folder of its own, or one data base for several folders."""

    def opened(name: str = "t", url: str | None = None) -> Study:
        plan = TuningPlan(
            folder="muscle", preset="quick_test", arguments=(), score="torque_error_rms",
            search={"network.learning_rate": "1e-4:1e-2:log"},
        )  # fmt: skip
        folder = TuningFolder(str(tmp_path / name))
        with folder.claimed(plan):
            space = {key: distribution(key, text) for key, text in plan.search.items()}
            return Study(folder, plan, space, url=url, name="s", seed=0, prune=True)

    return opened


class Watched:
    """A process that can be asked to stop."""

    def __init__(self) -> None:
        self.stopped = False

    def poll(self) -> int | None:
        return 0 if self.stopped else None

    def stop(self) -> None:
        self.stopped = True

    def end(self) -> None:
        self.stopped = True


def write_curve(run: Path, values: list[float]) -> None:
    run.mkdir(exist_ok=True)
    rows = [f"{10 * k},{value},{value}" for k, value in enumerate(values, start=1)]
    head = "step,validation/loss,validation/torque_error_rms"
    (run / "metrics.csv").write_text("\n".join([head, *rows]) + "\n")


@pytest.mark.integration
def test_a_poor_learning_curve_is_stopped(study: Callable[..., Study]) -> None:
    opened = study()
    trials = Trials(opened, 7, 0)
    for number in range(6):
        job = next(trials)
        process = Watched()
        poor = number == 5
        write_curve(
            job.run, [9.0, 8.0, 7.0] if poor else [3.0, 2.0, 1.0 + 0.1 * number]
        )
        trials.watch(job, process)
        assert process.stopped == poor
        trials.done(job, 143 if poor else 0)
    states = [trial.state for trial in opened.trials()]
    assert states == [TrialState.COMPLETE] * 5 + [TrialState.PRUNED]
    best = opened.best()
    assert best is not None
    assert (best.number, best.value) == (0, 1.0)


def test_lost_trials_are_repeated(study: Callable[..., Study]) -> None:
    """A killed process continues, and a killed search finds what it had begun."""
    opened = study()
    trials = Trials(opened, 2, 0)
    first = next(trials)
    trials.done(first, -9)
    assert next(trials).name == first.name
    again = Trials(study(), 2, 0)
    adopted = next(again)
    assert adopted.name == first.name
    write_curve(adopted.run, [2.0])
    again.done(adopted, 0)
    write_curve(next(again).run, [1.0])
    with pytest.raises(StopIteration):
        next(again)


def test_trials_of_yesterday_continue_and_are_not_repeated(
    study: Callable[..., Study],
) -> None:
    """A search that was killed long ago: its trials gave no sign of life meanwhile."""
    opened = study()
    begun = Trials(opened, 3, 0)
    jobs = [next(begun), next(begun)]
    long_ago = "UPDATE trial_heartbeats SET heartbeat = datetime('now', '-1 day')"
    with opened._storage.engine.begin() as database:
        database.execute(sqlalchemy.text(long_ago))
    again = Trials(study(), 3, 0)
    adopted = [next(again), next(again)]
    assert {job.name for job in adopted} == {job.name for job in jobs}
    write_curve(adopted[0].run, [2.0])
    again.done(adopted[0], 0)
    assert next(again).name == "trial_0002"
    write_curve(adopted[1].run, [2.0])
    again.watch(adopted[1], Watched())
    again.done(adopted[1], 0)
    states = [trial.state for trial in opened.trials()]
    assert states == [TrialState.COMPLETE] * 2 + [TrialState.RUNNING]


def test_a_trial_that_another_process_repeated_is_stopped(
    study: Callable[..., Study], capsys: pytest.CaptureFixture[str]
) -> None:
    opened, process = study(), Watched()
    trials = Trials(opened, 1, 0)
    job = next(trials)
    opened.optuna.tell(0, state=TrialState.FAIL)
    write_curve(job.run, [2.0])
    trials.watch(job, process)
    assert process.stopped
    trials.done(job, 143)
    assert "trial 0: another process has repeated it" in capsys.readouterr().err


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


def test_two_folders_share_a_data_base(
    study: Callable[..., Study], tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'shared.db'}"
    one, two = study("one", url), study("two", url)
    first, second = Trials(one, 2, 0), Trials(two, 2, 0)
    jobs = [next(first), next(second)]
    assert [job.name for job in jobs] == ["trial_0000", "trial_0001"]
    assert jobs[0].run.parent != jobs[1].run.parent
    with pytest.raises(StopIteration):
        next(first)
    assert Trials(study("one", url), 2, 0)._waiting
    assert one.trials()[0].params != one.trials()[1].params


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--trials", "0"], "--trials 0"),
        (["--search", "network.learning_rate=1"], "two or more different values"),
        (["--search", "network.learning_rat=1:2"], "did you mean 'learning_rate'"),
        (["--search", "network.batch_size=0:4"], "--search network.batch_size=0:4"),
        (["--storage", "nothing://x", "--trials", "1"], "--storage nothing://x"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    place = ["--output", str(tmp_path)]
    assert main(["muscle", "quick_test", *arguments, *place]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_search_needs_evaluations(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vr", "quick_test", "--eval-freq", "0"]) == 2
    assert "a search needs evaluations" in capsys.readouterr().err
