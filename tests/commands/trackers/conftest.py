"""A body server in a thread of its own, on free ports."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

import ambulo.shipped
from ambulo.commands.trackers.server import BodyServer, run_server, warm_up
from ambulo.commands.trackers.stream import StreamConfig
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.policies.agents.body_tracker import load_tracker_network

Serve = Callable[..., BodyServer]


@pytest.fixture(scope="session")
def network() -> TrackerNetwork:
    loaded = load_tracker_network(ambulo.shipped.shipped_models()["ik_trackers"])[0]
    warm_up(loaded)
    return loaded


@contextmanager
def running(network: TrackerNetwork, config: StreamConfig) -> Iterator[BodyServer]:
    """A server on free ports until the block ends."""
    server = BodyServer(network, config, port=0, udp_port=0)
    done, started = threading.Event(), threading.Event()
    faults: list[BaseException] = []

    def run() -> None:
        try:
            run_server(server, done.is_set, lambda _: started.set())
        except BaseException as error:
            faults.append(error)
            started.set()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert started.wait(30.0)
        assert not faults
        yield server
    finally:
        done.set()
        thread.join(30.0)
    assert not faults
    assert not thread.is_alive()


@pytest.fixture
def serve(network: TrackerNetwork) -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(**options: object) -> BodyServer:
            config = StreamConfig(**options)  # type: ignore[arg-type]
            return stack.enter_context(running(network, config))

        yield start
