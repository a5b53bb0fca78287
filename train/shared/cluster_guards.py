"""Guards against clusters that hang or outlive a program, and their errors; without ray."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

import ambulo
from ambulo.configs.errors import AmbuloError, ConfigError

PROBE_TIME = 40.0
"""A cluster that does not answer a first question in this time never will, [s]."""
PROBE_PORT_TIME = 4.0
"""Time for a connection to a machine, [s]."""
TOKEN = Path(".ray", "auth_token")
"""Ray's file of the cluster's token, in the home folder."""
_NOT_LET_IN = "InvalidAuthToken"
_REAPER = """
import os, sys, time
sys.stdin.read()
time.sleep(2)
for word in sys.argv[1:]:
    pid, begun = word.split(":")
    try:
        with open(f"/proc/{pid}/stat") as file:
            if file.read().rpartition(")")[2].split()[19] == begun:
                os.kill(int(pid), 9)
    except OSError:
        pass
"""
_PROBE = """
import sys
sys.path.append(sys.argv[1])
from ambulo.train.shared.cluster import probe
sys.path.pop()
probe(sys.argv[2])
"""


class ClusterError(AmbuloError):
    """A cluster that cannot be joined or started, or is too small."""


class LostWorkerError(AmbuloError):
    """A worker that died: its process, its machine or its memory is gone."""


def probe_port(address: str) -> str:
    """Return why nothing listens at `HOST:PORT`, or "" if something does.

    Raises:
        ConfigError: `address` is no such text.
    """
    found = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:/\s]+):(\d{1,5})", address)
    if found is None or not 0 < int(found[2]) < 65536:
        raise ConfigError(
            f"--address {address}: expected HOST:PORT, such as 10.0.0.5:6379, or auto"
        )
    try:
        place = (found[1].strip("[]"), int(found[2]))
        socket.create_connection(place, PROBE_PORT_TIME).close()
    except OSError as error:
        return error.strerror or str(error)
    return ""


@contextmanager
def showing_token() -> Iterator[None]:
    """Let Ray show the cluster's token, where there is one and nothing else is noise_file.

    Heads that find a token ask for it; programs that join do not show it by themselves.
    A later cluster of this program alone must not ask for it.
    """
    given = {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys()
    if "RAY_AUTH_MODE" in os.environ or not (given or (Path.home() / TOKEN).is_file()):
        yield
        return
    os.environ["RAY_AUTH_MODE"] = "token"
    try:
        yield
    finally:
        os.environ.pop("RAY_AUTH_MODE", None)


def check_cluster(address: str) -> None:
    """Let a process of its own ask the cluster at `address` about its machines.

    What does not answer, or does not take this machine's token, would hold this process
    for minutes.

    Raises:
        ConfigError: A machine has no Ambulo, or another version.
        ClusterError: It does not answer, or does not let this machine in.
    """
    place = str(Path(ambulo.__path__[0]).parent)
    command = [sys.executable, "-c", _PROBE, place, address]
    with (
        tempfile.TemporaryFile("w+") as noise_file,
        tempfile.TemporaryFile("w+") as answer_file,
    ):
        asked = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=answer_file, stderr=noise_file
        )
        end = time.monotonic() + PROBE_TIME
        noise = ""
        while asked.poll() is None and time.monotonic() < end:
            with suppress(subprocess.TimeoutExpired):
                asked.wait(0.2)
            noise = _text(noise_file)
            if _NOT_LET_IN in noise:  # asked again and again, for minutes
                break
        answer = asked.poll()
        asked.kill()
        asked.wait()
        noise, out = _text(noise_file), _text(answer_file).strip()
    if answer == 0:
        return
    if _NOT_LET_IN in noise or "AuthenticationError" in noise:
        raise ClusterError(
            f"the cluster at {address} does not take this machine's token: copy "
            f"~/{TOKEN} of the head node here, or set RAY_AUTH_TOKEN"
        )
    kind, _, text = out.rpartition("\n")[2].partition(": ")
    if kind in ("ConfigError", "ClusterError"):
        raise (ConfigError if kind == "ConfigError" else ClusterError)(text)
    if answer is None:
        raise ClusterError(
            f"{address} does not answer as the head of a Ray cluster within "
            f"{PROBE_TIME:.0f} s"
        )
    last = noise.strip().rpartition("\n")[2] or f"exit code {answer}"
    raise ClusterError(f"the cluster at {address} cannot be joined: {last}")


def _text(file: TextIO) -> str:
    file.seek(0)
    return file.read()


@contextmanager
def fate_shared() -> Iterator[None]:
    """Let the processes that the context starts end with this one, killed or not.

    Most of a cluster ends by itself when its program is killed; a few processes would
    wait for minutes. Linux only; elsewhere those are left to Ray.
    """
    if sys.platform != "linux":
        yield
        return
    before = _descendants()
    yield
    begun = [f"{pid}:{time}" for pid, time in (_descendants() - before)]
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-S", "-E", "-c", _REAPER, *begun]
    reaper = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet,
        start_new_session=True,
    )  # fmt: skip
    _REAPERS.append(reaper)


def dismiss_reapers() -> None:
    """End what `fate_shared` left to watch, after the processes have ended."""
    while _REAPERS:
        with _REAPERS.pop() as reaper:
            reaper.kill()


_REAPERS: list[subprocess.Popen[bytes]] = []


def _descendants() -> set[tuple[int, str]]:
    """Return the living processes that descend from this one, with their start times."""
    children: dict[int, list[tuple[int, str]]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            here = (int(folder.name), fields[19])
            children.setdefault(int(fields[1]), []).append(here)
    found: set[tuple[int, str]] = set()
    left = [os.getpid()]
    while left:
        below = children.get(left.pop(), [])
        found.update(below)
        left += [pid for pid, _ in below]
    return found


def cause_of(error: Any) -> BaseException:
    """Error that a method of a worker raised."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, BaseException) else error


def lost(error: Any) -> AmbuloError:
    """The error of a worker that is gone: with its cause if it could not be made."""
    text = str(error)
    missing = next(
        (line.strip() for line in text.splitlines() if "ModuleNotFoundError" in line),
        None,
    )
    if missing is not None:
        version = ".".join(map(str, sys.version_info[:3]))
        return ConfigError(
            f"a worker cannot be made: {missing}; every machine of the cluster needs the "
            f"same Ambulo and Python {version}"
        )
    return LostWorkerError(text.partition("\n")[0])
