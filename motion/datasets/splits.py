"""Training, validation and test split of clips, stored in a file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

import numpy as np
from pydantic import Field

from ambulo.configs.base import Config, load_json
from ambulo.configs.errors import MotionError, MotionFileError, nearest
from ambulo.motion.datasets.clips import Clip, file_hash
from ambulo.motion.formats.disk import write_bytes

PARTS = ("train", "validation", "test")
Part = Literal["train", "validation", "test"]
SplitBy = Literal["subject", "activity"]
SPLIT_FILE = "split_info.json"
VERSION: Final = 1


@dataclass(frozen=True)
class Split:
    """Clips in three parts; no recording is in two of them."""

    train: tuple[Clip, ...]
    """Training clips."""
    validation: tuple[Clip, ...]
    """Validation clips."""
    test: tuple[Clip, ...]
    """Test clips."""
    by: SplitBy
    """Its criterion; see `make_split`."""
    seed: int
    """Seed of its random choices."""

    def part(self, name: str) -> tuple[Clip, ...]:
        """The clips of "train", "validation" or "test"."""
        if name not in PARTS:
            raise MotionError(f"no part {name!r} of a split{nearest(name, PARTS)}")
        clips: tuple[Clip, ...] = getattr(self, name)
        return clips

    def save(self, path: str | Path, folders: Iterable[str | Path] = ()) -> None:
        """Write `split_info.json`: paths inside the data `folders`, and content hashes.

        Args:
            path: The file to write.
            folders: The data folders; a clip in none of them is stored by its absolute path.
                The folders are stored relative to the file's folder, so that both can move
                together.
        """
        file = Path(path)
        base = file.absolute().parent
        places = [Path(folder).absolute() for folder in folders]
        head = {
            "version": VERSION,
            "by": self.by,
            "seed": self.seed,
            "folders": [_relative(place, base) for place in places],
        }
        rows = [
            json.dumps(_record(clip, name, places))
            for name in PARTS
            for clip in self.part(name)
        ]
        opened = json.dumps(head, indent=1).removesuffix("\n}")
        clips = ",\n  ".join(rows)
        write_bytes(file, f'{opened},\n "clips": [\n  {clips}\n ]\n}}\n'.encode())


_REMEDY = {
    "subject": "give at least three people, or split by activity",
    "activity": "give more clips of each activity, or split by subject",
}


def make_split(
    clips: Sequence[Clip],
    by: SplitBy = "subject",
    test_ratio: float = 0.15,
    seed: int = 0,
    test_subjects: Iterable[str] = (),
    *,
    validation_ratio: float = 0.1,
) -> Split:
    """Split `clips`; the result does not depend on their order.

    Args:
        clips: Clips to split; several conversions of a recording stay together.
        by: "subject" puts every subject into one part as a whole, so that the test measures
            unseen people. "activity" draws the test's fraction of the recordings of each
            activity (at least one of three or more), so that the test measures new recordings
            of known people and activities.
        test_ratio: The test's fraction of the recordings.
        seed: Seed of the choice.
        test_subjects: With "subject", exactly these people are the test set.
        validation_ratio: The validation's fraction of the recordings; 0 for none.

    Raises:
        MotionError: A part would be empty, or a subject does not exist.
    """
    if by not in get_args(SplitBy):
        raise MotionError(f"no split by {by!r}{nearest(by, get_args(SplitBy))}")
    if test_ratio <= 0.0 or validation_ratio < 0.0:
        raise MotionError("test_ratio must be above 0, validation_ratio not below")
    if test_ratio + validation_ratio >= 1.0:
        raise MotionError(
            f"test_ratio {test_ratio:g} and validation_ratio {validation_ratio:g} "
            "leave nothing to learn from"
        )
    subjects = tuple(dict.fromkeys(test_subjects))
    if by == "activity" and subjects:
        raise MotionError("test_subjects needs a split by subject, not by activity")
    ordered = sorted(clips, key=lambda clip: (clip.key, str(clip.path)))
    random = np.random.default_rng([seed, len(PARTS)])
    if by == "subject":
        ratios = (test_ratio, validation_ratio)
        part_of = _by_subject(ordered, ratios, random, subjects)
    else:
        part_of = _by_activity(ordered, (test_ratio, validation_ratio), random)
    parts: dict[str, list[Clip]] = {name: [] for name in PARTS}
    for clip in ordered:
        parts[part_of(clip)].append(clip)
    for name in PARTS:
        needed = name != "validation" or validation_ratio > 0.0
        if needed and not parts[name]:
            people = len({clip.subject for clip in clips})
            raise MotionError(
                f"no clip is left for the {name} part: {len(clips)} clips of {people} "
                f"subjects, split by {by}; {_REMEDY[by]}"
            )
    return _split(parts, by, seed)


def _split(parts: dict[str, list[Clip]], by: SplitBy, seed: int) -> Split:
    train, validation, test = (tuple(parts[name]) for name in PARTS)
    return Split(train, validation, test, by, seed)


def _by_subject(
    clips: Sequence[Clip],
    ratios: tuple[float, float],
    random: np.random.Generator,
    test_subjects: tuple[str, ...],
) -> Callable[[Clip], str]:
    recordings = {clip.subject: set[str]() for clip in clips}
    for clip in clips:
        recordings[clip.subject].add(clip.trial)
    for subject in test_subjects:
        if subject not in recordings:
            raise MotionError(f"no subject {subject!r}{nearest(subject, recordings)}")
    total = sum(len(trials) for trials in recordings.values())
    test = set(test_subjects)
    rest = [
        str(subject) for subject in random.permutation(sorted(set(recordings) - test))
    ]
    if not test:
        reserve = 2 if ratios[1] else 1
        test = _fill(rest, recordings, ratios[0] * total, len(rest) - reserve)
        rest = [subject for subject in rest if subject not in test]
    validation: set[str] = set()
    if ratios[1]:
        validation = _fill(rest, recordings, ratios[1] * total, len(rest) - 1)

    def part_of(clip: Clip) -> str:
        if clip.subject in test:
            return "test"
        return "validation" if clip.subject in validation else "train"

    return part_of


def _fill(
    subjects: Sequence[str], recordings: dict[str, set[str]], needed: float, most: int
) -> set[str]:
    """At least one and at most `most` of `subjects`.

    Each is taken in turn if that brings their recordings nearer to `needed`.
    """
    chosen: set[str] = set()
    count = 0
    for subject in subjects:
        more = count + len(recordings[subject])
        if len(chosen) < most and abs(more - needed) < abs(count - needed):
            chosen.add(subject)
            count = more
    if not chosen and most >= 1:
        chosen.add(min(subjects, key=lambda subject: len(recordings[subject])))
    return chosen


def _by_activity(
    clips: Sequence[Clip], ratios: tuple[float, float], random: np.random.Generator
) -> Callable[[Clip], str]:
    activity_of: dict[tuple[str, str], str] = {}
    for clip in clips:
        activity_of.setdefault(clip.key, clip.activity)
    parts: dict[tuple[str, str], str] = {}
    for activity in sorted(set(activity_of.values())):
        keys = [key for key in activity_of if activity_of[key] == activity]
        order = [keys[index] for index in random.permutation(len(keys))]
        tested = _part_size(len(keys), ratios[0])
        validated = _part_size(len(keys), ratios[1]) if ratios[1] else 0
        for index, key in enumerate(order):
            if index < tested:
                parts[key] = "test"
            else:
                parts[key] = "validation" if index < tested + validated else "train"
    return lambda clip: parts[clip.key]


def _part_size(count: int, ratio: float) -> int:
    """Number of recordings, out of `count`, for a part of fraction `ratio`."""
    nearest_count = int(np.floor(count * ratio + 0.5))
    return max(1, min(nearest_count, count - 2)) if count >= 3 else 0


class _ClipRecord(Config):
    part: Part
    file: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    subject: str
    trial: str
    activity: str
    asf: str | None = None
    asf_sha256: str | None = None


class _SplitFile(Config):
    version: Literal[1]
    by: SplitBy
    seed: int
    folders: tuple[str, ...]
    clips: tuple[_ClipRecord, ...]


def load_split(
    path: str | Path,
    folders: Iterable[str | Path] = (),
    *,
    parts: Iterable[str] = PARTS,
    check: bool = True,
) -> Split:
    """The split in a file of `Split.save`.

    Args:
        path: The file, or a folder with a `split_info.json`.
        folders: Data folders that are searched first, then those that the file names, then the
            folder of the file.
        parts: Parts that are needed; others come back empty.
        check: Compare every clip's content hash.

    Raises:
        ConfigError: The file does not exist or is no split.
        MotionFileError: A clip is missing or has changed.
    """
    file = Path(path)
    file = file / SPLIT_FILE if file.is_dir() else file
    data = load_json(_SplitFile, file)
    base = file.absolute().parent
    places = [Path(folder) for folder in folders]
    places += [base / folder for folder in data.folders] + [base]
    result: dict[str, list[Clip]] = {name: [] for name in PARTS}
    for record in data.clips:
        if record.part in parts:
            result[record.part].append(_clip(record, places, file, check=check))
    return _split(result, data.by, data.seed)


def _record(clip: Clip, part: str, places: Sequence[Path]) -> dict[str, str]:
    record = {
        "part": part,
        "file": _inside(clip.path, places),
        "sha256": file_hash(clip.path),
        "subject": clip.subject,
        "trial": clip.trial,
        "activity": clip.activity,
    }
    if clip.asf is not None:
        record["asf"] = _inside(clip.asf, places)
        record["asf_sha256"] = file_hash(clip.asf)
    return record


def _inside(path: Path, places: Sequence[Path]) -> str:
    """`path` relative to the data folder that holds it."""
    whole = path.absolute()
    holders = [place for place in places if whole.is_relative_to(place)]
    if not holders:
        return whole.as_posix()
    return whole.relative_to(max(holders, key=lambda p: len(p.parts))).as_posix()


def _relative(place: Path, base: Path) -> str:
    try:
        return Path(os.path.relpath(place, base)).as_posix()
    except ValueError:  # another drive
        return place.as_posix()


def _clip(
    record: _ClipRecord, places: Sequence[Path], file: Path, *, check: bool
) -> Clip:
    def find(name: str, sha256: str | None) -> Path:
        candidates = [place / name for place in places if (place / name).is_file()]
        if not candidates:
            raise MotionFileError(
                places[0] / name,
                0,
                f"the clip of {file} is missing; name the folder that holds it (--data FOLDER)",
            )
        if not check or sha256 is None:
            return candidates[0]
        same = [path for path in candidates if file_hash(path) == sha256]
        if not same:
            raise MotionFileError(
                candidates[0], 0, f"has changed since {file} was written; split again"
            )
        return same[0]

    return Clip(
        find(record.file, record.sha256),
        record.subject,
        record.trial,
        record.activity,
        None if record.asf is None else find(record.asf, record.asf_sha256),
    )
