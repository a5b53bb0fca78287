"""Convert motion files to states: read, filter, resample, retarget, and cache."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TypedDict, Unpack

import numpy as np

from ambulo.configs.caches import user_cache
from ambulo.configs.errors import MotionError, MotionFileError
from ambulo.configs.kept_warnings import recorded_warnings, say_again, write_warnings
from ambulo.motion.datasets.clips import Clip, file_hash
from ambulo.motion.datasets.states import States, states_of
from ambulo.motion.filters import smoothed
from ambulo.motion.formats.disk import rules_of
from ambulo.motion.formats.npz import read_npz, write_npz
from ambulo.motion.motion import Motion
from ambulo.motion.operations import resample
from ambulo.motion.retargeting.retarget import retarget
from ambulo.motion.retargeting.source import read_source
from ambulo.motion.retargeting.twists import untwisted
from ambulo.motion.roles.files import roles_beside
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

logger = logging.getLogger(__name__)

FPS = 25.0
"""Rate of the states by default, [Hz]."""
CUTOFF_RATIO = 0.4
"""Cut-off of the low-pass filter over the new rate: 10 Hz for 25 frames per second, below half
the new rate, so that faster movement does not alias."""
RECIPE = 1
"""To be increased with any change of the code that changes the resulting motions."""


def prepare_clip(
    path: str | Path,
    fps: float = FPS,
    *,
    asf: str | Path | None = None,
    cached: bool = True,
    cache_folder: str | Path | None = None,
) -> States:
    """The states of a motion file on the canonical `human23`. Shape (T, 112), T >= 2.

    Arguments and errors as of `motion_on`.
    """
    human = load_skeleton("human23")
    motion = motion_on(
        path, human, fps, asf=asf, cached=cached, cache_folder=cache_folder
    )
    with rules_of(Path(path)):
        return states_of(motion)


def motion_on(
    path: str | Path,
    skeleton: Skeleton,
    fps: float = FPS,
    *,
    asf: str | Path | None = None,
    axes: str = "auto",
    rest_pose: str = "auto",
    cached: bool = True,
    cache_folder: str | Path | None = None,
) -> Motion:
    """The motion in a file on `skeleton`.

    A synthetic T-pose at the beginning is dropped. Where the file's rate is higher than
    `fps`, the motion is low-pass filtered (zero phase) at `CUTOFF_RATIO * fps` first.
    Then it is resampled to `fps` and retargeted.

    Args:
        path: Any file that `read_motion` reads.
        skeleton: The skeleton that gets the motion.
        fps: Rate of the result, [Hz].
        asf: The skeleton of an AMC file, if it is not beside it.
        axes: Axes of the file, as for `ambulo.motion.retargeting.source.read_source`.
        rest_pose: Rest pose of its skeleton, as for the same function.
        cached: Store the result in the cache and reuse it.
        cache_folder: Folder of the cache; None is `default_cache()`.

    Raises:
        MotionFileError: The file cannot be used.
    """
    if not (np.isfinite(fps) and fps > 0.0):
        raise MotionError(f"fps must be above 0, got {fps}")
    file, asf = Path(path), None if asf is None else Path(asf)
    if not cached:
        return _motion_on(file, skeleton, fps, asf, axes, rest_pose)
    folder = default_cache() if cache_folder is None else Path(cache_folder)
    key = cache_key(file, fps, asf, skeleton, axes, rest_pose)
    entry = folder / f"{key}.npz"
    with suppress(MotionFileError):  # missing or damaged: computed again
        motion = read_npz(entry)
        say_again(entry, file.stem)
        return motion
    with recorded_warnings() as said:
        motion = _motion_on(file, skeleton, fps, asf, axes, rest_pose)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_warnings(entry, said, file.stem)
        write_npz(entry, motion)
    except (OSError, MotionFileError) as error:
        logger.warning("no cache: %s", error)
    return motion


class PrepareOptions(TypedDict, total=False):
    """Options of `prepare_clips`."""

    errors: list[MotionFileError] | None
    """Receives the errors of unusable clips, which are then skipped; without it the first error
    is raised."""
    cached: bool
    """As in `prepare_clip` (default: True)."""
    cache_folder: str | Path | None
    """As in `prepare_clip`."""
    processes: int
    """Number of processes (default: 1). They fill the cache before the first clip is yielded;
    without a cache there is only one."""


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


def cache_key(
    path: Path,
    fps: float,
    asf: Path | None = None,
    skeleton: Skeleton | None = None,
    axes: str = "auto",
    rest_pose: str = "auto",
) -> str:
    """Name of a cache entry, which depends on the contents of files and on all options."""
    body = load_skeleton("human23") if skeleton is None else skeleton
    options = [RECIPE, float(fps), axes, rest_pose]
    tree = [body.name, body.joints, body.parents, body.orders, body.tip_parents]
    digest = hashlib.sha256(json.dumps([*options, *tree]).encode())
    for array in (body.offsets, body.rest, body.axes, body.limits, body.tips):
        digest.update(array.tobytes())
    skeletons = [asf] if asf is not None else _skeletons_beside(path)
    roles = roles_beside(path)
    for file in (path, *skeletons, *([roles] if roles else [])):
        digest.update(file_hash(file).encode())
    digest.update(path.suffix.lower().encode())
    return digest.hexdigest()


def _motion_on(
    path: Path,
    skeleton: Skeleton,
    fps: float,
    asf: Path | None,
    axes: str,
    rest_pose: str,
) -> Motion:
    source = read_source(path, asf=asf, drop_tpose=True, axes=axes, rest_pose=rest_pose)
    motion = source.logged()
    with rules_of(path):
        # Before the filter, which would smear a jump by half a turn over many frames.
        motion = at_most(untwisted(motion), fps)
        moved = retarget(resample(motion, fps), skeleton).motion
    return finite(moved, path)


def at_most(motion: Motion, fps: float) -> Motion:
    """The motion, low-pass filtered and resampled to `fps` if its rate is higher."""
    if motion.fps <= fps * 1.001:
        return motion
    return resample(smoothed(motion, CUTOFF_RATIO * fps), fps)


def finite(motion: Motion, path: Path) -> Motion:
    """`motion` of the file `path`; `MotionFileError` if a number is not finite."""
    for numbers in (motion.root_positions, motion.rotations):
        if not np.isfinite(numbers).all():
            raise MotionFileError(path, 0, "its poses are not finite")
    return motion


def _fill_cache(clip: Clip, fps: float, cache_folder: str | Path | None) -> None:
    """Prepare one clip; errors are ignored here and raised again when the clip is used."""
    try:
        with recorded_warnings(silent=True):  # reported when the clip is used
            prepare_clip(clip.path, fps, asf=clip.asf, cache_folder=cache_folder)
    except MotionFileError as error:
        logger.debug("%s", error)


def _skeletons_beside(path: Path) -> list[Path]:
    """Files that `read_motion` may read with an AMC file: the skeletons in its folder."""
    if path.suffix.lower() != ".amc":
        return []
    return sorted(path.parent.glob("*.[aA][sS][fF]"))
