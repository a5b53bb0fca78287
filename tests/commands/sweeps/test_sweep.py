"""Sweeps of real trainings of a small muscle network, by processes of their own."""

import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fixtures.processes import processes_of, wait_for

from ambulo.commands.sweeps.child import request_stop
from ambulo.commands.sweeps.flags import compare
from ambulo.commands.sweeps.flags import sweep as main
from ambulo.commands.sweeps.folder import StudyFolder, SweepPlan
from ambulo.commands.sweeps.kinds import Training
from ambulo.commands.sweeps.processes import Job, TrainingWorker
from ambulo.commands.sweeps.sweep import planned
from ambulo.commands.sweeps.trials import failure
from ambulo.common.signals import StopRequest
from ambulo.configs.errors import ConfigError

TINY = [
    "muscle", "quick_test", "--set", "network.poses=200", "--set", "network.steps=40",
    "--set", "network.hidden=[8]", "--set", "training.epoch_steps=10",
    "--set", "training.validation_poses=20", "--episodes", "20",
]  # fmt: skip
LONG = [
    *TINY[:4], "--set", "network.steps=2000000", *TINY[6:8],
    "--set", "training.epoch_steps=200", *TINY[10:],
]  # fmt: skip


@pytest.fixture
def started() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start `ambulo ARGUMENT ...`; what still runs at the end is killed."""
    running = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "ambulo.cli", *arguments]
        running.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        return running[-1]

    yield start
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.parametrize("system", ["linux", "win32"])
def test_a_stop_request_reaches_the_handler(
    system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    if system == "win32":  # where it ends the process at once
        monkeypatch.delattr(os, "kill")
    with StopRequest() as stop:
        request_stop()
    assert stop.signal_number == signal.SIGTERM


def test_a_machine_without_the_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "uname")  # as on Windows
    job = Job("muscle", "run", [], tmp_path / "log")
    with pytest.raises(
        ConfigError, match=f"^{platform.node()} does not see {tmp_path}:"
    ):
        TrainingWorker().start((str(tmp_path / "w"), ""), job, ".")


@pytest.mark.slow
def test_a_sweep_reports_failed_runs_and_continues(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that diverges is reported; the others finish and are kept."""
    arguments = [*TINY, "--set", "network.torque_scale=100.0,1e-30", "--parallel", "2"]
    arguments += ["--output", str(tmp_path), "--name", "s"]
    assert main([*arguments, "--seeds", "2"]) == 1
    told = capsys.readouterr()
    assert told.err.count("FAILED with exit code 2: ambulo: error:") == 2, told.err
    report = json.loads((tmp_path / "s" / "report.json").read_text())
    good, bad = report["variants"]
    assert [run["seed"] for run in good["runs"] if run["scores"]] == [0, 1]
    assert [run["scores"] for run in bad["runs"]] == [None, None]
    assert (tmp_path / "s" / "report.png").read_bytes()[:4] == b"\x89PNG"
    run = tmp_path / "s" / good["runs"][0]["folder"]
    before = (run / "metrics.csv").stat().st_mtime_ns
    changed = [text.replace("steps=40", "steps=30") for text in arguments]
    assert main([*changed, "--seeds", "2"]) == 2
    assert "holds a sweep of other settings" in capsys.readouterr().err
    assert main([*arguments, "--seeds", "3"]) == 1  # failed ones are tried again
    report = json.loads((tmp_path / "s" / "report.json").read_text())
    done = [sum(r["scores"] is not None for r in v["runs"]) for v in report["variants"]]
    assert done == [3, 0]
    assert (run / "metrics.csv").stat().st_mtime_ns == before
    assert compare([str(run), str(tmp_path / "s" / good["runs"][1]["folder"])]) == 0
    assert "One seed cannot tell" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_training_outlives_its_sweep(
    tmp_path: Path,
    started: Callable[..., subprocess.Popen[str]],
    number: signal.Signals,
) -> None:
    """Neither after Ctrl-C nor after `kill -9`; the same command continues."""
    folder = tmp_path / "s"
    arguments = ["sweep", *LONG, "--seeds", "2", "--parallel", "2"]
    arguments += ["--output", str(tmp_path), "--name", "s"]
    sweep = started(*arguments)
    runs = [folder / f"preset_seed{seed}" for seed in range(2)]
    wait_for(lambda: all((r / "metrics.csv").exists() for r in runs), "first epoch")
    second = subprocess.run(
        [sys.executable, "-m", "ambulo.cli", *arguments], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert second.returncode == 2
    assert second.stderr.endswith(
        "a sweep is running in this folder; stop it first\n"
    ), second.stderr
    sweep.send_signal(number)
    sweep.wait(timeout=100)
    if number == signal.SIGINT:
        assert sweep.returncode == 130
        assert processes_of(folder) == []
    wait_for(lambda: not processes_of(folder), "end of the trainings")
    steps = [_steps(run) for run in runs]
    assert all(count > 0 for count in steps)
    again = started(*arguments)
    wait_for(
        lambda: all(_steps(r) > s for r, s in zip(runs, steps, strict=True)), "resume"
    )
    assert all("--resume" in (run / "command.txt").read_text() for run in runs)
    again.send_signal(signal.SIGINT)
    again.wait(timeout=100)
    assert processes_of(folder) == []


def _steps(run: Path) -> int:
    """Updates of the newest checkpoint."""
    names = [file.stem.split("_")[-2] for file in (run / "checkpoints").glob("*.zip")]
    return max(map(int, names), default=0)


@pytest.mark.slow
def test_a_sweep_on_a_cluster(tmp_path: Path) -> None:
    """Each worker runs one training on its machine; the results are those of here."""
    pytest.importorskip("ray")
    place = ["--output", str(tmp_path), "--seeds", "2"]
    assert main([*TINY, *place, "--name", "here"]) == 0
    code = main(
        [*TINY, *place, "--name", "there", "--engine", "ray", "--parallel", "2"]
    )
    assert code == 0
    here, there = (
        json.loads((tmp_path / name / "report.json").read_text())["variants"][0]
        for name in ("here", "there")
    )
    assert here["runs"] == there["runs"]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_head_node_that_dies_is_told(
    tmp_path: Path, started: Callable[..., subprocess.Popen[str]]
) -> None:
    """Between short looks at the runs, too; Ray itself ends the program after a minute."""
    pytest.importorskip("ray")
    place = ["--output", str(tmp_path), "--name", "s", "--engine", "ray"]
    process = started("sweep", *LONG, *place, "--parallel", "1", "--seeds", "1")
    wait_for(lambda: list(tmp_path.glob("s/*/metrics.csv")), "training")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    heads = [
        int(child)
        for child in children.split()
        if b"gcs_server" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]
    assert heads
    os.kill(heads[0], signal.SIGKILL)
    _, said = process.communicate(timeout=90.0)
    assert process.returncode == 2, said
    assert "is gone: Connection refused" in said
    wait_for(lambda: not processes_of(tmp_path / "s"), "end of the training")


@pytest.mark.integration
def test_a_cluster_that_cannot_be_joined_leaves_no_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ray")
    place = ["--output", str(tmp_path), "--engine", "ray", "--address", "127.0.0.1:9"]
    assert main([*TINY, *place]) == 2
    assert "no cluster answers at 127.0.0.1:9" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_why_a_run_failed(tmp_path: Path) -> None:
    """What the log holds of earlier attempts is not told again."""
    log = tmp_path / "r.log"
    log.write_text("before\n")
    told = failure(log, -signal.SIGKILL, 7)
    assert told == f"FAILED: killed by SIGKILL (log: {log})"
    log.write_text("before\nambulo: error: no\n\n")
    told = failure(log, 2, 7)
    assert told == f"FAILED with exit code 2: ambulo: error: no (log: {log})"


def test_a_foreign_folder_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "mine.txt").write_text("x")
    assert main([*TINY, "--output", str(tmp_path), "--name", "s"]) == 2
    assert "is not the folder of a sweep" in capsys.readouterr().err
    assert [file.name for file in (tmp_path / "s").iterdir()] == ["mine.txt"]
    assert compare([str(tmp_path / "s"), str(tmp_path / "t")]) == 2


def test_settings_that_a_sweep_has_are_not_trained_again(tmp_path: Path) -> None:
    """A sweep that grows: what it has under another name stays one variant."""
    training = Training("muscle", "quick_test")
    folder = StudyFolder(tmp_path / "s", SweepPlan)
    counts = []
    for values in ("200", "200,300", "300,400"):
        flags = ["--seeds", "2", "--set", f"network.poses={values}"]
        with folder.claimed(planned(training, main.parse(flags))):
            (folder.logs / "begun.log").touch()
        plan = folder.plan()
        counts.append(len(plan.variants))
        assert len(plan.settings) == len(plan.variants)
        poses = [plan.settings[v.folder]["network"]["poses"] for v in plan.variants]
        assert len(set(poses)) == len(poses)
    assert counts == [1, 2, 3]
