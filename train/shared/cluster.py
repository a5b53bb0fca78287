"""Workers on a Ray cluster: the only module that imports ray.

A worker is an actor: an object of a plain class in a process of its own, which may be on
another machine. Its methods are called by name; `Cluster.result` waits for the answer.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ambulo.configs.errors import AmbuloError, ConfigError

log = logging.getLogger(__name__)

QUIET = {
    # Workers have the priority of the program that started them.
    "RAY_worker_niceness": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    # Every line of a worker is shown, not only the first of several equal ones.
    "RAY_DEDUP_LOGS": "0",
}
"""Variables of a cluster that is started here, unless they are set already."""


class ClusterError(AmbuloError):
    """A cluster that cannot be joined or started, or is too small."""


class LostWorkerError(AmbuloError):
    """A worker that died: its process, its machine or its memory is gone."""


class Cluster:
    """A Ray cluster that this process has joined; see `joined`."""

    def __init__(self, ray: Any) -> None:
        """Use the initialised module `ray`."""
        self._ray = ray

    @property
    def cpus(self) -> int:
        """CPUs of all nodes together."""
        return int(self._ray.cluster_resources().get("CPU", 0))

    def spawn(
        self, kind: type, *args: Any, variables: dict[str, str] | None = None
    ) -> Any:
        """Start a worker that makes `kind(*args)`; return its handle at once.

        Args:
            kind: a class that workers can import or that can be pickled.
            *args: its arguments, pickled.
            variables: environment variables of the worker's process.
        """
        options: dict[str, Any] = {"num_cpus": 1, "max_restarts": 0}
        if variables:
            options["runtime_env"] = {"env_vars": variables}
        return self._ray.remote(**options)(kind).remote(*args)

    def call(self, worker: Any, method: str, *args: Any) -> Any:
        """Begin `worker.method(*args)`; return the reference of its result."""
        return getattr(worker, method).remote(*args)

    def share(self, value: Any) -> Any:
        """Put a large argument of many calls into the cluster once; return its reference."""
        return self._ray.put(value)

    def first(
        self, references: Sequence[Any], timeout: float | None = None
    ) -> list[Any]:
        """Wait until a result is there; return the references that are ready.

        Empty when `timeout` [s] passed before.
        """
        ready, _ = self._ray.wait(list(references), num_returns=1, timeout=timeout)
        return list(ready)

    def result(self, reference: Any) -> Any:
        """Wait for a result.

        Raises:
            LostWorkerError: the worker died.
            ConfigError: the worker could not be made, because its machine lacks a package.
            Exception: what the worker's method raised, otherwise.
        """
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as error:
            raise _cause_of(error) from None
        except errors.RayError as error:
            raise _lost(error) from None

    def end(self, worker: Any) -> None:
        """End a worker's process."""
        self._ray.kill(worker)


@contextmanager
def joined(workers: int, address: str | None = None) -> Iterator[Cluster]:
    """Join a cluster with room for `workers`, or start one here; leave it at the end.

    Args:
        workers: how many workers will be spawned, each on one CPU.
        address: of the head node, `HOST:PORT` or `auto`; None: what `RAY_ADDRESS` names,
            else a cluster of this machine alone, which ends with this process.

    Raises:
        ConfigError: Ray is not installed, or there are fewer CPUs than workers.
        ClusterError: nothing answers at the address, or its versions differ.
    """
    try:
        import ray
    except ImportError:
        raise ConfigError(
            "--engine ray needs the package ray: pip install ambulo[ray]"
        ) from None
    mine = not ray.is_initialized()
    if mine:
        _join(ray, address or os.environ.get("RAY_ADDRESS"))
    try:
        cluster = Cluster(ray)
        if cluster.cpus < workers:
            raise ConfigError(
                f"{workers} workers need {workers} CPUs, and the cluster has {cluster.cpus}: "
                "ask for fewer with --workers, or name a larger cluster with --address"
            )
        yield cluster
    finally:
        if mine:
            ray.shutdown()


def node_address() -> str:
    """Return the address of this machine in the cluster's network, for its workers."""
    import ray

    address: Any = ray.util.get_node_ip_address  # untyped
    return str(address())


def _join(ray: Any, address: str | None) -> None:
    """Join the cluster at `address`, or start one on this machine."""
    options: dict[str, Any] = {"configure_logging": False, "log_to_driver": True}
    logging.getLogger("ray").setLevel(logging.ERROR)
    if address is None:
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        options["include_dashboard"] = False
    else:
        options["address"] = address
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(**options)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        reason = " ".join(str(error).split())
        if address is None:
            raise ClusterError(f"Ray cannot start a cluster here: {reason}") from None
        if "ersion mismatch" in reason:
            raise ClusterError(f"the cluster at {address}: {reason}") from None
        raise ClusterError(
            f"no cluster answers at {address} ({reason.partition('. ')[0]}); start one "
            "with `ray start --head` and name its address"
        ) from None
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)  # Ray's own leaves without saving


def _cause_of(error: Any) -> BaseException:
    """What a method of a worker raised."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, BaseException) else error


def _lost(error: Any) -> AmbuloError:
    """The error of a worker that is gone: with its cause if it could not be made."""
    text = str(error)
    missing = next(
        (line.strip() for line in text.splitlines() if "ModuleNotFoundError" in line),
        None,
    )
    if missing is not None:
        version = ".".join(map(str, sys.version_info[:3]))
        return ConfigError(
            f"a worker cannot be made: {missing}; every machine of the cluster needs the "
            f"same Ambulo and Python {version}"
        )
    return LostWorkerError(text.partition("\n")[0])
