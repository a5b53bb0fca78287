"""What is attacked: one class for each way in which something hostile comes in."""

from __future__ import annotations

import json
import random
import socket
import threading
import warnings
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from fuzz.corpus import TRAININGS, Kind, corpus
from fuzz.mutations import NUMBERS, TEXTS, bytes_of, damaged, json_of, text_of_json
from fuzz.tracker_targets import BodyPacketTarget, StreamTarget, recordings
from fuzz.viewer_targets import viewer_targets

from ambulo.commands.hub.client import Hub
from ambulo.commands.hub.manifest import Manifest, entry_of
from ambulo.commands.hub.pull import _Source
from ambulo.common.setting_flags import with_overrides
from ambulo.envs.godot import protocol
from ambulo.envs.godot.protocol import RowLayout, check_spec, parse_rows, parse_states
from ambulo.envs.godot.transport import BINARY, HttpConnection
from ambulo.envs.vr.contract import WorldSpec
from ambulo.rig_server import messages, packets, packets_v1, store
from ambulo.rig_server.clients import ServerConfig
from ambulo.rig_server.layout import LEGS
from ambulo.rig_server.learner import RigLearner
from ambulo.rig_server.messages import Kind as MessageKind
from ambulo.rig_server.messages import Option
from ambulo.rig_server.packets import Packet
from ambulo.rig_server.sequence import SequenceLearner
from ambulo.rig_server.server import RigServer


class Target(Protocol):
    """One way in."""

    name: str
    """Unique."""

    def whole(self) -> None:
        """Let in something valid."""

    def make(self, rng: random.Random) -> Any:
        """Return something hostile, the same for the same generator."""

    def run(self, case: Any) -> None:
        """Let it in: `AmbuloError`, `OSError` and `MemoryError` are answers in one line."""


class FileTarget:
    """A file of one kind."""

    def __init__(self, kind: Kind) -> None:
        """Attack what opens `kind`."""
        self.name, self._kind = kind.name, kind
        self._data = kind.path.read_bytes()
        self._hostile = kind.path.with_name(f"hostile{kind.path.suffix}")
        if not kind.path.is_relative_to(Path.cwd()):
            self._hostile = Path.cwd() / f"hostile{kind.path.suffix}"

    def whole(self) -> None:
        """Open the valid file."""
        self._kind.read(self._kind.path)

    def make(self, rng: random.Random) -> bytes:
        """Damage it."""
        return damaged(rng, self._data, self._kind.path.suffix)

    def run(self, case: bytes) -> None:
        """Open the damaged one; a warning of NumPy is a fault too."""
        self._hostile.write_bytes(case)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            self._kind.read(self._hostile)


class SetTarget:
    """`--set KEY=VALUE` of all trainings."""

    name = "--set"

    def __init__(self) -> None:
        """Collect all keys."""
        self._configs = [presets.config() for presets in TRAININGS]

    def whole(self) -> None:
        """Set a seed."""
        with_overrides(self._configs[0], ["training.seed=1"])

    def make(self, rng: random.Random) -> tuple[int, list[str]]:
        """Set up to three settings to something."""
        which = rng.randrange(len(self._configs))
        groups = self._configs[which].model_dump(mode="json")
        keys = [
            f"{group}.{key}"
            for group, values in groups.items()
            for key in (values if isinstance(values, dict) else ())
        ]
        return which, [
            self._override(rng, keys, groups) for _ in range(rng.randint(1, 3))
        ]

    def run(self, case: tuple[int, list[str]]) -> None:
        """Set them."""
        # No system takes a longer argument.
        with_overrides(self._configs[case[0]], [text[:131_000] for text in case[1]])

    @staticmethod
    def _override(rng: random.Random, keys: list[str], groups: dict[str, Any]) -> str:
        key = rng.choice(keys) if rng.random() < 0.9 else str(rng.choice(TEXTS))
        group, _, name = key.partition(".")
        kind = rng.random()
        if kind < 0.4:
            value = rng.choice(NUMBERS)
            return f"{key}=" + ("1" + "0" * 400 if value == 10**400 else str(value))
        if kind < 0.7:
            return f"{key}={rng.choice(TEXTS)}"
        old = groups.get(group, {})
        return f"{key}=" + json.dumps(
            json_of(rng, old.get(name) if isinstance(old, dict) else old)
        )


class BridgeTarget:
    """Answers of an engine, over a socket."""

    name = "bridge answers"

    def __init__(self) -> None:
        """Listen as an engine does."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port = self._listener.getsockname()[1]
        self._layout = RowLayout(WorldSpec())
        self._answers = [self._json(), self._states(), self._rows()]

    def whole(self) -> None:
        """Read a whole answer of each kind."""
        for kind, answer in enumerate(self._answers):
            self.run((kind, answer))

    def make(self, rng: random.Random) -> tuple[int, bytes]:
        """Damage an answer: its JSON, its head or any bytes."""
        kind = rng.randrange(3)
        answer = self._answers[kind]
        head, _, body = answer.partition(b"\r\n\r\n")
        change = rng.random()
        if change < 0.3 and kind < 2:
            text = json.dumps(json_of(rng, json.loads(body))).encode()
            return kind, _answer(text, b"application/json")
        if change < 0.5:
            length = str(
                rng.choice(("9" * 5000, "-1", "1e3", "0x5", "", "99999999999"))
            )
            head = head.replace(str(len(body)).encode(), length.encode())
            return kind, head + b"\r\n\r\n" + body
        return kind, bytes_of(rng, answer)

    def run(self, case: tuple[int, bytes]) -> None:
        """Ask, and read what comes."""
        kind, data = case

        def serve() -> None:
            there, _ = self._listener.accept()
            with there:
                there.settimeout(5.0)
                there.recv(65536)
                there.sendall(data)

        engine = threading.Thread(target=serve, daemon=True)
        engine.start()
        connection = HttpConnection("127.0.0.1", self._port, timeout=2.0)
        try:
            response = connection.request("POST", "/rl/state", b"{}")
            if kind == 0:
                check_spec(response.checked().json(), self._layout, 1)
            elif kind == 1:
                parse_states(response, 1, 4)
            else:
                parse_rows(response, 1, 4)
        finally:
            connection.close()
            engine.join(5.0)

    def _json(self) -> bytes:
        answer = {
            "api_version": protocol.API_VERSION,
            "contract_version": protocol.CONTRACT_VERSION,
            "state_layout": self._layout.description,
            "agents": 1,
        }
        return _answer(json.dumps(answer).encode(), b"application/json")

    @staticmethod
    def _states() -> bytes:
        return _answer(b'{"states": [[0.0, 1.0, 2.0, 3.0]]}', b"application/json")

    @staticmethod
    def _rows() -> bytes:
        body = protocol._HEADER.pack(protocol.MAGIC, 1, 4, 7) + np.zeros(4).tobytes()
        return _answer(body, BINARY.encode())


def _answer(body: bytes, kind: bytes) -> bytes:
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n"
        b"Connection: close\r\n\r\n%s" % (kind, len(body), body)
    )


class CannedHub(Hub):
    """A hub whose answers are given: on a repository, and its file with a manifest."""

    answer, manifest = b"", b""

    def fetch(self, *_: Any, **__: Any) -> dict[str, Path]:
        file = Path("hub_manifest.json")
        file.write_bytes(self.manifest)
        return {"g/manifest.json": file}


class HubTarget:
    """Answers of a hub: on a repository, and a manifest."""

    name = "hub answers"

    def __init__(self) -> None:
        """Describe one model."""
        import httpx2
        from huggingface_hub import set_client_factory

        self._hub = hub = CannedHub("http://127.0.0.1:9")

        def answer(request: httpx2.Request) -> httpx2.Response:
            return httpx2.Response(200, content=hub.answer, request=request)

        set_client_factory(
            lambda: httpx2.Client(transport=httpx2.MockTransport(answer))
        )
        manifest = Manifest(
            name="g", kind="gait_net", summary="", headline="", licence="mit",
            contract="0" * 64, commit="", ambulo="1", created="", training="", onnx="",
            main="g.zip", files=(entry_of("g.zip/ambulo.json", b"{}"),),
        ).to_json()  # fmt: skip
        sizes = {"g/manifest.json": len(manifest), "g/g.zip/ambulo.json": 2}
        files = [{"rfilename": path, "size": size} for path, size in sizes.items()]
        info = {"id": "a/b", "sha": "0" * 40, "private": False, "siblings": files}
        self._answers = [info, json.loads(manifest)]

    def whole(self) -> None:
        """Read a whole answer of each kind."""
        self.run([json.dumps(answer).encode() for answer in self._answers])

    def make(self, rng: random.Random) -> list[bytes]:
        """Damage one of the answers."""
        answers = [json.dumps(answer).encode() for answer in self._answers]
        which = rng.randrange(len(answers))
        answers[which] = text_of_json(rng, self._answers[which])
        return answers

    def run(self, case: list[bytes]) -> None:
        """Look for the model, and read its manifest."""
        self._hub.answer, self._hub.manifest = case
        listing = self._hub.listing("a/b")
        if "g/manifest.json" in listing.sizes:
            _Source(self._hub, "a/b", listing, "g").manifest()


class PacketTarget:
    """Datagrams to the rig server; each case is a burst at one server."""

    name = "rig packets"

    def __init__(self) -> None:
        """Start without a socket."""
        self._sent: list[bytes] = []
        self._server = RigServer(
            ServerConfig(), lambda data, to: self._sent.append(data)
        )
        hello = messages.encode_hello(messages.Hello(1, LEGS))
        self._hello = packets.encode(Packet(MessageKind.HELLO, 0, 1, hello))
        self._server.receive(self._hello, ("127.0.0.1", 1))
        self._session = packets.decode(self._sent[-1]).session
        values = np.zeros(LEGS.frame_size, np.float32)
        values[6:49:7] = 1.0
        values[7:49:7] = 5.0
        values[52:57:4] = 1.0
        self._values = values

    def whole(self) -> None:
        """Send a frame of each version."""
        for number in (2, 3):
            self.run([self._frame(number)])
        self.run([packets_v1.encode_frames(self._values)])

    def make(self, rng: random.Random) -> list[bytes]:
        """Return ten datagrams: damaged outside, or inside a whole envelope."""
        return [self._datagram(rng) for _ in range(10)]

    def run(self, case: list[bytes]) -> None:
        """Send them; the server works until nothing waits."""
        for data in case:
            self._server.offer(data, ("127.0.0.1", 1))
            self._server.receive(data, ("127.0.0.1", 2))
            while self._server.work():
                pass
        if self._server.broken:
            raise AssertionError("work on a datagram failed")

    def _frame(self, number: int) -> bytes:
        message = messages.FramesMessage(
            Option.LEARN | Option.PREDICT, self._values[None]
        )
        payload = messages.encode_frames(message)
        return packets.encode(
            Packet(MessageKind.FRAMES, self._session, number, payload)
        )

    def _datagram(self, rng: random.Random) -> bytes:
        number = rng.getrandbits(32)
        payload = packets.decode(rng.choice((self._hello, self._frame(5)))).payload
        kind = rng.random()
        if kind < 0.2:
            return bytes_of(rng, rng.choice((self._hello, self._frame(number))))
        if kind < 0.3:
            return bytes_of(rng, packets_v1.encode_frames(self._values))
        if kind < 0.6:  # numbers that were not expected
            values = self._values.copy()
            for _ in range(rng.randint(1, 5)):
                number_of = rng.choice((0.0, -1.0, 1e5, 1e30, -1e30, np.nan, np.inf))
                values[rng.randrange(len(values))] = number_of
            message = messages.FramesMessage(Option(rng.randrange(4)), values[None])
            payload = messages.encode_frames(message)
            code = MessageKind.FRAMES
        else:
            payload = bytes_of(rng, payload)
            code = rng.choice(list(MessageKind))
        session = self._session if rng.random() < 0.9 else rng.getrandbits(64)
        return packets.encode(Packet(code, session, number, payload))


def stored_rig(folder: Path) -> Kind:
    """A learned rig on disk."""
    path = folder / "rig.safetensors"
    path.write_bytes(store.to_bytes(RigLearner(LEGS), SequenceLearner(LEGS)))

    def read(file: Path) -> None:
        store.restore(file, RigLearner(LEGS), SequenceLearner(LEGS))

    return Kind("stored rig", path, read)


def all_targets(folder: Path) -> list[Target]:
    """Return every way in; files lie in `folder`."""
    kinds = [*corpus(folder), stored_rig(folder), *recordings(folder)]
    return [
        *(FileTarget(kind) for kind in kinds),
        SetTarget(),
        BridgeTarget(),
        HubTarget(),
        PacketTarget(),
        StreamTarget(),
        BodyPacketTarget(),
        *viewer_targets(),
    ]
