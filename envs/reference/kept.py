"""References, and what else takes seconds, kept on disk: the second process reads them.

The name of an entry is a hash of what was asked for, of the clip's content, of our code and
of the packages that it uses, so that no entry is ever stale. What was warned of while it was
made is kept with it, and said again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any, Generic, TypeVar

from ambulo.configs.atomic import probe_folder
from ambulo.configs.caches import user_cache
from ambulo.configs.errors import MotionFileError
from ambulo.configs.kept_warnings import (
    recorded_warnings,
    say_again,
    warnings_file,
    write_warnings,
)
from ambulo.envs.reference.reference_file import (
    Reference,
    reference_bytes,
    reference_from_bytes,
)
from ambulo.motion.formats.disk import file_errors, read_bytes, write_bytes

log = logging.getLogger(__name__)

T = TypeVar("T")
MOST_ENTRIES = 300
"""Entries that are kept; the one unused for longest goes first."""
_PACKAGES = ("mujoco", "myo-sim", "numba", "numpy", "scipy")
_SOURCES = (
    "configs", "configs.gaits", "configs.skeletons", "envs",
    "envs.characters", "envs.reference", "envs.reference.clips",
    "envs.simulation", "motion", "motion.formats", "motion.gaits",
    "motion.retargeting", "muscle",
)  # fmt: skip
"""Where code and data lie that decide about a reference."""


@dataclass(frozen=True)
class EntryFormat(Generic[T]):
    """How a kind of value is written to an entry and read from it."""

    to_bytes: Callable[[T], bytes]
    from_bytes: Callable[[bytes, Path], T]
    """Raises `MotionFileError` for a damaged entry."""


REFERENCES = EntryFormat(reference_bytes, reference_from_bytes)


def kept_reference(
    key: Any, clip: str | None, make: Callable[[], Reference], *, takes: str = ""
) -> Reference:
    """The reference that `make` makes, made once for all processes; see `kept`."""
    return kept(key, clip, make, REFERENCES, takes=takes)


def kept(
    key: Any,
    clip: str | None,
    make: Callable[[], T],
    form: EntryFormat[T],
    *,
    takes: str = "",
) -> T:
    """What `make` makes, made once for all processes of this user.

    Args:
        key: What else decides about the reference, as JSON data.
        clip: The motion file that it comes from, if any.
        make: Makes it, by code of `_SOURCES` alone.
        form: How an entry holds it.
        takes: What is logged before it is made, such as "two minutes"; silent if empty.

    Raises:
        MotionFileError: There is no such clip.
    """
    name = f"{cache_key(key, clip)}.npz"
    try:
        entry = cache_folder() / name
    except RuntimeError as error:  # a user without a home folder, as in containers
        where = f"and is not kept: {error} AMBULO_REFERENCE_CACHE names a folder"
        return _made(make, form, takes, clip, where)
    found = _found(entry, form)
    if found is not None:
        return found
    where = f"once (it is kept in {entry.parent})"
    try:
        probe_folder(entry.parent)
    except OSError as error:
        where = (
            f"and is not kept: {entry.parent} cannot be written ({error.strerror});"
            " AMBULO_REFERENCE_CACHE names another folder"
        )
        return _made(make, form, takes, clip, where)
    with _alone(entry):
        found = _found(entry, form)  # another process may have made it meanwhile
        if found is not None:
            return found
        with recorded_warnings() as said:
            made = _made(make, form, takes, clip, where)
        lasting = [row for row in said if row[0] != log.name]  # not how long it took
        try:
            with file_errors(entry, "written"):
                write_warnings(entry, lasting)
            write_bytes(entry, form.to_bytes(made))
        except MotionFileError as error:
            log.warning("%s: it is not kept", error)
    _forget_oldest(entry.parent)
    return made


def cache_folder() -> Path:
    """`AMBULO_REFERENCE_CACHE`, else `ambulo/references` in the user's cache folder."""
    return user_cache("references", variable="AMBULO_REFERENCE_CACHE")


def cache_key(key: Any, clip: str | None) -> str:
    """Name of an entry; arguments as `kept`."""
    digest = hashlib.sha256(json.dumps([_code_version(), key]).encode())
    if clip is None:
        return digest.hexdigest()
    path = Path(clip)
    if not path.is_file():
        raise MotionFileError(path, 0, "no such file")
    beside = sorted(path.parent.glob("*.asf")) if path.suffix == ".amc" else []
    for file in (path, *beside):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _found(entry: Path, form: EntryFormat[T]) -> T | None:
    """What the entry holds, if there is one that is not damaged."""
    try:
        if not entry.is_file():
            return None
        found = form.from_bytes(read_bytes(entry), entry)
    except OSError:  # in a folder that this user may not search
        return None
    except MotionFileError as error:  # it is made anew
        log.warning("%s", error)
        return None
    say_again(entry)
    try:
        entry.touch()
    except OSError:  # in a folder that is only read, none is forgotten either
        log.debug("%s: cannot be marked as used", entry)
    return found


def _made(
    make: Callable[[], T],
    form: EntryFormat[T],
    takes: str,
    clip: str | None,
    where: str,
) -> T:
    """Make a value, with its numbers as they will be read from the entry."""
    if takes:
        log.warning(
            "preparing what the body follows (%s): this takes %s, %s",
            clip or "plain walk", takes, where,
        )  # fmt: skip
    began = time.perf_counter()
    made = make()
    if takes:
        log.warning("prepared in %.0f s", time.perf_counter() - began)
    return form.from_bytes(form.to_bytes(made), Path(clip or "made here"))


@contextmanager
def _alone(entry: Path) -> Iterator[None]:
    """Hold the entry's lock, which the system takes back from a process that ends.

    Without the package filelock, or where the lock cannot be used (another user's, or a
    file system without locks), processes that start together each make the reference.
    """
    try:
        from filelock import FileLock, Timeout
    except ImportError:
        yield
        return
    lock = FileLock(entry.with_suffix(".lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        log.warning("another process prepares what the body follows; waiting for it")
        lock.acquire()
    except (OSError, NotImplementedError) as error:
        log.debug("%s: cannot be locked (%s)", lock.lock_file, error)
    try:
        yield
    finally:
        lock.release()


def _forget_oldest(folder: Path) -> None:
    """Delete the entries above `MOST_ENTRIES` that were not used for longest."""
    used = {}
    for entry in folder.glob("*.npz"):
        with suppress(FileNotFoundError):  # forgotten by another process
            used[entry] = entry.stat().st_mtime
    for entry in sorted(used, key=lambda file: used[file])[:-MOST_ENTRIES]:
        with suppress(OSError):  # of another user
            entry.unlink(missing_ok=True)
            warnings_file(entry).unlink(missing_ok=True)
            entry.with_suffix(".lock").unlink(missing_ok=True)


@cache
def _code_version() -> str:
    """A hash of the code and packages that a reference comes from."""
    digest = hashlib.sha256()
    for package in _PACKAGES:
        try:
            digest.update(f"{package} {version(package)}".encode())
        except PackageNotFoundError:
            digest.update(f"{package} none".encode())
    for name in _SOURCES:
        sources = sorted(files(f"ambulo.{name}").iterdir(), key=lambda part: part.name)
        for source in sources:
            if source.name.endswith((".py", ".json")):
                digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()
