"""Downloads that continue after an interruption and replace the file atomically."""

from __future__ import annotations

import contextlib
import hashlib
import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ambulo.configs.errors import AmbuloError

if TYPE_CHECKING:
    import requests

Arrived = Callable[[int, int | None], None]
"""Called after each piece: bytes of the file so far, and in all if the server states it."""
Check = Callable[[Path], None]
"""Raises an `AmbuloError` if a file is invalid."""

PIECE = 1 << 16
"""Most bytes that are taken from the connection at a time."""
PARTIAL = ".part"
"""Suffix of an incomplete file."""
_DIGITS = 18
"""Largest number of digits of an accepted number of bytes."""
VERSION_MARK = ".part.version"
"""Suffix of the file that names the server's version of a part."""


class DownloadError(AmbuloError):
    """A file that cannot be downloaded; the message names its address and the reason."""


class NotThereError(DownloadError):
    """The server has no such file."""


class _TooLargeError(DownloadError):
    """A file larger than the limit."""


class _InterruptedError(Exception):
    """A failed attempt that can be repeated."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


@dataclass(frozen=True)
class Patience:
    """Time limits for a server."""

    timeout: float = 30.0
    """Silence after which a connection is given up, [s]."""
    attempts: int = 4
    """Attempts for each file; every one continues the last."""
    pause: float = 1.0
    """Pause before the second attempt, doubled for each later one, [s]."""
    longest: float = 60.0
    """Longest pause that a server may request, [s]."""
    least_rate: float = 1000.0
    """Rate, [bytes/s], below which a connection is given up after twice the timeout; the
    timeout alone restarts with every byte."""
    most_bytes: int = 256 << 20
    """Largest accepted file, [bytes]."""

    def too_slow(self, since: float, count: int) -> bool:
        """Whether too few bytes arrived since a moment of `time.monotonic`."""
        seconds = time.monotonic() - since - 2.0 * self.timeout
        return count < seconds * self.least_rate


def download(
    session: requests.Session,
    url: str,
    path: Path,
    *,
    check: Check,
    patience: Patience | None = None,
    arrived: Arrived = lambda done, total: None,
) -> None:
    """Download `url` to `path`, continuing an earlier interrupted download.

    Received data are in `path` + ".part" until the file is complete and `check` accepts it;
    then it replaces `path` atomically. A part is continued (HTTP Range with If-Range, RFC 9110,
    sections 13.1.5 and 14.2) only if the server's file has a version that has not changed;
    otherwise the download restarts.

    Args:
        session: Keeps the connection.
        url: Address.
        path: The file; its folder exists.
        check: Called with the complete part.
        patience: Timeouts and attempts.
        arrived: Receives the progress.

    Raises:
        NotThereError: 404 or 410.
        DownloadError: Every other failure of the network or the server.
        AmbuloError: Raised by `check`.

    A refused file (too large, or by `check`) leaves no part.
    """
    patience = patience or Patience()
    part = path.with_name(path.name + PARTIAL)
    version = path.with_name(path.name + VERSION_MARK)
    for attempt in range(1, patience.attempts + 1):
        try:
            _continue(session, url, part, version, patience, arrived)
            break
        except _InterruptedError as error:
            if attempt == patience.attempts:
                selected = (
                    "; what arrived is kept, run it again" if part.exists() else ""
                )
                raise DownloadError(
                    f"{url}: {error} ({attempt} attempts){selected}"
                ) from None
            pause = patience.pause * 2.0 ** (attempt - 1)
            time.sleep(min(max(pause, error.wait), patience.longest))
    try:
        check(part)
    except AmbuloError:
        _forget(part, version)
        raise
    os.replace(part, path)
    version.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _continue(
    session: requests.Session,
    url: str,
    part: Path,
    version: Path,
    patience: Patience,
    arrived: Arrived,
) -> None:
    """One attempt: the rest of the file, or all of it."""
    import requests
    from urllib3.exceptions import HTTPError

    try:
        _receive(session, url, part, version, patience, arrived)
    except _TooLargeError:
        _forget(part, version)
        raise
    except (requests.ConnectionError, requests.Timeout, HTTPError) as error:
        raise _InterruptedError(_reason(error, patience)) from None
    except requests.RequestException as error:
        raise DownloadError(f"{url}: {error}") from None


def _receive(
    session: requests.Session,
    url: str,
    part: Path,
    version: Path,
    patience: Patience,
    arrived: Arrived,
) -> None:
    """Request the missing bytes and write them."""
    have, known = _part_of(part, version)
    # No compression: a range counts the bytes of the uncompressed file.
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": known}
    begun = time.monotonic()
    with _answer(session, url, headers, patience) as response:
        if _complete_already(response, have):
            return
        _refuse(response, url, part, version)
        start, total = _range_of(response, have)
        if total is not None and total > patience.most_bytes:
            raise _TooLargeError(
                f"{url}: {total} bytes; more than {patience.most_bytes} are refused"
            )
        _remember_version(response, version)
        done = start
        with part.open("r+b" if start else "wb") as file:
            file.seek(start)
            while piece := response.raw.read1(PIECE, decode_content=True):
                done += len(piece)
                if done > patience.most_bytes:
                    raise _TooLargeError(
                        f"{url}: more than {patience.most_bytes} bytes are refused"
                    )
                file.write(piece)
                arrived(done, total)
                if patience.too_slow(begun, done - start):
                    raise _InterruptedError(_too_slow(patience))
            file.truncate()
        if total is not None and done != total:
            raise _InterruptedError(f"got {done} of {total} bytes")


def _answer(
    session: requests.Session, url: str, headers: dict[str, str], patience: Patience
) -> requests.Response:
    """Ask; a thread of its own is given up where the head of the answer does not end."""
    answers: queue.SimpleQueue[requests.Response | Exception] = queue.SimpleQueue()
    given_up = threading.Event()

    def ask() -> None:
        try:
            answer = session.get(
                url, headers=headers, stream=True, timeout=patience.timeout
            )
            answers.put(answer)
        except Exception as error:
            answers.put(error)
        else:
            if given_up.is_set():
                answer.close()

    threading.Thread(target=ask, daemon=True, name="download").start()
    try:
        answer = answers.get(timeout=2.0 * patience.timeout)
    except queue.Empty:
        given_up.set()
        raise _InterruptedError(_too_slow(patience)) from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _part_of(part: Path, version: Path) -> tuple[int, str]:
    """Bytes received before and the server's version of them; 0 without one."""
    try:
        known = version.read_text(encoding="latin-1").strip()
        have = part.stat().st_size
    except OSError:
        return 0, ""
    # A version that does not fit into a header is invalid.
    return (have, known) if known and known.isprintable() else (0, "")


def _complete_already(response: requests.Response, have: int) -> bool:
    """Whether the server reports that the part is the whole file (416, `bytes */N`)."""
    stated = response.headers.get("Content-Range", "")
    return bool(have) and response.status_code == 416 and stated == f"bytes */{have}"


def _refuse(response: requests.Response, url: str, part: Path, version: Path) -> None:
    """Raise the error of an answer without a file."""
    status = response.status_code
    if status in (200, 206):
        return
    if status in (404, 410):
        raise NotThereError(f"{url}: the server has no such file ({status})")
    if status == 416:
        _forget(part, version)
        raise _InterruptedError("the server's file has changed (416)")
    if status in (408, 429) or status >= 500:
        wait = 0.0
        with contextlib.suppress(ValueError):
            wait = float(response.headers.get("Retry-After", "0"))
        raise _InterruptedError(f"the server answered {status}", wait)
    raise DownloadError(f"{url}: the server answered {status} {response.reason}")


def _range_of(response: requests.Response, have: int) -> tuple[int, int | None]:
    """Start of the body in the file, and the file's length if it is stated."""
    packed = response.headers.get("Content-Encoding", "identity") != "identity"
    body = None if packed else _count(response.headers.get("Content-Length", ""))
    if response.status_code == 200:
        return 0, body
    stated = response.headers.get("Content-Range", "")
    if not have or packed or not stated.startswith(f"bytes {have}-"):
        raise DownloadError(
            f"{response.url}: asked for bytes from {have} on, got {stated or 'no range'}"
        )
    total = _count(stated.rpartition("/")[2])
    if total is not None:
        return have, total
    return have, None if body is None else have + body


def _count(text: str) -> int | None:
    """Return a number of bytes from a header, or None."""
    if not text.isdecimal():
        return None
    return int(text) if len(text) < _DIGITS else 10**_DIGITS


def _remember_version(response: requests.Response, version: Path) -> None:
    """Store the version of the file: a strong ETag, or its date."""
    tag = response.headers.get("ETag", "")
    if not tag or tag.startswith("W/"):
        tag = response.headers.get("Last-Modified", "")
    if tag:
        version.write_text(tag, encoding="latin-1", errors="replace")
    else:
        version.unlink(missing_ok=True)


def _forget(part: Path, version: Path) -> None:
    part.unlink(missing_ok=True)
    version.unlink(missing_ok=True)


def _too_slow(patience: Patience) -> str:
    return f"the server sends less than {patience.least_rate:g} bytes a second"


def _reason(error: Exception, patience: Patience) -> str:
    """Why a connection failed, in words."""
    import requests

    text = str(error)
    if isinstance(error, requests.Timeout) or "Read timed out" in text:
        return f"no answer for {patience.timeout:g} s"
    if "NameResolution" in text or "getaddrinfo" in text:
        return "no such server, or no network"
    if "refused" in text:
        return "the server refused the connection"
    if isinstance(error, requests.exceptions.SSLError):
        return "no trusted connection (TLS)"
    return "the connection broke"
