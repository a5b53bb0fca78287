"""The pool: same poses as without it, jobs never lost or answered twice, clean ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import numpy as np
import pytest
from fixtures.ik_networks import RIG, ik_tensors
from fixtures.ik_networks import random_poses as poses

from ambulo.configs.errors import IKError
from ambulo.ik.pool import workers
from ambulo.ik.pool.slots import Job, JobPart, divided
from ambulo.ik.pool.workers import NeuralIKPool
from ambulo.ik.solver.headers import IKNetworkHeader
from ambulo.ik.solver.network import IKNetwork
from ambulo.ik.solver.published import Context
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.solver.targets import Targets

pytestmark = pytest.mark.integration

posix_only = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")


def network(seed: int) -> IKNetwork:
    """Random weights that answer near the mean pose."""
    return IKNetwork(
        IKNetworkHeader(hidden=(16,)), ik_tensors((16,), seed, 0.02), rig=RIG
    )


def stop(pid: int) -> None:
    """Stop a process and wait until it is."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: " T " in Path(f"/proc/{pid}/stat").read_text())


def until(done: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for `done()`."""
    limit = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < limit
        time.sleep(0.02)


def gone(pid: int) -> bool:
    """Whether a process has ended and was waited for."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_poses_are_those_of_the_solver(pool: NeuralIKPool) -> None:
    truth = poses(5)
    targets = Targets.of_pose(RIG, truth).without("Hips")
    solver = NeuralIKSolver(RIG, steps=4)
    for base in (None, poses(5, seed=1)):
        alone = solver.solve(targets, base)
        result = pool.solve(targets, base)
        assert result.success
        assert result.solution is not None
        np.testing.assert_allclose(
            result.solution.pose.rotations, alone.pose.rotations, atol=1e-9
        )
        np.testing.assert_allclose(
            result.solution.pose.root, alone.pose.root, atol=1e-9
        )
        np.testing.assert_array_equal(result.solution.reached, alone.reached)
        np.testing.assert_allclose(
            result.solution.position_residual, alone.position_residual, atol=1e-9
        )
        np.testing.assert_array_equal(result.solution.steps, alone.steps)
        assert 0.0 < result.solve_us < result.total_us


def test_answers_wait_for_whoever_asks_and_come_once(pool: NeuralIKPool) -> None:
    """Defect 10: a test that drained the queue and dropped the others' results.

    More jobs than slots: handing in waits for a free one, nothing is dropped.
    """
    given = [Targets.of_pose(RIG, poses(2, seed)) for seed in range(9)]
    jobs = [pool.submit(targets) for targets in given]
    assert len(set(jobs)) == 9
    for job, targets in reversed(list(zip(jobs, given, strict=True))):
        result = pool.result(job)
        assert result.job == job
        assert result.solution is not None
        there = Targets.of_pose(RIG, result.solution.pose)
        np.testing.assert_allclose(there.positions, targets.positions, atol=1e-3)
    with pytest.raises(IKError, match="taken before"):
        pool.result(jobs[0])


def test_wrong_jobs_are_refused_before_they_are_sent(pool: NeuralIKPool) -> None:
    with pytest.raises(IKError, match="1 to 8 characters, got 9"):
        pool.submit(Targets.of_pose(RIG, poses(9)))
    with pytest.raises(IKError, match="expected 2 poses"):
        pool.submit(Targets.of_pose(RIG, poses(2)), poses(3))


def test_failure_inside_a_worker_is_an_answer() -> None:
    targets = Targets.of_pose(RIG, poses(1))
    with NeuralIKPool(workers=1, capacity=8, slots=4, deadline=60.0) as pool:
        result = pool.solve(targets, context=Context.level(targets))
        assert not result.success
        assert "no published network is cached" in result.reason
        assert result.solution is None
        assert pool.solve(targets).success


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_each_worker_has_one_thread(pool: NeuralIKPool) -> None:
    pool.wait_ready()
    for stats in pool.stats():
        assert len(list(Path(f"/proc/{stats.pid}/task").iterdir())) == 1
        environment = Path(f"/proc/{stats.pid}/environ").read_bytes()
        assert b"OPENBLAS_NUM_THREADS=1" in environment.split(b"\0")


def test_load_and_timings_are_counted(pool: NeuralIKPool) -> None:
    before = pool.stats()
    pool.solve(Targets.of_pose(RIG, poses(3)))
    after = pool.stats()
    assert sum(s.jobs for s in after) == sum(s.jobs for s in before) + 1
    assert sum(s.characters for s in after) == sum(s.characters for s in before) + 3
    assert all(0.0 <= s.load < 1.0 for s in after)
    assert after[0].median_us <= after[0].p99_us


def test_every_worker_takes_a_network(pool: NeuralIKPool) -> None:
    given = network(1)
    assert pool.cache(given) == given.parameters
    targets = Targets.of_pose(RIG, poses(4))
    alone = NeuralIKSolver(RIG, given, steps=4).solve(targets)
    jobs = [pool.submit(targets) for _ in range(4)]
    results = [pool.result(job) for job in jobs]
    assert {worker for result in results for worker in result.workers} == {0, 1}
    for result in results:
        assert result.solution is not None
        np.testing.assert_allclose(
            # Parts of another size: the network's sums are of another order.
            result.solution.pose.rotations,
            alone.pose.rotations,
            atol=1e-5,
        )


def shared_out(pool: NeuralIKPool, count: int, seed: int) -> tuple[Targets, int]:
    """A job that both workers are given a part of, and its number."""
    pool.wait_ready()
    targets = Targets.of_pose(RIG, poses(count, seed))
    return targets, pool.submit(targets)


def test_characters_of_a_job_are_shared_out(pool: NeuralIKPool) -> None:
    """7 characters and two idle workers: 3 and 4, put together in their order."""
    targets, job = shared_out(pool, 7, seed=3)
    result = pool.result(job)
    assert result.workers == (0, 1)
    assert result.solution is not None
    there = Targets.of_pose(RIG, result.solution.pose)
    np.testing.assert_allclose(there.positions, targets.positions, atol=1e-3)
    assert result.solution.reached.shape == (7, 6)


def test_the_callers_process_can_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "usable_cores", lambda: 2)
    targets = Targets.of_pose(RIG, poses(5, seed=8))
    given = network(4)
    wanted = NeuralIKSolver(RIG, given, steps=4).solve(targets)
    with NeuralIKPool(workers=1, capacity=8, slots=2, helps=True) as pool:
        pool.cache(given)
        result = pool.solve(targets)
        assert result.workers == (workers.HERE, 0)
        assert result.solution is not None
        np.testing.assert_allclose(
            result.solution.pose.rotations, wanted.pose.rotations, atol=1e-5
        )
        few = pool.solve(targets[:2])
        assert few.workers == (workers.HERE,)
        failed = pool.solve(targets, context=Context.level(targets))
        assert "no published network is cached" in failed.reason
        assert pool.result(pool.submit(targets)).workers == (0,)


def test_parts_are_nearly_equal_and_not_too_small() -> None:
    def sizes(count: int, ways: int, attempts: int = 0) -> list[tuple[int, int]]:
        job = Job(1, 0, count, 0, 0.0)
        parts = divided(JobPart(job, 0, count, attempts), ways)
        assert job.left == len(parts)
        return [(part.first, part.count) for part in parts]

    assert sizes(8, 2) == [(0, 4), (4, 4)]
    assert sizes(7, 3) == [(0, 2), (2, 2), (4, 3)]
    assert sizes(3, 2) == [(0, 3)]
    assert sizes(8, 0) == [(0, 8)]
    assert sizes(8, 2, attempts=1) == [(0, 8)]  # taken back from a worker: as it was


@posix_only
def test_part_of_a_killed_worker_is_done_by_the_other(pool: NeuralIKPool) -> None:
    pool.wait_ready()
    pid = pool.stats()[1].pid
    stop(pid)
    targets, job = shared_out(pool, 8, seed=6)
    os.kill(pid, signal.SIGKILL)
    result = pool.result(job)
    assert (result.success, result.workers, result.attempts) == (True, (0, 0), 2)
    assert result.solution is not None
    there = Targets.of_pose(RIG, result.solution.pose)
    np.testing.assert_allclose(there.positions, targets.positions, atol=1e-3)


@posix_only
def test_slot_of_a_failed_part_waits_for_the_others(
    pool: NeuralIKPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one worker still writes to it, nobody else may be given the slot."""
    monkeypatch.setattr(workers, "ATTEMPTS", 1)
    pool.wait_ready()
    slow, lost = (stats.pid for stats in pool.stats())
    stop(slow)
    stop(lost)
    _, job = shared_out(pool, 8, seed=7)
    os.kill(lost, signal.SIGKILL)
    with pytest.raises(IKError, match="no answer"):
        pool.result(job, timeout=0.3)
    os.kill(slow, signal.SIGCONT)
    result = pool.result(job)
    assert (result.success, result.workers) == (False, (0, -1))
    assert "1 workers ended at this job" in result.reason


@posix_only
def test_job_of_a_killed_worker_is_done_by_another(pool: NeuralIKPool) -> None:
    pool.cache(network(2))
    pool.wait_ready()
    pids = [stats.pid for stats in pool.stats()]
    targets = Targets.of_pose(RIG, poses(2))
    expected = pool.solve(targets).solution
    stop(pids[0])  # so that it is killed with the job in its hands
    job = pool.submit(targets)
    os.kill(pids[0], signal.SIGKILL)
    result = pool.result(job)
    assert (result.success, result.worker, result.attempts) == (True, 1, 2)
    assert result.solution is not None
    assert expected is not None
    np.testing.assert_allclose(
        result.solution.pose.rotations, expected.pose.rotations, atol=1e-9
    )
    assert gone(pids[0])
    # The one in its place knows the network that it was not there to be given.
    pool.wait_ready()
    assert pool.stats()[0].restarts >= 1
    again = pool.solve(targets)
    assert again.worker == 0
    assert again.solution is not None
    np.testing.assert_allclose(
        again.solution.pose.rotations, expected.pose.rotations, atol=1e-9
    )


@posix_only
def test_job_of_a_worker_that_hangs_is_done_by_another(pool: NeuralIKPool) -> None:
    pool.wait_ready()
    pid = pool.stats()[0].pid
    stop(pid)
    deadline, pool.deadline = pool.deadline, 0.5
    job = pool.submit(Targets.of_pose(RIG, poses(1)))
    pool.deadline = deadline
    result = pool.result(job)
    assert (result.success, result.worker, result.attempts) == (True, 1, 2)
    assert gone(pid)


@posix_only
def test_job_that_ends_every_worker_is_answered_as_failed(
    pool: NeuralIKPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "ATTEMPTS", 1)
    pool.wait_ready()
    pid = pool.stats()[0].pid
    stop(pid)
    job = pool.submit(Targets.of_pose(RIG, poses(1)))
    os.kill(pid, signal.SIGKILL)
    result = pool.result(job)
    assert not result.success
    assert "1 workers ended at this job" in result.reason
    assert pool.solve(Targets.of_pose(RIG, poses(1))).success


@pytest.mark.slow
def test_closed_pool_leaves_nothing() -> None:
    pool = NeuralIKPool(workers=1, capacity=2, slots=2)
    pids = [stats.pid for stats in pool.stats()]
    name = pool.memory_name
    pool.close()
    pool.close()
    assert all(gone(pid) for pid in pids)
    with pytest.raises(FileNotFoundError):
        SharedMemory(name)
    with pytest.raises(IKError, match="closed"):
        pool.submit(Targets.of_pose(RIG, poses(1)))


SCRIPT = """
import signal
import time
from ambulo.ik.pool.workers import NeuralIKPool
if __name__ == "__main__":
    # A shell that runs tests in the background hands on that Control-C is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    pool = NeuralIKPool(workers=1, capacity=2, slots=2)
    print(pool.stats()[0].pid, pool.memory_name, flush=True)
    time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="signals and /dev/shm")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_and_memory_do_not_outlive_the_program(
    tmp_path: Path, how: signal.Signals
) -> None:
    script = tmp_path / "pool_script.py"
    script.write_text(SCRIPT)
    program = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert program.stdout is not None
    pid, name = program.stdout.readline().split()
    program.send_signal(how)
    program.wait(timeout=60)
    program.stdout.close()
    until(lambda: _ended(int(pid)))
    until(lambda: not Path("/dev/shm", name).exists())


def _ended(pid: int) -> bool:
    """Whether a process of somebody else's has ended, waited for or not."""
    try:
        return ") Z" in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
