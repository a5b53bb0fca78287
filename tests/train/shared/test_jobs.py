"""Jobs of many workers: order, back-pressure, workers that die, errors of jobs."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fixtures.jobs import (
    deadly,
    draw,
    dying,
    failing,
    interrupted,
    logging_job,
    told,
    unsendable,
)

from ambulo.configs.errors import ConfigError
from ambulo.train.shared.jobs import AHEAD, ATTEMPTS, JobError, Workers

pytestmark = pytest.mark.integration

TWO = Workers(count=2)


def test_every_engine_and_number_gives_the_same_in_order() -> None:
    alone = list(Workers().in_order(draw, 7, range(9)))
    for workers in (Workers(count=1), Workers(count=3)):
        results = list(workers.in_order(draw, 7, range(9)))
        np.testing.assert_array_equal(results, alone)
    unordered = sorted(map(tuple, TWO.as_done(draw, 7, range(9))))
    assert unordered == sorted(map(tuple, alone))
    assert not multiprocessing.active_children()


def test_no_job_needs_no_worker() -> None:
    assert list(TWO.in_order(draw, 7, [])) == []


@pytest.mark.parametrize("ordered", [True, False])
def test_a_slow_consumer_stops_the_workers(tmp_path: Path, ordered: bool) -> None:
    taken: list[int] = []

    def source() -> Iterator[int]:
        for job in range(100):
            taken.append(job)
            yield job

    apply = TWO.in_order if ordered else TWO.as_done
    results = apply(told, str(tmp_path), source())
    for given in range(1, 4):
        next(results)
        time.sleep(0.3)
        assert len(list(tmp_path.iterdir())) <= len(taken) <= given + 2 * AHEAD
    results.close()  # type: ignore[attr-defined]
    assert not multiprocessing.active_children()


def test_the_job_of_a_killed_worker_is_played_again(tmp_path: Path) -> None:
    assert list(TWO.in_order(dying, str(tmp_path), range(6))) == list(range(6))
    assert (tmp_path / "died").exists()


def test_workers_that_die_while_nobody_waits_are_replaced() -> None:
    results = []
    for result in TWO.as_done(draw, 7, range(8)):
        results.append(tuple(result))
        if len(results) in (1, 4):
            for victim in multiprocessing.active_children():
                assert victim.pid
                os.kill(victim.pid, signal.SIGKILL)
                victim.join()
    alone = Workers().in_order(draw, 7, range(8))
    assert sorted(results) == sorted(map(tuple, alone))


def test_a_job_that_kills_its_workers_is_given_up() -> None:
    with pytest.raises(JobError, match=f"job seven: its worker died {ATTEMPTS} times"):
        list(TWO.in_order(deadly, None, range(3), lambda job: ["one", "seven"][job]))
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("workers", [Workers(), TWO])
def test_errors_name_the_job(workers: Workers) -> None:
    with pytest.raises(JobError, match=r"^job 1: its feet are missing$") as known:
        list(workers.in_order(failing, "known", range(3)))
    assert known.value.__cause__ is not None
    with pytest.raises(JobError, match="job clip1: TypeError: two feet wanted"):
        list(workers.in_order(failing, "", range(3), lambda job: f"clip{job}"))


@pytest.mark.parametrize(
    "engine", ["process", pytest.param("ray", marks=pytest.mark.slow)]
)
def test_incomplete_files_are_removed_when_work_is_left(
    tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "ray":
        pytest.importorskip("ray")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # of Ray's workers
    results = Workers(engine, 2).as_done(interrupted, str(tmp_path), range(2))
    assert next(results) == 0
    assert (tmp_path / "incomplete").exists()
    results.close()  # type: ignore[attr-defined]  # a generator
    assert list(tmp_path.iterdir()) == []


def test_what_jobs_log_is_shown_here(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="ambulo"):
        assert list(TWO.in_order(logging_job, None, range(3))) == [0, 1, 2]
    shown = sorted(r.getMessage() for r in caplog.records if r.name == "ambulo.tests")
    assert shown == ["job 0", "job 1", "job 2"]


def test_a_result_that_cannot_be_sent_is_an_error() -> None:
    with pytest.raises(
        JobError, match="job 0: RuntimeError: its result cannot be sent"
    ):
        list(TWO.in_order(unsendable, None, range(1)))


def test_bad_numbers_are_told() -> None:
    with pytest.raises(ConfigError, match="did you mean 'process'"):
        Workers("proces")
    with pytest.raises(ConfigError, match="--workers must be at least 1"):
        Workers(count=0)
    with pytest.raises(ConfigError, match="--address needs --engine ray"):
        Workers(address="head:6379")


PROGRAM = """
import signal
import sys
from fixtures.jobs import napping
from ambulo.common.errors import cli_entry_point
from ambulo.train.shared.jobs import Workers

def main(argv):
    list(Workers("{engine}", 2).in_order(napping, argv[0], range(4)))

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    sys.exit(cli_entry_point(main)())
"""


def program(folder: Path, engine: str) -> subprocess.Popen[str]:
    """A program with two workers, in a session of its own, that play jobs of a minute."""
    script, napping_folder = folder / "program.py", folder / "pids"
    script.write_text(PROGRAM.format(engine=engine))
    napping_folder.mkdir()
    tests = Path(__file__).parents[2]
    paths = [str(tests), *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.Popen(
        [sys.executable, str(script), str(napping_folder)],
        start_new_session=True, text=True, stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip
    deadline = time.monotonic() + 60.0
    while len(list(napping_folder.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(session(process.pid)) > 2
    return process


def session(leader: int) -> list[str]:
    """Names of the living processes in the session of `leader`."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                name, _, rest = (folder / "stat").read_text().rpartition(")")
            except OSError:
                continue
            if int(rest.split()[3]) == leader and rest.split()[0] != "Z":
                found.append(name)
    return found


def assert_gone(leader: int, seconds: float) -> None:
    """Check that a session has ended after some time at most."""
    deadline = time.monotonic() + seconds
    while session(leader) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not session(leader)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "engine", ["process", pytest.param("ray", marks=pytest.mark.slow)]
)
def test_ctrl_c_leaves_one_line_and_no_process(tmp_path: Path, engine: str) -> None:
    process = program(tmp_path, engine)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60.0)
    assert process.returncode == 130
    assert said.splitlines() == ["ambulo: interrupted"]
    assert_gone(process.pid, 20.0)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "engine", ["process", pytest.param("ray", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_program_leaves_no_process(
    tmp_path: Path, engine: str, number: signal.Signals
) -> None:
    process = program(tmp_path, engine)
    os.kill(process.pid, number)
    process.wait(timeout=60.0)
    assert_gone(process.pid, 20.0)
