"""Output files: written whole or not at all, into folders that must exist."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ambulo.common.paths import USER_SCHEME, resolve_path
from ambulo.configs.atomic import probe_folder, replace_file
from ambulo.configs.errors import RunFolderError


def write_atomic(path: Path, text: str) -> None:
    """Write a text file that appears whole or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file that appears whole or not at all."""
    try:
        replace_file(path, data)
    except OSError as error:
        raise RunFolderError(f"{path}: cannot be written: {error.strerror}") from error


def write_or_print(target: str | None, text: str) -> None:
    """Write `text` to the file that `--json` names, to standard output for `-`."""
    if target == "-":
        sys.stdout.write(text)
    elif target is not None:
        write_atomic(resolve_path(target), text)


def check_parent(file: str | None) -> None:
    """Refuse an output file that cannot be written, before work is done.

    `-` is a stream. A folder of `user://` is made: Godot makes it at its first start.
    """
    if file is None or file == "-":
        return
    path = resolve_path(file)
    if file.startswith(USER_SCHEME):
        path.parent.mkdir(parents=True, exist_ok=True)
    if not path.parent.is_dir():
        raise RunFolderError(f"{path.parent}: no such folder (for {file})")
    if path.is_dir():
        raise RunFolderError(f"{path}: is a folder, not a file")
    if path.exists() and not path.is_file():
        return  # a pipe or a device; what lies beside it says nothing
    try:
        probe_folder(path.parent)
    except OSError as error:
        raise RunFolderError(f"{path}: cannot be written: {error.strerror}") from None


def refuse_existing(files: Iterable[Path], *, force: bool) -> None:
    """Refuse to replace a file that is there, unless `--force` was given.

    Raises:
        RunFolderError: One of `files` is there.
    """
    for path in files:
        if path.exists() and not force:
            raise RunFolderError(f"{path}: is there already; --force replaces it")


def without_nan(value: Any) -> Any:
    """Return `value` for JSON, with null for NaN, also inside lists and dicts."""
    if isinstance(value, dict):
        return {key: without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
