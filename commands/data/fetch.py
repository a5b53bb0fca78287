"""`ambulo data fetch`: motion capture of Carnegie Mellon University, by subject."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ambulo.commands.data.flags import FetchFlags, checked_base
from ambulo.common.downloads import (
    DownloadError,
    NotThereError,
    Patience,
    download,
    sha256_of,
)
from ambulo.common.files import json_text, write_atomic
from ambulo.common.paths import resolve_path
from ambulo.configs.base import read_json
from ambulo.configs.errors import AmbuloError, ConfigError
from ambulo.configs.reading import MOST_TEXT

if TYPE_CHECKING:
    import requests
    from rich.progress import Progress

ACKNOWLEDGEMENT = (
    "The data used in this project was obtained from mocap.cs.cmu.edu. "
    "The database was created with funding from NSF EIA-0196217."
)
"""Acknowledgement that the owners request wherever the data is used."""
CHECKSUMS = "checksums.json"
"""File beside the subjects' folders with the SHA-256 of every fetched file."""
SOME_FAILED = 1
"""Exit code when there are files that could not be had."""
MISSES = 3
"""Trials without a file, one after another, that end an unlisted subject."""
MOST_TRIALS = 99
_CHECKSUMS_VERSION = 1


def fetch(flags: FetchFlags) -> int:
    """Fetch; 0, or 1 when some files could not be had."""
    import requests

    trusted = {}
    if flags.checksums is not None:
        trusted = read_checksums(resolve_path(flags.checksums))
    subjects = numbers(flags.subjects, "--subjects", 999)
    trials = None
    if flags.trials is not None:
        trials = numbers(flags.trials, "--trials", MOST_TRIALS)
    base, folder = checked_base(flags.base_url), resolve_path(flags.to)
    folder.mkdir(parents=True, exist_ok=True)
    with requests.Session() as session, _progress() as progress:
        fetcher = Fetch(
            session=session,
            base=base,
            folder=folder,
            trusted=trusted,
            force=flags.force,
            patience=Patience(timeout=flags.timeout, attempts=flags.attempts),
            progress=progress,
        )
        for subject in subjects:
            fetcher.subject(subject, trials)
    print(fetcher.summary())
    print(ACKNOWLEDGEMENT)
    return SOME_FAILED if fetcher.failed else 0


def numbers(text: str, flag: str, most: int) -> list[int]:
    """The numbers of `02,07,10-14`, sorted, each once.

    Raises:
        ConfigError: another text, or a number outside 1..most.
    """
    result: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,4})(?:\s*-\s*(\d{1,4}))?\s*", part, re.ASCII)
        first, last = (
            (0, 0) if match is None else (int(match[1]), int(match[2] or match[1]))
        )
        if not 1 <= first <= last <= most:
            raise ConfigError(
                f"{flag} {text}: expected numbers from 1 to {most} such as 02,07,10-14, "
                f"got {part.strip()!r}"
            )
        result.update(range(first, last + 1))
    return sorted(result)


def read_checksums(path: Path) -> dict[str, str]:
    """SHA-256 by file name ("02/02_01.amc"), from a `checksums.json`.

    Raises:
        ConfigError: no such file, or it holds something else.
    """
    data = read_json(path, MOST_TEXT)
    files = data.get("files") if isinstance(data, dict) else None
    if not isinstance(files, dict) or data.get("version") != _CHECKSUMS_VERSION:
        raise ConfigError(
            f'{path}: expected {{"version": {_CHECKSUMS_VERSION}, "files": '
            "{name: SHA-256}}; delete it to begin a new one"
        )
    for name, digest in files.items():
        if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
            raise ConfigError(f"{path}: {name}: expected a SHA-256, 64 hex digits")
    return files


def write_checksums(path: Path, files: dict[str, str]) -> None:
    """Write a `checksums.json`, whole or not at all."""
    data = {"version": _CHECKSUMS_VERSION, "files": dict(sorted(files.items()))}
    write_atomic(path, json_text(data))


def trials_of(subject: int) -> list[int]:
    """The trials that the CMU database has of a subject; none if it is not listed."""
    from ambulo.motion.datasets.activities import cmu_trials

    return [int(name.partition("_")[2]) for name in cmu_trials(f"{subject:02d}")]


@dataclass
class Fetch:
    """One run of the command: what it works with and how it went."""

    session: requests.Session
    """Keeps the connection."""
    base: str
    """Address of the subjects' folders."""
    folder: Path
    """Where the subjects' folders go."""
    trusted: dict[str, str] = field(default_factory=dict)
    """Checksums that the user gave."""
    force: bool = False
    """Download again what is there."""
    patience: Patience = field(default_factory=Patience)
    """Timeouts and attempts."""
    progress: Progress | None = None
    """Shows the bytes."""
    fetched: int = 0
    """Files downloaded."""
    kept: int = 0
    """Files that were there and are right."""
    failed: int = 0
    """Files that could not be had."""
    known: dict[str, str] = field(default_factory=dict)
    """Checksums of earlier runs and of this one."""

    def __post_init__(self) -> None:
        """Read the checksums of earlier runs."""
        if (self.folder / CHECKSUMS).exists():
            self.known = read_checksums(self.folder / CHECKSUMS)

    def subject(self, subject: int, trials: Iterable[int] | None = None) -> None:
        """Fetch the skeleton and the clips of a subject; failures are reported."""
        code = f"{subject:02d}"
        (self.folder / code).mkdir(exist_ok=True)
        skeleton = f"{code}/{code}.asf"
        if not self._reported(skeleton, _asf_check):
            self._say(f"subject {code}: left out, there is no clip without a skeleton")
            return
        check = _amc_check(self.folder / skeleton)
        listed = list(trials) if trials is not None else trials_of(subject)
        for trial in listed:
            self._reported(f"{code}/{code}_{trial:02d}.amc", check)
        if not listed:
            self._until_missing(code, check)

    def summary(self) -> str:
        """How it went, in a line."""
        return (
            f"{self.fetched} downloaded, {self.kept} there already, "
            f"{self.failed} failed: {self.folder}"
        )

    def _until_missing(self, code: str, check: Callable[[Path], None]) -> None:
        """Clips of a subject that no table lists: trial after trial."""
        misses = 0
        for trial in range(1, MOST_TRIALS + 1):
            try:
                self.file(f"{code}/{code}_{trial:02d}.amc", check)
                misses = 0
            except NotThereError:
                misses += 1
            except AmbuloError as error:
                self._failed(error)
            if misses == MISSES:
                return

    def _reported(self, name: str, check: Callable[[Path], None]) -> bool:
        """Fetch a file; whether it could be had."""
        try:
            self.file(name, check)
        except AmbuloError as error:
            self._failed(error)
            return False
        return True

    def file(self, name: str, check: Callable[[Path], None]) -> None:
        """Fetch the file `name` unless it is there; its checksum is kept.

        Raises:
            AmbuloError: it cannot be had, or is not what it should be.
        """
        path = self.folder / name
        want = self.trusted.get(name) or (None if self.force else self.known.get(name))

        def verify(file: Path) -> None:
            digest = sha256_of(file)
            if want is not None and digest != want:
                what = "changed or damaged" if file == path else "not the expected file"
                raise DownloadError(
                    f"{file}: {what}: SHA-256 {digest[:12]}..., expected {want[:12]}...; "
                    "--force downloads it again"
                )
            check(file)
            self.known[name] = digest

        if path.exists() and not self.force:
            verify(path)
            self.kept += 1
        else:
            with self._bar(name) as arrived:
                download(
                    self.session, f"{self.base}/{name}", path, check=verify,
                    patience=self.patience, arrived=arrived,
                )  # fmt: skip
            self.fetched += 1
        write_checksums(self.folder / CHECKSUMS, self.known)

    @contextmanager
    def _bar(self, name: str) -> Iterator[Callable[[int, int | None], None]]:
        """A bar of the file's bytes, while it is downloaded."""
        if self.progress is None:
            yield lambda done, total: None
            return
        task = self.progress.add_task(name, total=None)
        bars = self.progress
        try:
            yield lambda done, total: bars.update(task, completed=done, total=total)
        finally:
            self.progress.remove_task(task)

    def _failed(self, error: AmbuloError) -> None:
        self.failed += 1
        self._say(f"ambulo: error: {error}")

    def _say(self, text: str) -> None:
        """A line on stderr, above the bars."""
        if self.progress is None:
            print(text, file=sys.stderr)
        else:
            self.progress.console.print(text, markup=False, soft_wrap=True)


def _progress() -> Progress:
    """Bars on stderr; none where that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )


def _refuse_web_page(path: Path) -> None:
    """A server or a login page may answer 200 with a page that says "not found"."""
    with path.open("rb") as stream:
        start = stream.read(512).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml", b"<head", b"<body")):
        raise DownloadError(
            f"{path}: is a web page, not motion capture; see --base-url"
        )


def _asf_check(path: Path) -> None:
    """Refuse what is no skeleton."""
    from ambulo.motion.formats.asf import read_asf

    _refuse_web_page(path)
    read_asf(path)


def _amc_check(skeleton: Path) -> Callable[[Path], None]:
    """A check that refuses what is no clip of the skeleton in the file `skeleton`."""
    from ambulo.motion.formats.amc import read_amc_motion

    def check(path: Path) -> None:
        _refuse_web_page(path)
        read_amc_motion(path, skeleton)

    return check
