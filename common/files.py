"""Output files: written atomically, into existing folders."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ambulo.common.paths import USER_SCHEME, resolve_path
from ambulo.configs.atomic import probe_folder, replace_file
from ambulo.configs.errors import RunFolderError


def write_atomic(path: Path, text: str) -> None:
    """Write a text file atomically."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically."""
    try:
        replace_file(path, data)
    except OSError as error:
        raise RunFolderError(f"{path}: cannot be written: {error.strerror}") from error


def write_or_print(target: str | None, text: str) -> None:
    """Write `text` to the file of `--json`, or to standard output for `-`."""
    if target == "-":
        sys.stdout.write(text)
    elif target is not None:
        write_atomic(resolve_path(target), text)


def json_text(value: Any, indent: int = 1) -> str:
    """Return `value` as indented JSON text; NaN becomes null."""
    return json.dumps(without_nan(value), indent=indent, allow_nan=False) + "\n"


def check_parent(file: str | None) -> None:
    """Refuse an output file that cannot be written, before any work.

    `-` is a stream. A folder of `user://` is created, as Godot does at its first start.
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
        return  # a pipe or a device, whose folder does not matter
    try:
        probe_folder(path.parent)
    except OSError as error:
        raise RunFolderError(f"{path}: cannot be written: {error.strerror}") from None


def refuse_existing(files: Iterable[Path], *, force: bool) -> None:
    """Refuse to replace an existing file, unless `--force` was given.

    Pipes and devices can be written again, and folders are no files.

    Raises:
        RunFolderError: One of `files` exists.
    """
    for path in files:
        if path.is_file() and not force:
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
