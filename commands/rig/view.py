"""Display of a running `ambulo rig-server`: a live table, or plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.table import Table

from ambulo.rig_server.character import ClientCharacter
from ambulo.rig_server.server import RigServer

PLAIN_SECONDS = 10.0
"""Time between plain lines, [s]."""


Report = dict[str, Any]
"""Numbers about a server by name, and those about its clients, as `--report` writes them."""


def report_of(server: RigServer) -> Report:
    """Return numbers about a server."""
    return {
        "clients": [_row(character) for character in server.characters.values()],
        "datagrams": server.datagrams,
        "pings": server.pings,
        "unsent": server.unsent,
        "saved": server.clients.saver.written,
        "save_failures": server.clients.saver.failed,
        "damaged_files": server.clients.damaged_files,
        "broken": server.broken,
        "faults": {
            str(fault): count for fault, count in server.faults.items() if count
        },
    }


def _row(character: ClientCharacter) -> Report:
    """Return numbers about a client; times are medians of the newest frames."""
    status = character.status()
    work = 1e3 * np.array(character.work or [0.0])
    return {
        "client": f"{character.address[0]}:{character.address[1]}",
        "rig": character.path.stem.rpartition("-")[0],
        "version": character.version,
        "frames": status.frames,
        "learned": status.learned,
        "loss_cm2": status.loss,
        "network_loss_cm2": status.network_loss,
        "position_mm": 1e3 * status.position_error,
        "angle_deg": float(np.degrees(status.angle_error)),
        "converged": status.converged,
        "work_ms": float(np.median(work)),  # to score, answer and learn from a frame
        "work_p99_ms": float(np.percentile(work, 99.0)),
        "wait_ms": 1e3 * float(np.median(character.waits or [0.0])),  # until the answer
        "answered": character.answered,
        "share": character.share,
        "hurried": character.hurried,
        "dropped": character.dropped,
        "refused": character.refused,
    }


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


COLUMNS = {
    "client": "{client}", "rig": "{rig}", "v": "{version}", "frames": "{frames}",
    "loss cm²": "{loss_cm2:.1e}", "network cm²": "{network_loss_cm2:.2g}",
    "bones mm": "{position_mm:.1f}", "angle °": "{angle_deg:.1f}", "state": "{state}",
    "learned %": "{percent:.0f}", "work ms": "{work_ms:.2f}", "p99": "{work_p99_ms:.2f}",
    "answer ms": "{wait_ms:.2f}", "lost": "{lost}",
}  # fmt: skip
"""Columns of the table: heading, and template of a client's row."""
LINE = (
    "{rig} ({client}): {frames} frames, loss {loss_cm2:.1e} cm2, bones {position_mm:.1f} mm "
    "{angle_deg:.1f} deg, {state}, {work_ms:.2f} ms a frame"
)
"""Template of a client's plain line."""


def _shown(report: Report) -> list[Report]:
    """Return the rows of clients with what templates show besides."""
    return [
        row | {
            "state": "answers" if row["converged"] else "learns",
            "percent": 100.0 * row["share"], "lost": row["dropped"] + row["refused"],
        }
        for row in report["clients"]
    ]  # fmt: skip


def table_of(report: Report) -> Table:
    """Return the live table."""
    table = Table(title="rig server", caption=_footer(report), expand=False)
    for name in COLUMNS:
        table.add_column(name, justify="left" if name in {"client", "rig"} else "right")
    for row in _shown(report):
        table.add_row(*(template.format(**row) for template in COLUMNS.values()))
    return table


def lines_of(report: Report) -> list[str]:
    """Return a report as plain lines."""
    return [*(LINE.format(**row) for row in _shown(report)), _footer(report)]


def _footer(report: Report) -> str:
    faults = ", ".join(f"{name} {count}" for name, count in report["faults"].items())
    saved = f"{report['saved']} files saved"
    if report["save_failures"]:
        saved += f", {report['save_failures']} refused by the disk"
    return f"{report['datagrams']} datagrams; not used: {faults or 'none'}; {saved}"
