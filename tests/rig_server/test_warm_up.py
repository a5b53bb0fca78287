"""After the warm-up nothing is compiled any more, whatever the clients do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ambulo.rig_server.layout import RigLayout

STREAMING = """
import json, sys, threading, time
from pathlib import Path
import numpy as np
from numba.core import event
from ambulo.rig_server.client import PublishedClient, RigClient
from ambulo.rig_server.layout import LEGS, layout_from_json
from ambulo.rig_server.messages import Option
from ambulo.rig_server.clients import ServerConfig
from ambulo.rig_server.udp import UdpServer
from ambulo.rig_server.warm_up import kernels, warm_up

def signatures():
    return {k.py_func.__qualname__: len(k.overloads) for k in kernels()}

def stream(port, layout, values, count, seconds):
    with RigClient("127.0.0.1", port, layout) as client:
        client.connect(20.0)
        answers, runs, sent = 0, 0, 0
        deadline = time.monotonic() + seconds
        while sent < count or (not runs and time.monotonic() < deadline):
            client.send(values[sent % len(values)], Option.LEARN | Option.PREDICT)
            sent += 1
            if sent == 50:
                client.request_status()
            if sent >= count and sent % 20 == 0:  # frames were lost: stream on, ask again
                client.request_next(10)
            for reply in client.replies(5.0 if sent < count else 0.05):
                answers += reply.answer is not None
                runs += reply.next is not None
        return answers, runs

reported = []
warm_up(lambda *report: reported.append(report))
before, compiled = signatures(), event.RecordingListener()
values = np.load(sys.argv[1])
tail = layout_from_json(json.loads(sys.argv[3]))
tail_values = np.load(sys.argv[2])
done = threading.Event()
counts = []
with event.install_listener("numba:compile", compiled):
    for _ in range(2):  # the second time from the files that the first has written
        with UdpServer(ServerConfig(models=Path(sys.argv[4])), port=0) as udp:
            done.clear()
            thread = threading.Thread(target=lambda: udp.run(done.is_set))
            thread.start()
            counts.append(stream(udp.port, LEGS, values, 620, 200.0))
            stream(udp.port, tail, tail_values, 60, 1.0)  # never walks
            with PublishedClient("127.0.0.1", udp.port) as published:
                published.send(values[0])
                published.answers(0.5)
            done.set()
            thread.join(30.0)
names = [e.data["dispatcher"].py_func.__qualname__ for _, e in compiled.buffer]
print(json.dumps({"counts": counts, "compiled": names, "reported": len(reported),
                  "grown": {k: n for k, n in signatures().items() if n != before[k]}}))
"""

TAIL = RigLayout("tail", ("root", "tip"), (-1, 0), (1,))
"""A rig without a two-bone chain."""


def tail_values() -> NDArray[np.float32]:
    values = np.zeros((60, TAIL.frame_size), np.float32)
    values[:, [6, 13]] = 1.0
    values[:, 11] = np.linspace(0.0, 0.3, 60)
    values[:, 9] = -40.0
    values[:, [16, 17]] = 1.0
    values[:, 20] = -40.0
    return values


def run_streams(
    stream: list[NDArray[np.float32]], folder: Path, environment: dict[str, str]
) -> dict[str, Any]:
    np.save(folder / "legs.npy", np.array(stream))
    np.save(folder / "tail.npy", tail_values())
    arguments = [
        str(folder / "legs.npy"), str(folder / "tail.npy"),
        json.dumps(TAIL.to_json()), str(folder / "rigs"),
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", STREAMING, *arguments],
        env=environment, capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def check(result: dict[str, Any]) -> None:
    assert result["grown"] == {}
    assert result["compiled"] == []
    for answers, runs in result["counts"]:
        assert answers > 300
        assert runs > 0


@pytest.mark.integration
def test_streams_compile_nothing(
    stream: list[NDArray[np.float32]], tmp_path: Path
) -> None:
    check(run_streams(stream, tmp_path, dict(os.environ)))


@pytest.mark.slow
def test_an_empty_cache_is_filled_before_the_streams(
    stream: list[NDArray[np.float32]], tmp_path: Path
) -> None:
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    first = run_streams(stream, tmp_path, os.environ | cache)
    check(first)
    assert first["reported"] > 20
    again = run_streams(stream, tmp_path, os.environ | cache)
    check(again)
    assert again["reported"] == 0
