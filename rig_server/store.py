"""Learned rigs on disk: one safetensors file each, written atomically.

A file holds the complete state: weights, Adam's moments, the sample of frames for measuring the
anatomy, and errors. The description of the rig is JSON in the file's header. Nothing is
pickled.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import threading
from collections.abc import Collection
from dataclasses import fields
from pathlib import Path

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from ambulo.configs.atomic import replace_file
from ambulo.configs.json_text import json_value
from ambulo.configs.reading import read_regular
from ambulo.rig_server.layout import RigError, RigLayout, layout_from_json
from ambulo.rig_server.learner import FrameScore, RigLearner
from ambulo.rig_server.network import count_of
from ambulo.rig_server.sequence import SequenceLearner

log = logging.getLogger(__name__)

FORMAT, VERSION = "ambulo-rig", "1"
SUFFIX = ".safetensors"
MAX_BYTES = 64_000_000
"""Largest accepted file, [bytes]."""
LARGEST_ERROR = 1e12
"""Largest accepted smoothed error."""

Arrays = dict[str, NDArray[np.generic]]


def file_name(layout: RigLayout) -> str:
    """The file name of a rig: its name in file-system characters, and a hash."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", layout.name)[:48]
    return f"{plain}-{layout.fingerprint}{SUFFIX}"


def to_bytes(learner: RigLearner, sequence: SequenceLearner | None = None) -> bytes:
    """The file of a learner, and of its sequence model if there is one."""
    tensors: Arrays = _prefixed("network", learner.network.state())
    tensors |= _prefixed("memory", learner.memory.state())
    if sequence is not None:
        tensors |= _prefixed("sequence", sequence.state())
    progress = learner.progress
    about = {
        "layout": learner.layout.to_json(),
        "frames": progress.frames,
        "learned": progress.learned,
        "errors": {k: v for k, v in progress.means.items() if math.isfinite(v)},
    }
    metadata = {"format": FORMAT, "version": VERSION, "rig": json.dumps(about)}
    ready = {name: np.array(array, order="C") for name, array in tensors.items()}
    return safetensors.numpy.save(ready, metadata)


def restore(
    path: Path, learner: RigLearner, sequence: SequenceLearner | None = None
) -> None:
    """Restore `learner` and `sequence` from a file; `RigError` if it does not fit.

    After a failure both are undefined, and the caller must discard them.
    """
    try:
        data = read_regular(path, MAX_BYTES)
        tensors: Arrays = safetensors.numpy.load(data)
        length = int.from_bytes(data[:8], "little")
        metadata = json_value(data[8 : 8 + length]).get("__metadata__") or {}
        if (metadata.get("format"), metadata.get("version")) != (FORMAT, VERSION):
            raise RigError(f"{path}: not a learned rig of version {VERSION}")
        about = json_value(metadata["rig"])
        layout = layout_from_json(about["layout"])
        if not layout.same_rig(learner.layout):
            raise RigError(f"{path}: made for another rig")
        learner.memory.restore(_without("memory", tensors))
        learner.network.restore(_without("network", tensors))
        if sequence is not None:
            sequence.restore(_without("sequence", tensors))
        learner.progress.frames = count_of(about["frames"], "frames")
        learner.progress.learned = count_of(about["learned"], "learned")
        learner.progress.means = _errors(about["errors"])
        learner.resume()
        os.utime(path)  # marks it as used: others are removed first
    except OSError as error:
        raise RigError(f"{path}: cannot be read: {error.strerror}") from None
    except (
        safetensors.SafetensorError, KeyError, TypeError, ValueError, AttributeError,
        OverflowError, RecursionError,
    ) as error:  # fmt: skip
        raise RigError(f"{path}: damaged: {error}") from None


def _errors(values: dict[str, float]) -> dict[str, float]:
    """Return the smoothed errors of a file; `ValueError` for invalid ones."""
    known = {field.name for field in fields(FrameScore)}
    errors = {name: float(value) for name, value in values.items()}
    for name, value in errors.items():
        if name not in known or not 0.0 <= value <= LARGEST_ERROR:
            raise ValueError(f"errors: {name!r:.40} = {value}")
    return errors


def make_room(
    path: Path, size: int, used: Collection[Path], most: int, most_bytes: int
) -> bool:
    """Remove the longest unused learned rigs of a folder until `path` fits.

    Args:
        path: The file to write.
        size: Its size, [bytes].
        used: Files of clients, which are kept.
        most: Most files in the folder.
        most_bytes: Most bytes of them together.

    Returns:
        Whether there is space; without it, nothing more is removed.
    """
    sizes = {
        file: file.stat() for file in path.parent.glob(f"*{SUFFIX}") if file != path
    }
    count, total = len(sizes) + 1, sum(s.st_size for s in sizes.values()) + size
    unused = sorted(sizes.keys() - set(used), key=lambda file: sizes[file].st_mtime)
    for file in unused:
        if count <= most and total <= most_bytes:
            break
        file.unlink(missing_ok=True)
        log.info("%s: removed, to make room", file)
        count, total = count - 1, total - sizes[file].st_size
    return count <= most and total <= most_bytes


class Saver:
    """Writes files in a thread; of each file, only the newest version waits."""

    def __init__(self) -> None:
        """Start the thread."""
        self.written = 0
        self.failed = 0
        """Writes that the disk refused (full, read-only); the old file is still there."""
        self._waiting: dict[Path, bytes] = {}
        self._wake = threading.Condition()
        self._busy = self._closed = False
        self._thread = threading.Thread(
            target=self._work, daemon=True, name="rig-saver"
        )
        self._thread.start()

    def put(self, path: Path, data: bytes) -> None:
        """Queue writing `data` to `path`."""
        with self._wake:
            self._waiting[path] = data
            self._wake.notify_all()

    def flush(self, timeout: float = 30.0) -> bool:
        """Wait until all is written, [s]; False if it took longer."""
        with self._wake:
            return self._wake.wait_for(
                lambda: not self._waiting and not self._busy, timeout
            )

    def close(self) -> None:
        """Write the queue, then end."""
        self.flush()
        with self._wake:
            self._closed = True
            self._wake.notify_all()
        self._thread.join(5.0)

    def _work(self) -> None:
        while True:
            with self._wake:
                self._busy = False
                self._wake.notify_all()
                self._wake.wait_for(lambda: self._waiting or self._closed)
                if not self._waiting:
                    return
                path = next(iter(self._waiting))
                data = self._waiting.pop(path)
                self._busy = True
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(path, data)
                self.written += 1
            except OSError as error:
                if not self.failed:
                    log.warning("%s: cannot be written: %s", path, error.strerror)
                self.failed += 1


def _prefixed(prefix: str, arrays: Arrays) -> Arrays:
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def _without(prefix: str, arrays: Arrays) -> Arrays:
    start = f"{prefix}."
    return {
        name.removeprefix(start): array
        for name, array in arrays.items()
        if name.startswith(start)
    }
