"""`ambulo data fetch` and the downloads below it, against a server on this machine."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests

from ambulo.commands.data import fetch as motion_fetch
from ambulo.commands.data.fetch import ACKNOWLEDGEMENT, CHECKSUMS, numbers
from ambulo.commands.motion_data import main
from ambulo.common.downloads import (
    PIECE,
    DownloadError,
    NotThereError,
    Patience,
    download,
)
from ambulo.configs.errors import AmbuloError, ConfigError

QUICK = Patience(timeout=0.3, attempts=3, pause=0.001)
ASF = """:version 1.10
:name TEST
:units
  mass 1.0
  length 0.45
  angle deg
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
    id 1
    name spine
    direction 0 1 0
    length 10
    axis 0 0 0 XYZ
    dof rx ry rz
    limits (-20 45)
           (-30 30)
           (-30 30)
  end
:hierarchy
  begin
    root spine
  end
"""
AMC = ":FULLY-SPECIFIED\n:DEGREES\n" + "".join(
    f"{i}\nroot 0 17 {i} 0 0 0\nspine {i} 0 0\n" for i in range(1, 5)
)


@dataclass
class Answer:
    """How one request is answered."""

    body: bytes = b""
    status: int = 200
    version: str | None = '"v1"'
    sent: int | None = None
    """Bytes after which the connection breaks."""
    stalls: bool = False
    """Whether it falls silent there instead."""
    ranges: bool = True
    sized: bool = True
    location: str | None = None


@dataclass
class Server:
    """Files by path; a list is answered one by one, its last element for ever."""

    url: str
    files: dict[str, list[Answer]] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    """Path and Range of every request."""
    done: threading.Event = field(default_factory=threading.Event)

    def put(self, path: str, *answers: Answer) -> str:
        self.files[path] = list(answers)
        return f"{self.url}{path}"

    def put_cmu(self, subject: str = "02", trials: tuple[int, ...] = (1, 2)) -> None:
        self.put(f"/{subject}/{subject}.asf", Answer(ASF.encode()))
        for trial in trials:
            self.put(f"/{subject}/{subject}_{trial:02d}.amc", Answer(AMC.encode()))


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_GET(self) -> None:
            server.asked.append((self.path, self.headers["Range"]))
            answers = server.files.get(self.path, [Answer(b"not here", status=404)])
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            body, status, start = answer.body, answer.status, 0
            wanted = self.headers["Range"]
            if wanted and answer.ranges and status == 200:
                start = int(wanted.removeprefix("bytes=").rstrip("-"))
                if start >= len(body):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(body)}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                if self.headers["If-Range"] in (None, answer.version):
                    status = 206
                else:
                    start = 0
            self.send_response(status)
            if status == 206:
                span = f"bytes {start}-{len(body) - 1}/{len(body)}"
                self.send_header("Content-Range", span)
            if answer.sized:
                self.send_header("Content-Length", str(len(body) - start))
            if answer.version is not None:
                self.send_header("ETag", answer.version)
            if answer.location is not None:
                self.send_header("Location", answer.location)
            if not answer.sized or answer.sent is not None:
                self.send_header("Connection", "close")
                self.close_connection = True
            self.end_headers()
            self.wfile.write(body[start : start + (answer.sent or len(body))])
            self.wfile.flush()
            if answer.stalls:
                server.done.wait(10.0)

        def log_message(self, *_: object) -> None:
            """Silent."""

    return Handler


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(motion_fetch, "trials_of", lambda subject: [])
    state = Server(url="")
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    http.daemon_threads = True
    state.url = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield state
    state.done.set()
    http.shutdown()
    http.server_close()
    thread.join()


def get(url: str, path: Path, patience: Patience = QUICK) -> None:
    with requests.Session() as session:
        download(session, url, path, check=lambda file: None, patience=patience)


def fetch(server: Server, folder: Path, *more: str) -> int:
    flags = ["--base-url", server.url, "--to", str(folder), "--timeout", "0.3"]
    arguments = ["fetch", "cmu", "--subjects", "02", *flags, "--attempts", "1", *more]
    return main(arguments)


BODY = bytes(range(256)) * 1000
ARRIVED = 100_000 // PIECE * PIECE
"""What is kept of the first 100,000 bytes: whole pieces."""


def test_a_file_arrives_whole(server: Server, tmp_path: Path) -> None:
    url = server.put("/a", Answer(BODY))
    seen: list[tuple[int, int | None]] = []
    with requests.Session() as session:
        download(
            session, url, tmp_path / "a", check=lambda file: None, patience=QUICK,
            arrived=lambda done, total: seen.append((done, total)),
        )  # fmt: skip
    assert (tmp_path / "a").read_bytes() == BODY
    assert seen[-1] == (len(BODY), len(BODY))
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_what_broke_off_is_continued_in_the_same_run(
    server: Server, tmp_path: Path
) -> None:
    url = server.put("/a", Answer(BODY, sent=100_000), Answer(BODY))
    get(url, tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == BODY
    assert server.asked == [("/a", None), ("/a", f"bytes={ARRIVED}-")]


def test_what_broke_off_is_continued_in_the_next_run(
    server: Server, tmp_path: Path
) -> None:
    url = server.put("/a", Answer(BODY, sent=100_000))
    with pytest.raises(DownloadError, match="what arrived is kept, run it again"):
        get(url, tmp_path / "a", Patience(attempts=1))
    assert not (tmp_path / "a").exists()
    assert (tmp_path / "a.part").stat().st_size == ARRIVED
    server.put("/a", Answer(BODY))
    get(url, tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == BODY
    assert server.asked[-1] == ("/a", f"bytes={ARRIVED}-")


def test_without_ranges_the_download_starts_again(
    server: Server, tmp_path: Path
) -> None:
    url = server.put("/a", Answer(BODY, sent=100_000), Answer(BODY, ranges=False))
    get(url, tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == BODY


def test_a_file_that_changed_meanwhile_starts_again(
    server: Server, tmp_path: Path
) -> None:
    new = Answer(BODY[::-1], version='"v2"')
    url = server.put("/a", Answer(BODY, sent=100_000), new)
    get(url, tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == BODY[::-1]


@pytest.mark.parametrize("version", [None, 'W/"v1"'])
def test_a_part_without_a_sure_version_is_not_continued(
    server: Server, tmp_path: Path, version: str | None
) -> None:
    broken = Answer(BODY, sent=100_000, version=version)
    url = server.put("/a", broken, Answer(BODY, version=version))
    get(url, tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == BODY
    assert [wanted for _, wanted in server.asked] == [None, None]


def test_a_complete_part_needs_no_more_bytes(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.part").write_bytes(BODY)
    (tmp_path / "a.part.version").write_text('"v1"')
    get(server.put("/a", Answer(BODY)), tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == BODY
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_a_part_longer_than_the_file_starts_again(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "a.part").write_bytes(BODY + b"more")
    (tmp_path / "a.part.version").write_text('"v1"')
    get(server.put("/a", Answer(BODY)), tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == BODY


def test_a_silent_server_is_given_up(server: Server, tmp_path: Path) -> None:
    url = server.put("/a", Answer(BODY, sent=10, stalls=True))
    with pytest.raises(DownloadError, match=r"no answer for 0.3 s \(2 attempts\)"):
        get(url, tmp_path / "a", Patience(timeout=0.3, attempts=2, pause=0.001))


def test_a_server_that_is_busy_is_asked_again(server: Server, tmp_path: Path) -> None:
    url = server.put("/a", Answer(status=503), Answer(status=429), Answer(BODY))
    get(url, tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == BODY


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (Answer(status=404), NotThereError, "no such file"),
        (Answer(status=403), DownloadError, "answered 403"),
        (Answer(status=500), DownloadError, r"answered 500 \(3 attempts\)"),
        (Answer(status=302, location="/a"), DownloadError, "redirects"),
    ],
)
def test_refusals_are_named(
    server: Server, tmp_path: Path, answer: Answer, kind: type[Exception], words: str
) -> None:
    url = server.put("/a", answer)
    with pytest.raises(kind, match=words) as caught:
        get(url, tmp_path / "a")
    assert url in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_redirect_is_followed(server: Server, tmp_path: Path) -> None:
    server.put("/b", Answer(BODY))
    get(server.put("/a", Answer(status=301, location="/b")), tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == BODY


@pytest.mark.parametrize("sized", [True, False])
def test_a_huge_file_is_refused(server: Server, tmp_path: Path, sized: bool) -> None:
    url = server.put("/a", Answer(BODY, sized=sized))
    with pytest.raises(DownloadError, match="are refused"):
        get(url, tmp_path / "a", Patience(most_bytes=1000))
    assert not (tmp_path / "a").exists()


def test_no_server_is_one_line(tmp_path: Path, server: Server) -> None:
    with pytest.raises(DownloadError, match="refused the connection"):
        get("http://127.0.0.1:9/a", tmp_path / "a")


def test_what_the_check_refuses_is_gone(server: Server, tmp_path: Path) -> None:
    def check(file: Path) -> None:
        raise AmbuloError("bad")

    url = server.put("/a", Answer(BODY))
    with requests.Session() as session, pytest.raises(AmbuloError, match="bad"):
        download(session, url, tmp_path / "a", check=check, patience=QUICK)
    assert list(tmp_path.iterdir()) == []


def test_a_subject_is_fetched_and_then_verified(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.put_cmu(trials=(1, 2, 4))
    assert fetch(server, tmp_path) == 0
    out = capsys.readouterr().out
    assert "4 downloaded, 0 there already, 0 failed" in out
    assert ACKNOWLEDGEMENT in out
    assert (tmp_path / "02/02_04.amc").read_text() == AMC
    files = json.loads((tmp_path / CHECKSUMS).read_text())["files"]
    assert files["02/02.asf"] == hashlib.sha256(ASF.encode()).hexdigest()
    assert len(files) == 4
    server.asked.clear()
    assert fetch(server, tmp_path, "--trials", "1-2") == 0
    assert "0 downloaded, 3 there already" in capsys.readouterr().out
    assert server.asked == []


def test_a_file_that_was_damaged_here_is_reported_and_mended(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.put_cmu(trials=(1,))
    fetch(server, tmp_path, "--trials", "1")
    (tmp_path / "02/02_01.amc").write_text(AMC[:-20])
    assert fetch(server, tmp_path, "--trials", "1") == 1
    assert "changed or damaged" in capsys.readouterr().err
    assert fetch(server, tmp_path, "--trials", "1", "--force") == 0
    assert (tmp_path / "02/02_01.amc").read_text() == AMC


def test_given_checksums_must_agree(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.put_cmu(trials=(1,))
    trusted = tmp_path / "trusted.json"
    motion_fetch.write_checksums(trusted, {"02/02_01.amc": "0" * 64})
    folder = tmp_path / "data"
    more = ("--trials", "1", "--checksums", str(trusted))
    assert fetch(server, folder, *more) == 1
    assert "not the expected file" in capsys.readouterr().err
    assert sorted(file.name for file in (folder / "02").iterdir()) == ["02.asf"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<!DOCTYPE html><p>Not found</p>", "is a web page"),
        (AMC.encode()[:-9], "02_01.amc.part: line"),
        (AMC.replace("spine", "tail").encode(), "tail"),
        (b"", "is empty"),
    ],
)
def test_what_is_no_clip_is_refused(
    server: Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    body: bytes,
    words: str,
) -> None:
    server.put_cmu(trials=(2,))
    server.put("/02/02_01.amc", Answer(body))
    assert fetch(server, tmp_path, "--trials", "1,2") == 1
    streams = capsys.readouterr()
    assert words in streams.err
    assert len(streams.err.splitlines()) == 1
    assert "2 downloaded, 0 there already, 1 failed" in streams.out
    assert not (tmp_path / "02/02_01.amc").exists()


def test_without_a_skeleton_a_subject_is_left_out(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fetch(server, tmp_path) == 1
    assert "no clip without a skeleton" in capsys.readouterr().err
    assert [path for path, _ in server.asked] == ["/02/02.asf"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--subjects", "2,x"], "expected numbers from 1 to 999"),
        (["--base-url", "ftp://x"], "expected http://"),
        (["--attempts", "0"], "--attempts must be at least 1"),
        (["--timeout", "nan"], "--timeout above 0"),
        (["--timeout", "inf"], "--timeout above 0"),
        (["--checksums", "none.json"], "none.json"),
    ],
)
def test_bad_usage_is_one_line_and_code_2(
    server: Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    flags: list[str],
    words: str,
) -> None:
    assert fetch(server, tmp_path / "new", *flags) == 2
    err = capsys.readouterr().err
    assert words in err
    assert len(err.splitlines()) == 1
    assert server.asked == []
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[1]",
        '{"files": {}}',
        '{"version": 2, "files": {}}',
        '{"version": 1, "files": {"a": 1}}',
    ],
)
def test_a_damaged_list_of_checksums_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / CHECKSUMS).write_text(text)
    with pytest.raises(ConfigError, match=CHECKSUMS):
        motion_fetch.read_checksums(tmp_path / CHECKSUMS)


def test_numbers_are_lists_and_ranges() -> None:
    assert numbers("07,2, 10-12,11", "--subjects", 144) == [2, 7, 10, 11, 12]
    for bad in ("", "0", "145", "3-2", "1-", "-1", "1;2", "²"):
        with pytest.raises(ConfigError):
            numbers(bad, "--subjects", 144)


def test_the_trials_of_the_database_are_known() -> None:
    assert motion_fetch.trials_of(2) == list(range(1, 11))
    assert motion_fetch.trials_of(999) == []
