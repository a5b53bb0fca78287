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
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from ambulo.configs.errors import AmbuloError, ConfigError
from ambulo.train.shared.cluster_guards import (
    ClusterError,
    cause_of,
    check_cluster,
    dismiss_reapers,
    fate_shared,
    lost,
    probe_port,
    showing_token,
)

log = logging.getLogger(__name__)

QUIET = {
    # Workers have the priority of the program that started them.
    "RAY_worker_niceness": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    # Every line of a worker is shown, not only the first of several equal ones.
    "RAY_DEDUP_LOGS": "0",
}
"""Variables of a cluster that is started here, unless they are set already."""
NETWORK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Ray's variable, on all systems: whether a cluster listens beyond this machine."""
WATCH = 2.0
"""Time between looks at the head node while nothing comes, [s]."""
CHECK_TIME = 25.0
"""Time for a node to report its versions, [s]."""


Place = tuple[str, int]
"""A node's identity in the cluster, and a process there."""


class Cluster:
    """A Ray cluster that this process has joined; see `joined`."""

    def __init__(self, ray: Any) -> None:
        """Use the initialised module `ray`."""
        self._ray = ray
        self._head = str(ray.get_runtime_context().gcs_address)
        self._looked = time.monotonic()

    @property
    def cpus(self) -> int:
        """CPUs of all nodes together."""
        return int(self._ray.cluster_resources().get("CPU", 0))

    def spawn(self, kind: type, *args: Any) -> Any:
        """Start a worker that makes `kind(*args)`; return its handle at once.

        Args:
            kind: a class that workers can import or that can be pickled.
            *args: its arguments, pickled.
        """
        return self._ray.remote(num_cpus=1, max_restarts=0)(kind).remote(*args)

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

        Raises:
            ClusterError: the head node is gone.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = (
                WATCH if end is None else min(WATCH, max(0.0, end - time.monotonic()))
            )
            ready, _ = self._ray.wait(list(references), num_returns=1, timeout=left)
            if ready:
                return list(ready)
            self.watch()
            if end is not None and time.monotonic() >= end:
                return []

    def result(self, reference: Any) -> Any:
        """Wait for a result.

        Raises:
            LostWorkerError: the worker died.
            ClusterError: the head node is gone.
            ConfigError: the worker could not be made, because its machine lacks a package.
            Exception: what the worker's method raised, otherwise.
        """
        errors = self._ray.exceptions
        while True:
            try:
                return self._ray.get(reference, timeout=WATCH)
            except errors.GetTimeoutError:
                self._look()
            except errors.RayTaskError as error:
                raise cause_of(error) from None
            except errors.RayError as error:
                self._look()
                raise lost(error) from None

    def watch(self) -> None:
        """Look at the head node, unless it was seen within `WATCH`.

        Workers answer without one for a while: who only waits for short answers calls this.

        Raises:
            ClusterError: it is gone.
        """
        if time.monotonic() - self._looked >= WATCH:
            self._look()

    def _look(self) -> None:
        """Raise `ClusterError` if the head node is gone."""
        self._looked = time.monotonic()
        reason = probe_port(self._head) and probe_port(self._head)
        if reason:
            raise ClusterError(
                f"the head node of the cluster at {self._head} is gone: {reason}"
            )

    def interrupt(self, places: Iterable[Place]) -> None:
        """Let workers at `places` leave what they do, as far as they are in Python.

        They get SIGTERM, on which Ray's workers raise `SystemExit`.
        """
        pids: dict[str, list[int]] = {}
        for node, pid in places:
            pids.setdefault(node, []).append(pid)
        if not pids or probe_port(self._head):
            return

        def terminate(
            found: list[int],
        ) -> None:  # nested, so that it is sent as a whole
            import os
            import signal

            for pid in found:
                try:
                    os.kill(pid, signal.SIGTERM)
                except OSError:  # it is gone
                    continue

        options = self._ray.remote(num_cpus=0, max_retries=0)(terminate).options
        for node, found in pids.items():
            options(scheduling_strategy=_on_node(self._ray, node)).remote(found)

    def end(self, worker: Any) -> None:
        """End a worker's process; without a head node, all end by themselves."""
        if not probe_port(self._head):  # Ray would wait a minute for it
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
    address = address or os.environ.get("RAY_ADDRESS")
    try:
        import ray
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise ConfigError(
            "--engine ray needs the package ray: pip install ambulo[ray]"
        ) from None
    mine = not ray.is_initialized()
    with nullcontext() if address is None else showing_token():
        if mine:
            with _sigterm_kept():
                _join(ray, address)
        try:
            cluster = Cluster(ray)
            if cluster.cpus < workers:
                raise ConfigError(
                    f"{workers} workers need {workers} CPUs, and the cluster has "
                    f"{cluster.cpus}: ask for fewer with --workers, or name a larger "
                    "cluster with --address"
                )
            yield cluster
        finally:
            if mine:
                ray.shutdown()
                dismiss_reapers()


def own_place() -> Place:
    """Return where this worker is."""
    import ray

    return str(ray.get_runtime_context().get_node_id()), os.getpid()


def node_address() -> str:
    """Return the address of this machine in the cluster's network, for its workers."""
    import ray

    address: Any = ray.util.get_node_ip_address  # untyped
    return str(address())


@contextmanager
def _sigterm_kept() -> Iterator[None]:
    """Keep who handles SIGTERM: Ray's own handler leaves without saving."""
    handler = signal.getsignal(signal.SIGTERM)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)


def _join(ray: Any, address: str | None) -> None:
    """Join the cluster at `address`, or start one on this machine."""
    options: dict[str, Any] = {"configure_logging": False, "log_to_driver": True}
    for name in ("ray", "ray._private.authentication.authentication_token_setup"):
        logging.getLogger(name).setLevel(logging.ERROR)
    if address is not None:
        if address != "auto":
            reason = probe_port(address)
            if reason:
                raise ClusterError(
                    f"no cluster answers at {address} ({reason}); start one with "
                    "`ray start --head` and name its address"
                )
        check_cluster(address)
        _init(ray, address, options)
        return
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        with fate_shared(), _loopback_alone():
            # Without `local` Ray joins any cluster that it finds on this machine.
            ray.init(address="local", include_dashboard=False, **options)
    except Exception as error:  # bare, where the machine is too busy for its start
        reason = " ".join(str(error).split())
        raise ClusterError(f"Ray cannot start a cluster here: {reason}") from None


@contextmanager
def _loopback_alone() -> Iterator[None]:
    """Let the cluster that starts in the context listen on 127.0.0.1, and nowhere else.

    Ray has a switch for that, meant for systems whose firewall asks about each open port. It
    is read where ray is imported and by each process that starts; `_node_ip_address` does
    not do: Ray replaces a loopback address by the machine's.
    """
    from ray._private import ray_constants

    before = os.environ.get(NETWORK), ray_constants.ENABLE_RAY_CLUSTER
    os.environ[NETWORK], ray_constants.ENABLE_RAY_CLUSTER = "0", False
    try:
        yield
    finally:
        variable, ray_constants.ENABLE_RAY_CLUSTER = before
        if variable is None:
            del os.environ[NETWORK]
        else:
            os.environ[NETWORK] = variable


def _init(ray: Any, address: str, options: dict[str, Any]) -> None:
    """Join the cluster at `address`."""
    try:
        ray.init(address=address, **options)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        reason = " ".join(str(error).split())
        if "ersion mismatch" in reason:
            raise ClusterError(f"the cluster at {address}: {reason}") from None
        if "node_ip" in reason or "raylet" in reason:
            raise ClusterError(
                f"this machine is no node of the cluster at {address}: run "
                f"`ray start --address={address}` here, or start the command on a node"
            ) from None
        raise ClusterError(
            f"no cluster answers at {address} ({reason.partition('. ')[0]}); start one "
            "with `ray start --head` and name its address"
        ) from None


def probe(address: str) -> None:
    """Join a cluster, ask its machines for their versions, and leave.

    For a process of its own: prints the error, if there is one, and ends the process.
    """
    import ray

    try:
        _init(ray, address, {"configure_logging": False, "log_to_driver": False})
        _check_nodes(ray)
    except AmbuloError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        os._exit(1)
    os._exit(0)  # leaving in order would take a second


def _check_nodes(ray: Any) -> None:
    """Raise `ConfigError` if a machine lacks Ambulo, or has another version."""

    def about() -> tuple[str, str]:  # nested, so that it is sent as a whole

        python = ".".join(map(str, sys.version_info[:3]))
        try:
            import ambulo
        except ImportError:
            return python, ""
        return python, ambulo.__version__

    options = ray.remote(num_cpus=0, max_retries=0)(about).options
    nodes = {
        options(scheduling_strategy=_on_node(ray, node["NodeID"])).remote(): node[
            "NodeManagerAddress"
        ]
        for node in ray.nodes()
        if node["Alive"]
    }
    python, version = about()
    done, late = ray.wait(list(nodes), num_returns=len(nodes), timeout=CHECK_TIME)
    for reference in late:
        raise ClusterError(f"the node {nodes[reference]} starts no worker")
    for reference in done:
        node = nodes[reference]
        try:
            its_python, its_version = ray.get(reference)
        except ray.exceptions.RayError as error:
            text = str(error).strip().rpartition("\n")[2]
            raise ClusterError(f"the node {node} starts no worker: {text}") from None
        if not its_version:
            raise ConfigError(
                f"the node {node} has no Ambulo: install Ambulo {version} there, for "
                "the Python that runs `ray start`"
            )
        if (its_python, its_version) != (python, version):
            raise ConfigError(
                f"the node {node} has Ambulo {its_version} and Python {its_python}, this "
                f"machine {version} and {python}: install the same"
            )


def _on_node(ray: Any, node: str) -> Any:
    """Scheduling strategy of a task that runs on the node `node` alone."""
    place = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    return place(node, soft=False)
