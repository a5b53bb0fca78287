"""The command `ambulo track-server`, and the clients of its guide on real sockets."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from ambulo import cli

GUIDE = Path(__file__).parents[3] / "docs" / "trackers_stream.md"
BLOCKS = re.findall(
    r"^```python\n(.*?)^```",
    GUIDE.read_text(encoding="utf-8"),
    re.DOTALL | re.MULTILINE,
)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_the_code_of_the_guide(
    serve: Any, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    block = BLOCKS[number]
    assert len(block.splitlines()) <= 60
    names: dict[str, Any] = {"__name__": "guide"}
    if "127.0.0.1" in block:
        server = serve()
        block = block.replace("127.0.0.1:6005", f"127.0.0.1:{server.port}")
        block = block.replace('"127.0.0.1", 6004', f'"127.0.0.1", {server.udp_port}')
    exec(compile(block, GUIDE.name, "exec"), names)
    out = capsys.readouterr().out
    if "127.0.0.1" in block:
        assert server.websocket.rows == 2 or server.udp.rows == 3
        assert "None" not in out
        names.get("client") and names["client"].socket.close()
    else:
        assert "walk.trackers" in {path.name for path in tmp_path.iterdir()}


class Stopping(io.StringIO):
    """Standard error that asks the command to stop once it listens."""

    def write(self, text: str) -> int:
        written = super().write(text)
        if text.startswith("listening"):
            os.kill(os.getpid(), signal.SIGTERM)
        return written


def test_the_command_serves_until_it_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = Stopping()
    monkeypatch.setattr(sys, "stderr", said)
    assert cli.main(["track-server", "--port", "0", "--udp-port", "0"]) == 0
    line = r"listening on ws://127.0.0.1:\d+ and udp://127.0.0.1:\d+"
    assert re.match(line, said.getvalue())
    assert "answered 0 rows over WebSocket and 0 over UDP" in said.getvalue()


def test_a_port_that_is_taken(serve: Any, capsys: pytest.CaptureFixture[str]) -> None:
    server = serve()
    flags = ["--seconds", "1", "--port", str(server.port), "--no-udp"]
    assert cli.main(["track-server", *flags]) == 2
    assert "cannot be bound" in capsys.readouterr().err
    flags = ["--seconds", "1", "--udp-port", str(server.udp_port), "--no-websocket"]
    assert cli.main(["track-server", *flags]) == 2
    assert "cannot be bound" in capsys.readouterr().err
