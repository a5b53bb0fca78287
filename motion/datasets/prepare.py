"""Convert motion files to states: read, filter, resample, retarget, and cache."""

from __future__ import annotations

import hashlib
import io
import json
import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from multiprocessing import get_context
from pathlib import Path
from typing import TypedDict, Unpack

import numpy as np

from ambulo.configs.caches import user_cache
from ambulo.configs.errors import MotionError, MotionFileError
from ambulo.configs.kept_warnings import (
    Said,
    recorded_warnings,
    say_again,
    write_warnings,
)
from ambulo.motion.datasets.clips import Clip, file_hash
from ambulo.motion.datasets.states import N_STATE, States, states_of
from ambulo.motion.filters import smoothed
from ambulo.motion.formats.disk import rules_of, write_bytes
from ambulo.motion.motion import Motion
from ambulo.motion.operations import resample
from ambulo.motion.retargeting.retarget import retarget
from ambulo.motion.retargeting.source import read_source
from ambulo.motion.retargeting.twists import untwisted
from ambulo.motion.skeletons import load_skeleton

logger = logging.getLogger(__name__)

FPS = 25.0
"""Rate of the states by default, [Hz]."""
CUTOFF_RATIO = 0.4
"""Cut-off of the low-pass filter over the new rate: 10 Hz for 25 frames per second, below
half the new rate, so that faster shaking does not come back as slow movement."""
_DIGEST = hashlib.sha256().digest_size


def prepare_clip(
    path: str | Path,
    fps: float = FPS,
    *,
    asf: str | Path | None = None,
    cached: bool = True,
    cache_folder: str | Path | None = None,
) -> States:
    """The states of a motion file on the canonical `human23`. Shape (T, 112), T >= 2.

    A synthetic T-pose at the beginning is dropped. Where the file's rate is higher than
    `fps`, the motion is low-pass filtered (zero phase) at `CUTOFF_RATIO * fps` first.
    Then it is resampled to `fps` and retargeted.

    Args:
        path: Any file that `read_motion` reads.
        fps: Rate of the states, [Hz].
        asf: The skeleton of an AMC file, if it is not beside it.
        cached: Store the result in the cache and reuse it.
        cache_folder: Where; None is `default_cache()`.

    Raises:
        MotionFileError: the file cannot be used.
    """
    file = Path(path)
    skeleton = None if asf is None else Path(asf)
    if not cached:
        return _prepare(file, fps, skeleton)
    folder = default_cache() if cache_folder is None else Path(cache_folder)
    entry = folder / f"{cache_key(file, fps, skeleton)}.npy"
    states = _read_entry(entry)
    if states is not None:
        say_again(entry, file.stem)
        return states
    with recorded_warnings() as said:
        states = _prepare(file, fps, skeleton)
    _write_entry(entry, states, said, file.stem)
    return states


class PrepareOptions(TypedDict, total=False):
    """Options of `prepare_clips`."""

    errors: list[MotionFileError] | None
    """Gets the errors of clips that cannot be used, which are then passed over; without it
    the first error is raised."""
    cached: bool
    """As in `prepare_clip` (default: True)."""
    cache_folder: str | Path | None
    """As in `prepare_clip`."""
    processes: int
    """Number of processes (default: 1). They fill the cache before the first clip is
    handed out; without a cache there is only one."""


def prepare_clips(
    clips: Sequence[Clip], fps: float = FPS, **options: Unpack[PrepareOptions]
) -> Iterator[tuple[Clip, States]]:
    """Each of `clips` with its states at `fps` [Hz], one at a time, in order."""
    errors, processes = options.get("errors"), options.get("processes", 1)
    cached, cache_folder = options.get("cached", True), options.get("cache_folder")
    ready = partial(prepare_clip, fps=fps, cached=cached, cache_folder=cache_folder)
    if processes > 1 and cached:
        job = partial(_fill_cache, fps=fps, cache_folder=cache_folder)
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            for _ in pool.map(job, clips):
                pass
    for clip in clips:
        try:
            states = ready(clip.path, asf=clip.asf)
        except MotionFileError as error:
            if errors is None:
                raise
            logger.warning("%s", error)
            errors.append(error)
            continue
        yield clip, states


def default_cache() -> Path:
    """`AMBULO_MOTION_CACHE`, else `ambulo/motion` in the user's cache folder."""
    return user_cache("motion", variable="AMBULO_MOTION_CACHE")


def cache_key(path: Path, fps: float, asf: Path | None = None) -> str:
    """Name of a cache entry: it changes with the file's content and with our code."""
    digest = hashlib.sha256()
    digest.update(json.dumps([_code_version(), float(fps)]).encode())
    skeletons = [asf] if asf is not None else _skeletons_beside(path)
    for file in (path, *skeletons):
        digest.update(file_hash(file).encode())
    digest.update(path.suffix.lower().encode())
    return digest.hexdigest()


@cache
def _code_version() -> str:
    """Hash of all code and data that states depend on, instead of a version number."""
    digest = hashlib.sha256()
    for source in _sources():
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()


def _sources() -> list[Traversable]:
    """All files that determine states besides the motion file, sorted by name."""
    package = files("ambulo.motion")
    folders = (package, package / "formats", package / "retargeting")
    sources = [
        part
        for folder in folders
        for part in folder.iterdir()
        if part.name.endswith(".py")
    ]
    sources += [package / "datasets" / name for name in ("prepare.py", "states.py")]
    # The others too: the roles of a clip's joints may come from them.
    skeletons = (files("ambulo.configs") / "skeletons").iterdir()
    sources += [part for part in skeletons if part.name.endswith(".json")]
    return sorted(sources, key=lambda part: part.name)


def _prepare(path: Path, fps: float, asf: Path | None) -> States:
    if not (np.isfinite(fps) and fps > 0.0):
        raise MotionError(f"fps must be above 0, got {fps}")
    motion = read_source(path, asf=asf, drop_tpose=True).logged()
    with rules_of(path):
        # Before the filter, which would draw a jump by half a turn over many frames.
        motion = _at_rate(untwisted(motion), fps)
        states = states_of(retarget(motion, load_skeleton("human23")).motion)
    if not np.isfinite(states).all():
        raise MotionFileError(path, 0, "its states are not finite")
    return states


def _at_rate(motion: Motion, fps: float) -> Motion:
    """Return the motion low-pass filtered and resampled to `fps`."""
    if motion.fps > fps * 1.001:
        motion = smoothed(motion, CUTOFF_RATIO * fps)
    return resample(motion, fps)


def _fill_cache(clip: Clip, fps: float, cache_folder: str | Path | None) -> None:
    """Prepare one clip; errors are ignored here and raised again when the clip is used."""
    try:
        with recorded_warnings(silent=True):  # said when the clip is used
            prepare_clip(clip.path, fps, asf=clip.asf, cache_folder=cache_folder)
    except MotionFileError as error:
        logger.debug("%s", error)


def _skeletons_beside(path: Path) -> list[Path]:
    """Files that `read_motion` may read with an AMC file: the skeletons in its folder."""
    if path.suffix.lower() != ".amc":
        return []
    return sorted(path.parent.glob("*.[aA][sS][fF]"))


def _read_entry(entry: Path) -> States | None:
    """The states in the cache; None if there are none or the entry is damaged."""
    try:
        data = entry.read_bytes()
    except OSError:
        return None
    content, digest = data[:-_DIGEST], data[-_DIGEST:]
    if hashlib.sha256(content).digest() != digest:
        logger.warning("%s: damaged, made again", entry)
        return None
    states = np.load(io.BytesIO(content), allow_pickle=False)
    fits = states.ndim == 2 and states.shape[1] == N_STATE
    return states if fits and states.dtype == np.float32 else None


def _write_entry(entry: Path, states: States, said: Said, name: str) -> None:
    """Store `states` and what was `said` of the clip `name`; without a cache if that fails."""
    buffer = io.BytesIO()
    np.save(buffer, states, allow_pickle=False)
    content = buffer.getvalue()
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        write_warnings(entry, said, name)
        write_bytes(entry, content + hashlib.sha256(content).digest())
    except (OSError, MotionFileError) as error:
        logger.warning("no cache: %s", error)
