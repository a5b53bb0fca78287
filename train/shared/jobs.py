"""Many jobs for many workers: nothing is lost, nothing doubled, memory stays small.

The result of a job does not depend on the worker, so a job whose worker died is run again
by another. Each worker runs one job at a time. A slow consumer stops the workers: at most
`AHEAD` jobs a worker are begun while results wait.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Generic

from ambulo.common.engine_flags import MOST_WORKERS, WorkerFlags
from ambulo.common.errors import one_line
from ambulo.configs.errors import AmbuloError, ConfigError, nearest
from ambulo.configs.jobs import Job, Play, Result, Shared, here
from ambulo.train.shared.cluster_guards import ClusterError
from ambulo.train.shared.crews import Actors, Crew, Event, Processes

log = logging.getLogger(__name__)

ENGINES = ("process", "ray")
"""Kinds of workers: processes of this machine, or workers on a Ray cluster."""
ATTEMPTS = 4
"""Times that a job may lose its worker; then something is wrong with the job."""
AHEAD = 3
"""Jobs a worker that are begun while results wait."""
PATIENCE = 120.0
"""A new worker that is not ready after this time will never be, [s]."""


class JobError(AmbuloError):
    """A job that raised, or whose workers die again and again; the message names it."""


@dataclass(frozen=True)
class Workers:
    """The workers that run jobs."""

    engine: str = "process"
    """One of `ENGINES`."""
    count: int | None = None
    """How many workers. None: this process alone; with ray, one for each CPU."""
    address: str | None = None
    """Head node of the Ray cluster, as for `cluster.joined`."""
    needs: tuple[Path, ...] = ()
    """Files and folders that jobs use: workers on other machines must see them."""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if self.engine not in ENGINES:
            raise ConfigError(
                f"unknown engine {self.engine!r}{nearest(self.engine, ENGINES)}"
            )
        if self.count is not None and not 1 <= self.count <= MOST_WORKERS:
            raise ConfigError(f"--workers must be at least 1, at most {MOST_WORKERS}")
        if self.address is not None and self.engine != "ray":
            raise ConfigError("--address needs --engine ray")

    @contextmanager
    def sharing(self, folder: Path) -> Iterator[Workers]:
        """Yield these workers, which on other machines must see files made in `folder`.

        There is a hidden empty file in it for as long.
        """
        if self.engine != "ray":
            yield self
            return
        folder.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=folder, prefix=".shared-") as made:
            yield replace(self, needs=(*self.needs, Path(made.name)))

    def in_order(
        self,
        play: Play[Shared, Job, Result],
        shared: Shared,
        jobs: Iterable[Job],
        name: Callable[[Job], str] = str,
    ) -> Iterator[Result]:
        """Yield results in the order of the jobs; an `Apply`.

        Raises:
            JobError: a job raised, or lost its worker `ATTEMPTS` times.
            ConfigError: as for `cluster.joined`, or a worker does not see what it needs.
            ClusterError: the cluster is gone, or starts no worker.
        """
        return self._results(play, shared, jobs, name, True)

    def as_done(
        self,
        play: Play[Shared, Job, Result],
        shared: Shared,
        jobs: Iterable[Job],
        name: Callable[[Job], str] = str,
    ) -> Iterator[Result]:
        """Yield results as they come; otherwise as `in_order`."""
        return self._results(play, shared, jobs, name, False)

    def _results(
        self,
        play: Play[Any, Any, Any],
        shared: Any,
        jobs: Iterable[Any],
        name: Callable[[Any], str],
        ordered: bool,
    ) -> Iterator[Any]:
        if self.engine == "process" and self.count is None:
            yield from here(_Named(play, name), shared, jobs, name)
            return
        source = iter(jobs)
        first = next(source, _NOTHING)
        if first is _NOTHING:
            return
        crew: Crew
        if self.engine == "ray":
            crew = actors = Actors(play, shared, self.needs, self.count, self.address)
            size = actors.size
        else:
            crew, size = Processes(play, shared), self.count or 1
        schedule = _Schedule(crew, size, chain([first], source), name, ordered)
        try:
            yield from schedule.results()
        finally:
            crew.close()


_NOTHING: Any = object()


@dataclass(frozen=True)
class _Named(Generic[Shared, Job, Result]):
    """A function whose errors name the job."""

    play: Play[Shared, Job, Result]
    name: Callable[[Job], str]

    def __call__(self, shared: Shared, job: Job) -> Result:
        try:
            return self.play(shared, job)
        except Exception as error:
            raise failed(self.name(job), error) from error


@dataclass
class _Task:
    """A job on its way."""

    number: int
    job: Any
    lost: int = 0


@dataclass
class _Schedule:
    """Which worker runs which job; see the module."""

    crew: Crew
    size: int
    source: Iterator[Any]
    name: Callable[[Any], str]
    ordered: bool
    waiting: deque[_Task] = field(default_factory=deque)
    running: dict[int, _Task] = field(default_factory=dict)
    starting: set[int] = field(default_factory=set)
    idle: list[int] = field(default_factory=list)
    finished: dict[int, Any] = field(default_factory=dict)
    ready: deque[Any] = field(default_factory=deque)
    taken: int = 0
    given: int = 0
    failed_starts: int = 0
    exhausted: bool = False

    def results(self) -> Iterator[Any]:
        """Yield the results of all jobs."""
        while True:
            self._assign()
            if self.ready:
                yield self.ready.popleft()
                self.given += 1
                continue
            if not self.running and not self.waiting:
                return
            events = self.crew.events(PATIENCE)
            if not events and not self.running:
                raise ClusterError(
                    f"no worker was ready after {PATIENCE:.0f} s: are the cluster's CPUs "
                    "in use? See `ray status`; use fewer --workers"
                )
            for event in events:
                self._handle(event)

    def _assign(self) -> None:
        """Give jobs to idle workers; start one where jobs wait."""
        self._fetch()
        while self.idle and self.waiting:
            worker, task = self.idle.pop(), self.waiting.popleft()
            self.running[worker] = task
            self.crew.give(worker, task.job)
        alive = len(self.running) + len(self.starting) + len(self.idle)
        for _ in range(min(len(self.waiting) - len(self.starting), self.size - alive)):
            self.starting.add(self.crew.start_worker())

    def _fetch(self) -> None:
        """Give jobs to idle workers, at most `AHEAD` ahead of the results."""
        while not self.exhausted and self.taken - self.given < AHEAD * self.size:
            if len(self.running) + len(self.waiting) >= self.size:
                return
            job = next(self.source, _NOTHING)
            self.exhausted = job is _NOTHING
            if not self.exhausted:
                self.waiting.append(_Task(self.taken, job))
                self.taken += 1

    def _handle(self, event: Event) -> None:
        """Note what became of a worker and its job."""
        if event.worker in self.starting:
            self.starting.discard(event.worker)
            self._began(event)
            return
        task = self.running.pop(event.worker, None)
        if event.kind == "lost":
            if event.worker in self.idle:
                self.idle.remove(event.worker)
            if task is not None:
                self._play_again(task)
            return
        assert task is not None
        self.idle.append(event.worker)
        if event.kind == "failed":
            raise failed(self.name(task.job), event.value) from event.value
        if not self.ordered:
            self.ready.append(event.value)
            return
        self.finished[task.number] = event.value
        while self.given + len(self.ready) in self.finished:
            number = self.given + len(self.ready)
            self.ready.append(self.finished.pop(number))

    def _began(self, event: Event) -> None:
        """Note that a worker is ready, or died before."""
        if event.kind == "ready":
            self.idle.append(event.worker)
            self.failed_starts = 0
            return
        self.failed_starts += 1
        if self.failed_starts >= ATTEMPTS:
            raise ClusterError(
                f"{ATTEMPTS} workers died before they could begin (out of memory, or "
                "started by a program without `if __name__ == '__main__':`?)"
            )

    def _play_again(self, task: _Task) -> None:
        """Let another worker play a job whose worker died."""
        task.lost += 1
        name = self.name(task.job)
        if task.lost >= ATTEMPTS:
            raise JobError(
                f"job {name}: its worker died {ATTEMPTS} times (out of memory?); use fewer "
                "workers or smaller jobs"
            )
        log.warning("a worker died; job %s is played again", name)
        self.waiting.appendleft(task)


def failed(name: str, error: Exception) -> JobError:
    """Return the error of a job that raised `error`."""
    reason = one_line(error)
    if not isinstance(error, AmbuloError | OSError | MemoryError):
        reason = f"{type(error).__name__}: {reason}"
    return JobError(f"job {name}: {reason}")


def workers_of(
    flags: WorkerFlags, needs: Iterable[Path] = (), default: int | None = None
) -> Workers:
    """Return who the flags ask to work.

    Args:
        flags: where work is done.
        needs: files and folders that jobs use.
        default: processes where no number is given; None: this process alone.
    """
    count = flags.workers
    if count is None and not flags.on_cluster:
        count = default
    engine = "ray" if flags.on_cluster else "process"
    return Workers(engine, count, flags.address, tuple(needs))
