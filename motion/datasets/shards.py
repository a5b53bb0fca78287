"""Shards: the states of many clips in files of a few megabytes, and their index."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, Unpack

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ambulo.configs.arrays import Ints
from ambulo.configs.base import Config, load_json
from ambulo.configs.errors import ConfigError, MotionError, MotionFileError
from ambulo.motion.datasets.activities import ACTIVITIES
from ambulo.motion.datasets.states import N_STATE, States
from ambulo.motion.formats.disk import file_errors, write_bytes

if TYPE_CHECKING:
    from ambulo.motion.datasets.clips import Clip
    from ambulo.motion.datasets.prepare import PrepareOptions

INDEX = "index.json"
VERSION: Final = 1


@dataclass(frozen=True)
class ShardIndex:
    """Index of S shards and P pieces of clips."""

    folder: Path
    """Folder of the shards."""
    fps: float
    """Rate of the states, [Hz]."""
    longest_window: int
    """Longest window that always lies within one piece, [frames]."""
    identity: str
    """Hash of the shards' sources."""
    files: tuple[str, ...]
    """Name of each shard: little-endian float32, rows of 112."""
    shard_frames: Ints
    """Frames in each shard. Shape (S,)."""
    shard_sums: Ints
    """CRC-32 of each shard. Shape (S,)."""
    shard: Ints
    """The shard of each piece. Shape (P,), like all that follow."""
    offset: Ints
    """The piece's first frame in the shard."""
    start: Ints
    """Start of the clip's next piece, or the clip's end."""
    next_start: Ints
    """Start of the clip's next piece, or the clip's end."""
    clip_frames: Ints
    """Frames of the whole clip."""
    activity: Ints
    """Index of its label in `ACTIVITIES`."""

    def path_of(self, shard: int) -> Path:
        """The file of a shard."""
        return self.folder / self.files[shard]


class _Shard(Config):
    file: Annotated[str, Field(pattern=r"^[0-9a-z_]+\.f32$")]
    frames: Annotated[int, Field(ge=1)]
    crc32: Annotated[int, Field(ge=0, lt=2**32)]


class _Index(Config):
    version: Literal[1]
    fps: Annotated[float, Field(gt=0)]
    longest_window: Annotated[int, Field(ge=1)]
    identity: str
    activities: tuple[str, ...]
    shards: tuple[_Shard, ...]
    pieces: tuple[tuple[int, int, int, int, int, int], ...]


def make_shards(
    clips: Sequence[Clip],
    folder: str | Path,
    *,
    fps: float = 25.0,
    longest_window: int = 256,
    shard_mb: float = 4.0,
    **options: Unpack[PrepareOptions],
) -> ShardIndex:
    """Prepare `clips` and write them to `folder`, unless it has them already.

    Only one clip and one shard are held in memory. The clips are shuffled, so that each shard
    is diverse.

    Args:
        clips: Clips to write.
        folder: Output folder, created if missing. Not a data folder.
        fps: Rate of the states, [Hz].
        longest_window: Clips longer than a shard are cut into pieces that overlap, so
            that windows up to this length are whole in one of them, [frames].
        shard_mb: Largest size of a shard, [MB].
        **options: See `PrepareOptions`.
    """
    # Only creating shards needs readers and retargeting, streaming does not.
    from ambulo.motion.datasets.prepare import prepare_clips

    room = int(shard_mb * 1e6) // (4 * N_STATE)
    if longest_window < 1 or room < 2 * longest_window:
        raise MotionError(
            f"shard_mb = {shard_mb:g} holds {room} frames; that is too few for windows "
            f"of {longest_window}"
        )
    place = Path(folder)
    identity = _identity(clips, fps, longest_window, room)
    held = _index_there(place)
    if held is not None and held.identity == identity:
        return held
    writer = ShardWriter(place, fps, longest_window, room, identity)
    order = np.random.default_rng(0).permutation(len(clips))
    mixed = [clips[index] for index in order]
    for clip, states in prepare_clips(mixed, fps, **options):
        writer.add(states, clip.activity)
    return writer.close()


class ShardWriter:
    """Writes states to shards; only one shard is held in memory."""

    def __init__(
        self, folder: Path, fps: float, longest_window: int, room: int, identity: str
    ) -> None:
        """Start in `folder`, with shards of up to `room` frames.

        The old index is removed first and the new one written last: a folder with an index is
        complete.
        """
        self._folder, self._fps, self._identity = folder, fps, identity
        self._longest, self._room = longest_window, room
        self._shards: list[_Shard] = []
        self._pieces: list[tuple[int, int, int, int, int, int]] = []
        self._parts: list[States] = []
        self._held = 0
        with file_errors(folder, "written"):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / INDEX).unlink(missing_ok=True)

    def add(self, states: States, activity: str) -> None:
        """Add a clip (T, 112)."""
        label = ACTIVITIES.index(activity)
        total = len(states)
        step = self._room - self._longest + 1
        start = 0
        while start < total:
            stop = min(start + self._room, total)
            last = stop == total
            if self._held and self._held + stop - start > self._room:
                self._flush()
            after = total if last else start + step
            place = (len(self._shards), self._held, start, after, total, label)
            self._pieces.append(place)
            self._parts.append(states[start:stop])
            self._held += stop - start
            start = after

    def close(self) -> ShardIndex:
        """Write the remaining frames and the index; remove shards of an older index."""
        self._flush()
        index = _Index(
            version=VERSION,
            fps=self._fps,
            longest_window=self._longest,
            identity=self._identity,
            activities=ACTIVITIES,
            shards=tuple(self._shards),
            pieces=tuple(self._pieces),
        )
        text = json.dumps(index.model_dump(mode="json"), separators=(",", ":"))
        write_bytes(self._folder / INDEX, text.encode() + b"\n")
        ours = {shard.file for shard in self._shards}
        for old in self._folder.glob("shard_*.f32"):
            if old.name not in ours:
                old.unlink(missing_ok=True)
        return read_index(self._folder)

    def _flush(self) -> None:
        if not self._held:
            return
        data = np.concatenate(self._parts).astype("<f4", copy=False).tobytes()
        # The identity in the name separates two writers of one folder.
        name = f"shard_{self._identity[:12]}_{len(self._shards):05d}.f32"
        write_bytes(self._folder / name, data)
        self._shards.append(
            _Shard(file=name, frames=self._held, crc32=zlib.crc32(data))
        )
        self._parts, self._held = [], 0


def read_index(folder: Path) -> ShardIndex:
    """The index of the shards in `folder`; `MotionFileError` if there is none."""
    path = folder / INDEX
    try:
        data = load_json(_Index, path)
    except ConfigError as error:
        raise MotionFileError(path, 0, f"no index of shards: {error}") from None
    if data.activities != ACTIVITIES:
        raise MotionFileError(path, 0, "has other activities; make the shards again")
    pieces = np.array(data.pieces, dtype=np.int64).reshape(-1, 6).T
    index = ShardIndex(
        folder,
        data.fps,
        data.longest_window,
        data.identity,
        tuple(shard.file for shard in data.shards),
        _ints([shard.frames for shard in data.shards]),
        _ints([shard.crc32 for shard in data.shards]),
        *pieces,
    )
    _check(path, index)
    return index


def _check(path: Path, index: ShardIndex) -> None:
    """Refuse an index with pieces outside of their shards."""
    good = (index.shard >= 0) & (index.shard < len(index.files))
    good &= (index.activity >= 0) & (index.activity < len(ACTIVITIES))
    good &= (index.offset >= 0) & (index.start >= 0)
    good &= (index.start < index.next_start) & (index.next_start <= index.clip_frames)
    if good.all():
        needed = np.minimum(
            index.next_start + index.longest_window - 1, index.clip_frames
        )
        stop = index.offset + needed - index.start
        good &= stop <= index.shard_frames[index.shard]
    if not good.all():
        raise MotionFileError(path, 0, "is damaged; make the shards again")


def _index_there(folder: Path) -> ShardIndex | None:
    """The index in `folder` if it is complete, with every shard."""
    try:
        index = read_index(folder)
        sizes = [
            index.path_of(shard).stat().st_size for shard in range(len(index.files))
        ]
    except (MotionFileError, OSError):
        return None
    return index if sizes == (index.shard_frames * 4 * N_STATE).tolist() else None


def _identity(clips: Sequence[Clip], fps: float, longest_window: int, room: int) -> str:
    """Hash of everything that determines the shards' content."""
    from ambulo.motion.datasets.prepare import cache_key

    digest = hashlib.sha256(json.dumps([VERSION, longest_window, room]).encode())
    for clip in clips:
        try:
            key = cache_key(clip.path, fps, clip.asf)
        except MotionFileError:
            key = "unreadable"  # reported when it is prepared
        digest.update(f"{key} {clip.activity}\n".encode())
    return digest.hexdigest()


def _ints(values: Sequence[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)
