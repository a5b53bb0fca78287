"""What a frame costs with eight clients: in CPU time, and over sockets."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _rig_common import BOTH, CLIENTS, RATE, Server, clip_frames, frames_datagram

from ambulo.rig_server import messages, packets
from ambulo.rig_server.client import RigClient
from ambulo.rig_server.clients import ServerConfig
from ambulo.rig_server.frames import floats_of
from ambulo.rig_server.layout import LEGS
from ambulo.rig_server.messages import Kind
from ambulo.rig_server.server import RigServer
from ambulo.rig_server.warm_up import warm_up

NAMES = ("02_01", "02_02", "07_01", "07_03", "07_06", "07_07", "07_08", "07_10")


def speed(args: argparse.Namespace) -> dict[str, Any]:
    """The same in CPU time: what a core of its own would do."""
    warm_up()
    streams = [[floats_of(LEGS, f) for f in clip_frames(args.data, n)] for n in NAMES]
    sent: list[tuple[bytes, tuple[str, int]]] = []
    idle = [0.0]

    def clock() -> float:
        return time.process_time() + idle[0]

    server = RigServer(
        ServerConfig(), lambda data, to: sent.append((data, to)), clock=clock
    )
    sessions = []
    for i in range(CLIENTS):
        hello = messages.encode_hello(messages.Hello(i + 1, LEGS.named(f"engine {i}")))
        address = ("client", i)
        server.receive(packets.encode(packets.Packet(Kind.HELLO, 0, 1, hello)), address)
        sessions.append(packets.decode(sent.pop()[0]).session)
    start, count, answers = clock(), int(args.seconds * RATE), [0] * CLIENTS
    datagrams = [
        [frames_datagram(session, n + 2, stream[n % len(stream)]) for n in range(count)]
        for session, stream in zip(sessions, streams, strict=True)
    ]
    # Clients are not in step: each begins a part of a frame after the one before.
    arrivals = [(n + i / CLIENTS) / RATE for n in range(count) for i in range(CLIENTS)]
    start, busy, at, working = clock(), 0.0, 0, False
    while at < len(arrivals) or working:
        if at < len(arrivals) and not working:
            idle[0] += max(0.0, arrivals[at] - (clock() - start))
        begin = time.process_time()
        while at < len(arrivals) and arrivals[at] <= clock() - start:
            n, i = divmod(at, CLIENTS)
            server.receive(datagrams[i][n], ("client", i))
            at += 1
        working = server.work()
        busy += time.process_time() - begin
        for data, (_, i) in sent:
            answers[i] += packets.decode(data).kind == Kind.PREDICTION
        sent.clear()
    clients = list(server.characters.values())
    work = 1e3 * np.concatenate([list(c.work) for c in clients])
    waits = 1e3 * np.concatenate([list(c.waits) for c in clients])
    row = {
        "clients": CLIENTS,
        "rate_hz": RATE,
        "frames_each": count,
        "load_of_machine": os.getloadavg()[0],
        "cpu_ms_per_frame": 1e3 * busy / (count * CLIENTS),
        "share_of_a_core": busy / (count / RATE),
        "work_ms_median_wall": float(np.median(work)),
        "answer_ms_median": float(np.median(waits)),
        "answer_ms_p99": float(np.percentile(waits, 99)),
        "answers_fewest": min(answers),
        "answers_most": max(answers),
        "learned_fewest": min(c.models.learner.progress.learned for c in clients),
        "not_learned_in_a_hurry": sum(c.hurried for c in clients),
        "learned_share": share(
            [c.models.learner.progress.learned for c in clients], count
        ),
        "dropped": sum(c.dropped for c in clients),
    }
    server.close()
    print(json.dumps(row))
    return row


def share(learned: list[int], sent: int) -> float:
    """How many of the frames were learned from, all clients together."""
    return sum(learned) / (sent * len(learned))


def speed_udp(args: argparse.Namespace) -> dict[str, Any]:
    """Eight clients at 120 Hz over the loopback, a server on one core, in real time."""
    streams = [[floats_of(LEGS, f) for f in clip_frames(args.data, n)] for n in NAMES]
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder), "--models", f"{folder}/rigs", core=0)
        clients = [
            RigClient("127.0.0.1", server.port, LEGS.named(f"engine {i}"))
            for i in range(CLIENTS)
        ]
        for client in clients:
            client.connect(20.0)
        answers, sent = [0] * CLIENTS, 0
        delays: list[float] = []
        times: list[dict[int, float]] = [{} for _ in clients]
        start, cpu = time.monotonic(), server.cpu_seconds()
        while (now := time.monotonic()) - start < args.seconds:
            if now >= start + sent / RATE:
                for client, stream, known in zip(clients, streams, times, strict=True):
                    known[client.send(stream[sent % len(stream)], BOTH)] = now
                sent += 1
            else:
                time.sleep(min(0.001, start + sent / RATE - now))
            for i, client in enumerate(clients):
                for reply in client.replies():
                    if reply.answer is not None:
                        answers[i] += 1
                        delays.append(
                            time.monotonic() - times[i].pop(reply.answer.sequence)
                        )
        cpu = server.cpu_seconds() - cpu
        report = server.stop()
        for client in clients:
            client.__exit__()
    rows = report["clients"]
    row = {
        "clients": CLIENTS,
        "rate_hz": sent / args.seconds,
        "frames_each": sent,
        "load_of_machine": os.getloadavg()[0],
        "work_ms_median": float(np.median([r["work_ms"] for r in rows])),
        "work_ms_p99": float(np.median([r["work_p99_ms"] for r in rows])),
        "cpu_ms_per_frame": 1e3 * cpu / (sent * CLIENTS),
        "cpu_share_of_core": cpu / args.seconds,
        "answer_ms_median": 1e3 * float(np.median(delays)),
        "answer_ms_p99": 1e3 * float(np.percentile(delays, 99)),
        "answers_fewest": min(answers),
        "answers_most": max(answers),
        "learned_fewest": min(r["learned"] for r in rows),
        "not_learned_in_a_hurry": sum(r["hurried"] for r in rows),
        "learned_share": share([r["learned"] for r in rows], sent),
        "dropped": sum(r["dropped"] for r in rows),
    }
    print(json.dumps(row))
    return row
