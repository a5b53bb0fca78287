"""Clips of data folders: their files, subjects and activities."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ambulo.configs.errors import MotionError, MotionFileError
from ambulo.configs.reading import open_regular
from ambulo.motion.datasets.activities import (
    Manifest,
    activity_of,
    find_manifest,
    padded,
    read_manifest,
)
from ambulo.motion.formats.disk import file_errors
from ambulo.motion.formats.files import find_motions, read_motion

logger = logging.getLogger(__name__)

_DAZ_ROOT = re.compile(rb"^\s*ROOT\s+hip\s*$", re.MULTILINE)
_HEAD_BYTES = 4096


@dataclass(frozen=True)
class Clip:
    """One recording of a data set."""

    path: Path
    """The motion file."""
    subject: str
    """Subject: "02" for CMU's files, else the name of the file's folder."""
    trial: str
    """Trial of the subject: "01" for CMU's files, else the file's name."""
    activity: str
    """One of `activities.ACTIVITIES`."""
    asf: Path | None = None
    """The skeleton of an AMC file."""

    @property
    def key(self) -> tuple[str, str]:
        """Subject and trial: the same for every conversion of one recording."""
        return self.subject, self.trial

    @property
    def name(self) -> str:
        """Subject and trial joined, for example "02_01"."""
        return f"{self.subject}_{self.trial}"


def scan_clips(
    folders: str | Path | Iterable[str | Path],
    strict: bool = False,
    *,
    check: bool = True,
    all_conversions: bool = False,
) -> tuple[list[Clip], list[MotionFileError]]:
    """Every clip in `folders` and below, sorted, and the files that cannot be used.

    Args:
        folders: Data folders (or single motion files). An AMC file takes the skeleton in
            its own folder, else the SUBJECT.asf of any of the folders.
        strict: Raise the first error instead of listing it.
        check: Read every file. Without it, only files that do not exist, are empty or lack
            their skeleton are detected.
        all_conversions: Keep every file of a recording with several conversions; otherwise the
            best one: AMC, then BVH in the layout of MotionBuilder, then Daz, then other
            formats. An unreadable file never hides another conversion.

    Raises:
        MotionError: A folder does not exist.
        MotionFileError: With `strict`, the first bad file.
    """
    places = [folders] if isinstance(folders, str | Path) else list(folders)
    result: list[Clip] = []
    errors: list[MotionFileError] = []

    def refuse(error: MotionFileError) -> None:
        if strict:
            raise error
        logger.warning("%s", error)
        errors.append(error)

    paths = _motion_files([Path(place) for place in places])
    skeletons = _skeletons(paths, [Path(place) for place in places])
    manifests = _Manifests()
    for path in paths:
        try:
            clip = _clip(path, skeletons, manifests)
            if check:
                read_motion(path, asf=clip.asf)
        except MotionFileError as error:
            refuse(error)
            continue
        result.append(clip)
    for broken in manifests.errors:
        refuse(broken)
    if not all_conversions:
        result = best_conversions(result)
    return sorted(result, key=lambda clip: (clip.key, str(clip.path))), errors


def best_conversions(clips: Iterable[Clip]) -> list[Clip]:
    """One clip of each recording; see `scan_clips` for which."""
    best: dict[tuple[str, str], tuple[int, str, Clip]] = {}
    for clip in clips:
        rank = (_rank(clip.path), str(clip.path), clip)
        held = best.get(clip.key)
        if held is None or rank[:2] < held[:2]:
            best[clip.key] = rank
    return [clip for _, _, clip in best.values()]


def names_of(path: Path) -> tuple[str, str]:
    """Subject and trial of the file at `path`.

    `SS_TT...` in the file's name gives both, as in the CMU database; otherwise the folder is
    the subject and the file's name the trial.
    """
    numbers = re.match(r"(\d{1,3})_(\d{1,3})(?!\d)", path.stem)
    if numbers is not None:
        return padded(numbers[1]), padded(numbers[2])
    return path.absolute().parent.name or "unknown", path.stem


def file_hash(path: Path) -> str:
    """SHA-256 of a file's content, in hexadecimal digits."""
    with file_errors(path), open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Manifests:
    """Manifests by folder, each file read once."""

    def __init__(self) -> None:
        self.errors: list[MotionFileError] = []
        self._read: dict[Path, Manifest | None] = {}

    def of(self, folder: Path) -> Manifest | None:
        """The manifest that applies to `folder`."""
        path = find_manifest(folder)
        if path is not None and path not in self._read:
            self._read[path] = None
            try:
                self._read[path] = read_manifest(path)
            except MotionFileError as error:
                self.errors.append(error)
        return None if path is None else self._read[path]


def _motion_files(places: Sequence[Path]) -> list[Path]:
    """The motion files in the folders, each once."""
    paths: dict[Path, Path] = {}
    for place in places:
        if place.is_dir():
            result = find_motions(place)
        elif place.exists():
            result = [place]
        else:
            raise MotionError(f"{place}: no such data folder")
        for path in result:
            paths.setdefault(path.absolute(), path)
    return list(paths.values())


def _skeletons(paths: Sequence[Path], places: Sequence[Path]) -> dict[str, Path]:
    """The ASF file of each subject, for AMC files that have none beside them."""
    if not any(path.suffix.lower() == ".amc" for path in paths):
        return {}
    result: dict[str, Path] = {}
    for place in places:
        for path in sorted(place.rglob("*")) if place.is_dir() else ():
            if path.suffix.lower() == ".asf":
                result.setdefault(padded(path.stem), path)
    return result


def _clip(path: Path, skeletons: dict[str, Path], manifests: _Manifests) -> Clip:
    subject, trial = names_of(path)
    with file_errors(path):
        if not path.is_file():
            raise MotionFileError(path, 0, "not a regular file")
        if path.stat().st_size == 0:
            raise MotionFileError(path, 0, "the file is empty")
    asf = _skeleton_of(path, subject, skeletons)
    activity = activity_of(path, subject, trial, manifests.of(path.absolute().parent))
    return Clip(path, subject, trial, activity, asf)


def _skeleton_of(path: Path, subject: str, skeletons: dict[str, Path]) -> Path | None:
    """The skeleton of an AMC file; None if its reader finds it in the file's folder."""
    if path.suffix.lower() != ".amc" or any(path.parent.glob("*.[aA][sS][fF]")):
        return None
    if subject not in skeletons:
        raise MotionFileError(
            path, 0, f"no skeleton: {subject}.asf is in none of the data folders"
        )
    return skeletons[subject]


def _rank(path: Path) -> int:
    """Rank of a conversion by its format; the best has the smallest."""
    suffix = path.suffix.lower()
    if suffix == ".amc":
        return 0
    if suffix == ".bvh":
        return 2 if _DAZ_ROOT.search(_head(path)) else 1
    return 3


def _head(path: Path) -> bytes:
    with open_regular(path) as file:
        return file.read(_HEAD_BYTES)
