"""Workers that play jobs: processes of this machine, or actors of a Ray cluster.

A crew starts workers, gives each one job at a time and reports what became of it. It
decides nothing: who plays what, and again, is the matter of `jobs`.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from logging.handlers import QueueHandler
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from platform import node
from typing import Any, Literal, Protocol, Self

from ambulo.common.signals import leaving_cleanly
from ambulo.configs.errors import ConfigError
from ambulo.configs.jobs import Play
from ambulo.train.shared.cluster import Cluster, Place, joined, own_place
from ambulo.train.shared.cluster_guards import LostWorkerError

PATIENCE = 5.0
"""Time for processes to remove incomplete files before they are killed, [s]."""


@dataclass(frozen=True)
class Event:
    """Report of a worker."""

    worker: int
    """Its number in the crew."""
    kind: Literal["ready", "done", "failed", "lost"]
    """It waits for jobs; its job is done, or raised; it is dead."""
    value: Any = None
    """The result of a job, or what it raised."""
    messages: Sequence[logging.LogRecord] = ()
    """Log records of the job."""


class Crew(Protocol):
    """Workers that can be started; each is a number."""

    def start_worker(self) -> int:
        """Begin a worker; `events` reports when it is ready."""

    def give(self, worker: int, job: Any) -> None:
        """Let a worker that is ready, or whose job is over, play a job."""

    def events(self, timeout: float) -> list[Event]:
        """Wait until workers report; empty when `timeout` [s] passed before."""

    def close(self) -> None:
        """End all workers."""


Outcome = tuple[Literal["done", "failed"], Any, list[logging.LogRecord]]
"""Kind, value and messages of an `Event`."""


def attempt(play: Play[Any, Any, Any], shared: Any, job: Any) -> Outcome:
    """Play a job; return its result or exception, which can be pickled, and messages."""
    with _Keeper() as kept:
        try:
            return "done", play(shared, job), kept.messages
        except Exception as error:
            error.add_note(traceback.format_exc())
            try:
                pickle.loads(pickle.dumps(error))
            except Exception:
                plain = RuntimeError(f"{type(error).__name__}: {error}")
                return "failed", plain, kept.messages
            return "failed", error, kept.messages


class _Keeper(QueueHandler):
    """Keeps what a worker logs, for the terminal of its driver."""

    def __init__(self) -> None:
        super().__init__(None)  # type: ignore[arg-type]  # a list is enough
        self.messages: list[logging.LogRecord] = []

    def enqueue(self, record: logging.LogRecord) -> None:
        self.messages.append(record)

    def __enter__(self) -> Self:
        logging.getLogger().addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self)


def _levels() -> dict[str, int]:
    """Levels of the loggers that commands set."""
    return {name: logging.getLogger(name).level for name in ("root", "ambulo")}


def _set_levels(levels: dict[str, int]) -> None:
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def _show(messages: Sequence[logging.LogRecord]) -> None:
    """Log what a worker has logged."""
    for message in messages:
        logging.getLogger(message.name).handle(message)


def check_seen(needs: Sequence[Path]) -> None:
    """Raise `ConfigError` if this machine does not see a path that jobs need."""
    for path in needs:
        if not path.exists():
            raise ConfigError(
                f"the machine {node()} does not see {path}: the files of jobs must be in "
                "folders that all machines of the cluster share"
            )


class Processes:
    """Processes of this machine, which end with it."""

    def __init__(self, play: Play[Any, Any, Any], shared: Any) -> None:
        """Start no process yet."""
        self._task = (play, shared)
        self._context = multiprocessing.get_context("spawn")
        self._alive: dict[int, tuple[BaseProcess, Connection]] = {}
        self._count = 0

    def start_worker(self) -> int:
        """Start a process."""
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=_serve, args=(theirs, _levels(), *self._task), daemon=True
        )
        with _no_interrupt():
            process.start()
        theirs.close()
        self._count += 1
        self._alive[self._count] = (process, ours)
        return self._count

    def give(self, worker: int, job: Any) -> None:
        """Send a job; the next `events` report a dead process."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self._alive[worker][1].send(job)

    def events(self, timeout: float) -> list[Event]:
        """Read what processes sent."""
        pipes = {pipe: worker for worker, (_, pipe) in self._alive.items()}
        return [self._read(pipes[pipe], pipe) for pipe in wait(list(pipes), timeout)]  # type: ignore[index, arg-type]

    def close(self) -> None:
        """End all processes; those that are in a job remove incomplete files before."""
        for process, pipe in self._alive.values():
            process.terminate()
            pipe.close()
        end = time.monotonic() + PATIENCE
        for process, _ in self._alive.values():
            process.join(max(0.0, end - time.monotonic()))
            process.kill()
            process.join()
        self._alive.clear()

    def _read(self, worker: int, pipe: Connection) -> Event:
        try:
            event = Event(worker, *pipe.recv())
            _show(event.messages)
            return event
        except (EOFError, OSError):  # dead, maybe in the middle of a message
            process, _ = self._alive.pop(worker)
            pipe.close()
            process.kill()
            process.join()
            return Event(worker, "lost")


class Actors:
    """Workers on a Ray cluster."""

    def __init__(
        self,
        play: Play[Any, Any, Any],
        shared: Any,
        needs: Sequence[Path],
        workers: int | None,
        address: str | None,
    ) -> None:
        """Join the cluster; see `cluster.joined` for errors."""
        with ExitStack() as stack:
            self._cluster: Cluster = stack.enter_context(joined(workers or 1, address))
            self.size = workers or self._cluster.cpus
            files = tuple(map(str, needs))
            self._task = (play, self._cluster.share(shared), files, _levels())
            self._alive: dict[int, Any] = {}
            self._waiting: dict[Any, int] = {}
            self._places: dict[int, Place] = {}
            self._count = 0
            self._leave = stack.pop_all()

    def start_worker(self) -> int:
        """Start an actor."""
        worker = self._cluster.spawn(Actor, *self._task)
        self._count += 1
        self._alive[self._count] = worker
        self._waiting[self._cluster.call(worker, "ready")] = self._count
        return self._count

    def give(self, worker: int, job: Any) -> None:
        """Call an actor."""
        called = self._cluster.call(self._alive[worker], "play", job)
        self._waiting[called] = worker

    def events(self, timeout: float) -> list[Event]:
        """Fetch what actors have made."""
        found = []
        for reference in self._cluster.first(list(self._waiting), timeout):
            worker = self._waiting.pop(reference)
            try:
                event = Event(worker, *self._cluster.result(reference))
            except LostWorkerError:
                self._cluster.end(self._alive.pop(worker))
                event = Event(worker, "lost")
            if event.kind == "ready":
                self._places[worker] = event.value
            _show(event.messages)
            found.append(event)
        return found

    def close(self) -> None:
        """End all actors and leave the cluster.

        Those that are in a job remove incomplete files before.
        """
        with self._leave:
            busy = {r: w for r, w in self._waiting.items() if w in self._places}
            self._cluster.interrupt(self._places[worker] for worker in busy.values())
            end = time.monotonic() + PATIENCE
            while busy and (left := end - time.monotonic()) > 0.0:
                for reference in self._cluster.first(list(busy), left):
                    del busy[reference]
            for worker in self._alive.values():
                self._cluster.end(worker)
            self._alive.clear()


class Actor:
    """A worker of Ray that plays one job after another."""

    def __init__(
        self,
        play: Play[Any, Any, Any],
        shared: Any,
        needs: Sequence[str],
        levels: dict[str, int],
    ) -> None:
        """Keep what all jobs share; log what is of the levels."""
        _set_levels(levels)
        self._play, self._shared, self._needs = play, shared, needs

    def ready(self) -> tuple[str, Place]:
        """Check that this machine has what jobs need; return where it is."""
        check_seen([Path(path) for path in self._needs])
        return "ready", own_place()

    def play(self, job: Any) -> Outcome:
        """Play a job."""
        return attempt(self._play, self._shared, job)


def _serve(
    pipe: Connection, levels: dict[str, int], play: Play[Any, Any, Any], shared: Any
) -> None:
    """Play the jobs that come through `pipe` until it is closed."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _set_levels(levels)
    with leaving_cleanly(), suppress(EOFError, OSError):  # the parent is gone
        pipe.send(("ready", None))
        while True:
            pipe.send_bytes(_message(attempt(play, shared, pipe.recv())))


def _message(outcome: Outcome) -> Any:
    try:
        return ForkingPickler.dumps(outcome)
    except Exception as error:
        text = f"its result cannot be sent: {type(error).__name__}: {error}"
        return ForkingPickler.dumps(("failed", RuntimeError(text), outcome[2]))


def _end_with_parent() -> None:
    """End this process, even in the middle of a job, when its parent is gone."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Let processes that are started never see Ctrl-C, which is for their parent."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # its start would unblock signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
