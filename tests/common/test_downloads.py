"""Downloads: continued, restarted and refused, against a server on this machine."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import requests
from fixtures.http_server import Answer, Server

from ambulo.common.downloads import (
    DownloadError,
    NotThereError,
    Patience,
    download,
)
from ambulo.configs.errors import AmbuloError

QUICK = Patience(timeout=0.3, attempts=3, pause=0.001)
BODY = bytes(range(256)) * 1000
ARRIVED = 100_000
"""What is kept of a body that breaks off after as many bytes."""


def get(url: str, path: Path, patience: Patience = QUICK) -> None:
    with requests.Session() as session:
        download(session, url, path, check=lambda file: None, patience=patience)


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
    assert list(tmp_path.iterdir()) == []


def test_the_part_of_a_file_that_became_too_large_is_gone(
    server: Server, tmp_path: Path
) -> None:
    url = server.put("/a", Answer(BODY, sent=100_000), Answer(BODY))
    with pytest.raises(DownloadError, match="run it again"):
        get(url, tmp_path / "a", Patience(attempts=1))
    assert (tmp_path / "a.part").exists()
    with pytest.raises(DownloadError, match="are refused"):
        get(url, tmp_path / "a", Patience(most_bytes=1000))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["Content-Length", "Content-Range"])
def test_a_length_of_thousands_of_digits_is_refused(
    server: Server, tmp_path: Path, where: str
) -> None:
    stated = "9" * 5000
    url = server.put("/a", Answer(BODY, sent=100_000), Answer(BODY, stated=stated))
    if where == "Content-Length":
        server.files["/a"].pop(0)
    with pytest.raises(DownloadError, match="are refused"):
        get(url, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("drips", ["head", "body"])
def test_a_dripping_server_is_given_up(
    server: Server, tmp_path: Path, drips: str
) -> None:
    url = server.put("/a", Answer(BODY, sent=10, drips=drips))
    with pytest.raises(DownloadError, match="sends less than 1000 bytes"):
        get(url, tmp_path / "a", Patience(timeout=0.2, attempts=1))


def test_what_counts_as_too_slow() -> None:
    patience, now = Patience(timeout=15.0, least_rate=1000.0), time.monotonic()
    assert not patience.too_slow(now - 29.0, 0)
    assert patience.too_slow(now - 30.1, 0)
    assert not patience.too_slow(now - 129.0, 100_000)
    assert patience.too_slow(now - 130.1, 100_000)


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
