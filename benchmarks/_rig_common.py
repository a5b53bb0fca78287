"""What the parts of `rig_server.py` share: clips as frames, and a server process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.motion.formats.files import read_motion
from ambulo.rig_server import messages, packets
from ambulo.rig_server.frames import RigFrame, floats_of, frame_of
from ambulo.rig_server.layout import LEGS
from ambulo.rig_server.messages import Kind, Option
from ambulo.rig_server.replay import leg_frames

Values = list[NDArray[np.float32]]

CLIENTS, RATE = 8, 120.0
BOTH = Option.LEARN | Option.PREDICT


def clip_frames(folder: Path, names: str) -> list[RigFrame]:
    """The frames of clips such as "07_01+07_07", through the wire's float32."""
    frames: list[RigFrame] = []
    for name in names.split("+"):
        motion = read_motion(folder / name[:2] / f"{name}.amc")
        frames += [frame_of(LEGS, floats_of(LEGS, f)) for f in leg_frames(motion)]
    return frames


def frames_datagram(session: int, number: int, values: NDArray[np.float32]) -> bytes:
    """A FRAMES datagram of one frame, to be learned from and answered."""
    payload = messages.encode_frames(messages.FramesMessage(BOTH, values[None]))
    return packets.encode(packets.Packet(Kind.FRAMES, session, number, payload))


class Server:
    """An `ambulo rig-server` process."""

    def __init__(self, folder: Path, *flags: str, core: int | None = None) -> None:
        self.folder, self.flags, self.core = folder, flags, core
        self.log = folder / "log.txt"
        self.port = 0
        self.start()

    def start(self) -> None:
        """Start it, on the port it had."""
        command = [
            sys.executable, "-m", "ambulo.cli", "rig-server", "--plain",
            "--port", str(self.port), "--report", str(self.folder / "report.json"),
            "--save-every", "1", *self.flags,
        ]  # fmt: skip
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command,
                stderr=log,
            )
        if self.core is not None:
            os.sched_setaffinity(self.process.pid, {self.core})
        end = time.monotonic() + 180.0
        while "listening" not in (text := self.log.read_text()):
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError(f"the server did not start: {text}")
            time.sleep(0.1)
        self.port = int(text.split("listening on ")[1].split()[0].rpartition(":")[2])

    def memory_mb(self) -> float:
        """Resident memory."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return float(text.split("VmRSS:")[1].split()[0]) / 1024.0

    def cpu_seconds(self) -> float:
        """CPU time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2]
        user, system = fields.split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> dict[str, Any]:
        """End it; its report."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60.0)
        report: dict[str, Any] = json.loads((self.folder / "report.json").read_text())
        return report
