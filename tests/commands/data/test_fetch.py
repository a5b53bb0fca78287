"""`ambulo data fetch`, against a server on this machine."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from fixtures.http_server import AMC, ASF, Answer, Server

from ambulo import cli
from ambulo.commands.data import fetch as motion_fetch
from ambulo.commands.data.fetch import ACKNOWLEDGEMENT, CHECKSUMS, numbers
from ambulo.configs.errors import ConfigError


def main(arguments: list[str]) -> int:
    return cli.main(["data", *arguments])


@pytest.fixture
def server(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server, for clips that nothing else lists."""
    monkeypatch.setattr(motion_fetch, "trials_of", lambda subject: [])
    return server


def fetch(server: Server, folder: Path, *more: str) -> int:
    flags = ["--base-url", server.url, "--to", str(folder), "--timeout", "0.3"]
    arguments = ["fetch", "cmu", "--subjects", "02", *flags, "--attempts", "1", *more]
    return main(arguments)


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
