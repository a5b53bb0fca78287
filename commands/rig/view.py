"""Display of a running `ambulo rig-server`: a live table, or plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.table import Table

from ambulo.rig_server.character import ClientCharacter
from ambulo.rig_server.server import RigServer

PLAIN_SECONDS = 10.0
"""Time between plain lines, [s]."""


@dataclass(frozen=True)
class ClientRow:
    """One client in numbers."""

    client: str
    rig: str
    version: int
    frames: int
    learned: int
    loss_cm2: float
    network_loss_cm2: float
    position_mm: float
    angle_deg: float
    converged: bool
    work_ms: float
    """Median time to score, answer and learn from a frame."""
    work_p99_ms: float
    wait_ms: float
    """Median time from arrival to answer."""
    answered: int
    share: float
    """Of the newest frames for learning, how many were learned from."""
    hurried: int
    """Frames that were answered but not learned from, for want of time."""
    dropped: int
    refused: int


@dataclass(frozen=True)
class Report:
    """A server in numbers."""

    clients: list[ClientRow]
    datagrams: int
    pings: int
    unsent: int
    saved: int
    save_failures: int
    damaged_files: int
    broken: int
    faults: dict[str, int]


def report_of(server: RigServer) -> Report:
    """How a server is doing."""
    return Report(
        clients=[_row(character) for character in server.characters.values()],
        datagrams=server.datagrams,
        pings=server.pings,
        unsent=server.unsent,
        saved=server.clients.saver.written,
        save_failures=server.clients.saver.failed,
        damaged_files=server.clients.damaged_files,
        broken=server.broken,
        faults={str(fault): count for fault, count in server.faults.items() if count},
    )


def _row(character: ClientCharacter) -> ClientRow:
    status = character.status()
    work = 1e3 * np.array(character.work or [0.0])
    waits = 1e3 * np.array(character.waits or [0.0])
    return ClientRow(
        client=f"{character.address[0]}:{character.address[1]}",
        rig=character.path.stem.rpartition("-")[0],
        version=character.version,
        frames=status.frames,
        learned=status.learned,
        loss_cm2=status.loss,
        network_loss_cm2=status.network_loss,
        position_mm=1e3 * status.position_error,
        angle_deg=float(np.degrees(status.angle_error)),
        converged=status.converged,
        work_ms=float(np.median(work)),
        work_p99_ms=float(np.percentile(work, 99.0)),
        wait_ms=float(np.median(waits)),
        answered=character.answered,
        share=character.share,
        hurried=character.hurried,
        dropped=character.dropped,
        refused=character.refused,
    )


class View:
    """Shows a server; `update` is its tick."""

    def __init__(self, server: RigServer, *, live: bool | None = None) -> None:
        """A live table on a terminal (or if `live`), else a line every 10 s."""
        self._server = server
        self._console = Console(stderr=True)
        shown = sys.stderr.isatty() if live is None else live
        self._live = Live(console=self._console, auto_refresh=False) if shown else None
        self._next = time.monotonic() + PLAIN_SECONDS
        self._faults = 0

    def __enter__(self) -> Callable[[], None]:
        """Start showing."""
        if self._live is not None:
            self._live.start()
        return self.update

    def __exit__(self, *_: object) -> None:
        """Show the last numbers and stop."""
        if self._live is not None:
            self.update()
            self._live.stop()

    def update(self) -> None:
        """Show how it is now."""
        if self._live is not None:
            self._live.update(table_of(report_of(self._server)), refresh=True)
            return
        now = time.monotonic()
        if now >= self._next:
            self._next = now + PLAIN_SECONDS
            for line in lines_of(report_of(self._server)):
                print(line, file=sys.stderr, flush=True)


def table_of(report: Report) -> Table:
    """The live table."""
    table = Table(title="rig server", caption=_footer(report), expand=False)
    for name in (
        "client", "rig", "v", "frames", "loss cm²", "network cm²", "bones mm",
        "angle °", "state", "learned %", "work ms", "p99", "answer ms", "lost",
    ):  # fmt: skip
        table.add_column(name, justify="left" if name in {"client", "rig"} else "right")
    for row in report.clients:
        table.add_row(
            row.client, row.rig, str(row.version), str(row.frames),
            f"{row.loss_cm2:.1e}", f"{row.network_loss_cm2:.2g}",
            f"{row.position_mm:.1f}", f"{row.angle_deg:.1f}",
            "answers" if row.converged else "learns", f"{100.0 * row.share:.0f}",
            f"{row.work_ms:.2f}", f"{row.work_p99_ms:.2f}", f"{row.wait_ms:.2f}",
            str(row.dropped + row.refused),
        )  # fmt: skip
    return table


def lines_of(report: Report) -> list[str]:
    """Return a report as plain lines."""
    return [
        *(
            f"{row.rig} ({row.client}): {row.frames} frames, loss {row.loss_cm2:.1e} cm2, "
            f"bones {row.position_mm:.1f} mm {row.angle_deg:.1f} deg, "
            f"{'answers' if row.converged else 'learns'}, {row.work_ms:.2f} ms a frame"
            for row in report.clients
        ),
        _footer(report),
    ]


def _footer(report: Report) -> str:
    faults = ", ".join(f"{name} {count}" for name, count in report.faults.items())
    saved = f"{report.saved} files saved"
    if report.save_failures:
        saved += f", {report.save_failures} refused by the disk"
    return f"{report.datagrams} datagrams; not used: {faults or 'none'}; {saved}"
