"""Who plays the jobs of a roll-out: processes of this machine, or actors of Ray."""

from __future__ import annotations

import logging
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from ambulo.configs.errors import AmbuloError, ConfigError, nearest
from ambulo.train.gait.rollouts import RolloutPlan, RolloutResult, play_job

log = logging.getLogger(__name__)

Play = Callable[[RolloutPlan, int], RolloutResult]
Engine = Callable[[RolloutPlan, Sequence[int], int, Play], Iterator[RolloutResult]]

ATTEMPTS = 4
"""Times that a job may lose its worker; then something is wrong with the job."""


class RolloutError(AmbuloError):
    """A job whose workers die again and again."""


def by_processes(
    plan: RolloutPlan, jobs: Sequence[int], workers: int, play: Play = play_job
) -> Iterator[RolloutResult]:
    """Results as they come, from `workers` processes; dead ones are replaced.

    When a process dies, so does its pool; what it had not yet given is played again.

    Raises:
        RolloutError: A job lost its worker `ATTEMPTS` times.
    """
    left, lost = list(jobs), dict.fromkeys(jobs, 0)
    context = multiprocessing.get_context("spawn")
    while left:
        with ProcessPoolExecutor(workers, mp_context=context) as pool:
            waiting = iter(list(left))
            running: dict[Future[RolloutResult], int] = {}
            broken = False
            while not broken:
                for job in waiting:
                    try:
                        running[pool.submit(play, plan, job)] = job
                    except BrokenProcessPool:  # a process died while nobody waited
                        broken = True
                        break
                    if len(running) >= 2 * workers:
                        break
                if not running:
                    break
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    job = running.pop(future)
                    try:
                        result = future.result()
                    except BrokenProcessPool:
                        broken = True
                        running[future] = job
                        continue
                    left.remove(job)
                    yield result
            if broken:
                # Whose process died is not known: those that ran share the blame.
                _note(lost, [running[future] for future in running])


def by_ray(
    plan: RolloutPlan, jobs: Sequence[int], workers: int, play: Play = play_job
) -> Iterator[RolloutResult]:
    """Results as they come, from actors of a Ray cluster; dead actors are replaced.

    Joins the cluster that `RAY_ADDRESS` names, else starts one on this machine.

    Raises:
        ConfigError: Ray is not installed.
        RolloutError: A job lost its actor `ATTEMPTS` times.
    """
    try:
        import ray
    except ImportError:
        raise ConfigError(
            "--engine ray needs the package ray: pip install ambulo[ray]"
        ) from None
    started = not ray.is_initialized()
    if started:
        _start(ray, workers)
    kind: Any = ray.remote(num_cpus=1, max_restarts=0)(_Actor)
    shared = ray.put(plan)
    left, lost = list(jobs), dict.fromkeys(jobs, 0)
    running: dict[Any, tuple[Any, int]] = {}
    try:
        free = [kind.remote(play) for _ in range(min(workers, len(left)))]
        while left or running:
            while free and left:
                actor, job = free.pop(0), left.pop(0)
                running[actor.play.remote(shared, job)] = (actor, job)
            done, _ = ray.wait(list(running), num_returns=1)
            for reference in done:
                actor, job = running.pop(reference)
                try:
                    result: RolloutResult = ray.get(reference)
                except ray.exceptions.RayTaskError as error:
                    raise _cause(error) from None
                except ray.exceptions.RayError:  # an actor, its node or its memory
                    _note(lost, [job])
                    left.append(job)
                    free.append(kind.remote(play))
                    continue
                free.append(actor)
                yield result
    finally:
        if started:
            ray.shutdown()


def _start(ray: Any, workers: int) -> None:
    """Join the cluster that is named, or start one with room for the workers."""
    options: dict[str, Any] = {"configure_logging": False, "log_to_driver": False}
    if "RAY_ADDRESS" not in os.environ:
        # By default Ray's workers step back behind everything else on the machine.
        os.environ.setdefault("RAY_worker_niceness", "0")
        options |= {
            "num_cpus": max(workers, os.cpu_count() or 1),
            "include_dashboard": False,
        }
    ray.init(**options)


class _Actor:
    """A worker of Ray that plays one job after another."""

    def __init__(self, play: Play) -> None:
        self._play = play

    def play(self, plan: RolloutPlan, job: int) -> RolloutResult:
        return self._play(plan, job)


ENGINES: dict[str, Engine] = {"process": by_processes, "ray": by_ray}
"""Engines by name."""


def engine(name: str) -> Engine:
    """The engine `name`; `ConfigError` lists what there is."""
    if name not in ENGINES:
        raise ConfigError(f"unknown engine {name!r}{nearest(name, ENGINES)}")
    return ENGINES[name]


def _note(lost: dict[int, int], jobs: Sequence[int]) -> None:
    """Count a lost worker for `jobs`."""
    for job in jobs:
        lost[job] += 1
        if lost[job] >= ATTEMPTS:
            raise RolloutError(
                f"job {job}: its worker died {ATTEMPTS} times (out of memory?); use fewer "
                "workers or fewer episodes a file"
            )
    log.warning("a worker died; %d jobs are played again", len(jobs))


def _cause(error: Any) -> BaseException:
    """What a task of Ray raised."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, BaseException) else error
