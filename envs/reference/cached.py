"""References, and what else takes seconds to make, cached on disk for all processes of a user.

An entry is named by a hash of what it is made from: the key, the content of the clip, and
`RECIPE`. Warnings that were logged while it was made are logged again when it is read.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, TypeVar

from ambulo.configs.atomic import probe_folder
from ambulo.configs.caches import user_cache
from ambulo.configs.errors import MotionFileError
from ambulo.configs.kept_warnings import recorded_warnings, say_again, write_warnings
from ambulo.envs.reference.reference import (
    Reference,
    reference_bytes,
    reference_from_bytes,
)
from ambulo.motion.formats.disk import file_errors, read_bytes, write_bytes
from ambulo.motion.roles.files import roles_beside

log = logging.getLogger(__name__)

T = TypeVar("T")
RECIPE = 14
"""To be raised with a change of the code that makes other numbers out of the same inputs."""


@dataclass(frozen=True)
class EntryFormat(Generic[T]):
    """How a kind of value is written to an entry and read from it."""

    to_bytes: Callable[[T], bytes]
    from_bytes: Callable[[bytes, Path], T]
    """Raises `MotionFileError` for a damaged entry."""


REFERENCES = EntryFormat(reference_bytes, reference_from_bytes)


def cached_reference(
    key: Any, clip: str | None, make: Callable[[], Reference], *, takes: str = ""
) -> Reference:
    """The reference that `make` makes; see `cached`."""
    return cached(key, clip, make, REFERENCES, takes=takes)


def cached(
    key: Any,
    clip: str | None,
    make: Callable[[], T],
    form: EntryFormat[T],
    *,
    takes: str = "",
) -> T:
    """Result of `make`, computed once for all processes of this user.

    Args:
        key: What else decides about it, as JSON data.
        clip: The motion file that it comes from, if any.
        make: Makes it out of `key` and `clip` alone.
        form: How an entry holds it.
        takes: What is logged before it is made, such as "two minutes"; silent if empty.

    Raises:
        MotionFileError: There is no such clip.
    """
    name = f"{cache_key(key, clip)}.npz"
    try:
        entry = cache_folder() / name
        found = _read(entry, form)
        if found is not None:
            return found
        probe_folder(entry.parent)
    except (
        OSError,
        RuntimeError,
    ) as error:  # read-only, or a user without a home folder
        where = (
            f"and is not kept ({error}): AMBULO_REFERENCE_CACHE names another folder"
        )
        return _made(make, form, takes, clip, where)
    with _locked(entry):
        found = _read(entry, form)  # another process may have made it meanwhile
        if found is not None:
            return found
        with recorded_warnings() as said:
            where = f"once (it is kept in {entry.parent})"
            made = _made(make, form, takes, clip, where)
        try:
            with file_errors(entry, "written"):
                write_warnings(entry, [row for row in said if row[0] != log.name])
            write_bytes(entry, form.to_bytes(made))
        except MotionFileError as error:
            log.warning("%s: it is not kept", error)
    return made


def cache_folder() -> Path:
    """`AMBULO_REFERENCE_CACHE`, else `ambulo/references` in the user's cache folder."""
    return user_cache("references", variable="AMBULO_REFERENCE_CACHE")


def cache_key(key: Any, clip: str | None) -> str:
    """Name of an entry; arguments as `cached`."""
    inputs = [RECIPE, version("mujoco"), key]
    digest = hashlib.sha256(json.dumps(inputs).encode())
    if clip is None:
        return digest.hexdigest()
    path = Path(clip)
    if not path.is_file():
        raise MotionFileError(path, 0, "no such file")
    beside = sorted(path.parent.glob("*.asf")) if path.suffix == ".amc" else []
    roles = roles_beside(path)
    for file in (path, *beside, *([roles] if roles else [])):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _read(entry: Path, form: EntryFormat[T]) -> T | None:
    """Contents of the entry, if it exists and is not damaged."""
    try:
        if not entry.is_file():
            return None
        found = form.from_bytes(read_bytes(entry), entry)
    except MotionFileError as error:  # it is made again
        log.warning("%s", error)
        return None
    say_again(entry)
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
        # A warning, so that it is shown without any logging set up.
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
def _locked(entry: Path) -> Iterator[None]:
    """Hold the entry's lock, which the system takes back from a process that ends.

    Where there are no locks, processes that start together each make the entry.
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
