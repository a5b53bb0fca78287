"""A window of the viewer that receives everything and draws nothing."""

from __future__ import annotations

import asyncio
import re
import time

import msgspec
import viser
import websockets
import zstandard
from websockets.typing import Origin, Subprotocol

PLACES = b"batched_positions"
"""Property of a layer that every update of a moving body sends."""

CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": (1.0, 0.0, 0.0, 0.0),
    "position": (3.0, 0.0, 1.0), "fov": 0.8, "near": 0.01, "far": 1000.0,
    "image_height": 600, "image_width": 800, "look_at": (0.0, 0.0, 1.0),
    "up_direction": (0.0, 0.0, 1.0),
}  # fmt: skip
"""What a window says first; before it, viser does not count it as one."""


class Window:
    """Receives what a browser would, and counts."""

    def __init__(self, address: str) -> None:
        self._host, _, self._token = address.removeprefix("http://").partition("/")
        self.counting = False
        self.first: float | None = None
        self.updates = self.bytes = 0
        self.times: list[float] = []

    async def run(self, until: asyncio.Event) -> None:
        """Receive until the event."""
        async with websockets.connect(
            f"ws://{self._host}/{self._token}",
            origin=Origin(f"http://{self._host}"),
            subprotocols=[Subprotocol(f"viser-v{viser.__version__}")],
            max_size=None,
            compression=None,
        ) as connection:
            await connection.send(msgspec.msgpack.encode(CAMERA))
            while not until.is_set():
                data = await connection.recv()
                assert isinstance(data, bytes)
                if self.counting:
                    self._count(data)
                elif self.first is None and PLACES in _plain(data):
                    self.first = time.perf_counter()

    def _count(self, data: bytes) -> None:
        self.bytes += len(data)
        plain = _plain(data)
        self.updates += int(PLACES in plain)
        for match in re.finditer(rb"t = ([\d.]+) s", plain):
            self.times.append(float(match[1]))


def printed_address(text: str) -> str | None:
    """Return the address of a viewer that its command has printed; None: not yet."""
    match = re.search(r"http://localhost:\S+", text)
    return None if match is None else match[0].replace("localhost", "127.0.0.1")


def _plain(data: bytes) -> bytes:
    """The messages of viser's window: 8 bytes, the size of the content, and the content."""
    size = int.from_bytes(data[8:16], "little")
    return zstandard.ZstdDecompressor().decompress(data[16 : 16 + size])
