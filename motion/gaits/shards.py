"""Files of gait: raw roll-outs, and refined sequences of 60 frames to train on.

Both are zip files of uncompressed `.npy` members, so that `numpy.load` opens them and parts can
be read in place. Pickled objects are refused. Files are written atomically; readers raise
`GaitDataError` naming the file and the rule that it breaks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints, Singles
from ambulo.configs.errors import ConfigError, GaitDataError
from ambulo.configs.gait import GaitSpace
from ambulo.configs.reading import open_regular
from ambulo.motion.gaits.npz import (
    as_json,
    check_motions,
    errors_of,
    parsed,
    read_arrays,
    rule,
    write_arrays,
)
from ambulo.motion.human23 import N_POSITIONS, N_SIXDOF

logger = logging.getLogger(__name__)

Shard = TypeVar("Shard")
Texts = NDArray[np.str_]

FRAMES = 60
"""Frames of a refined sequence: two cycles."""
PER_CYCLE = 30
"""Frames of one cycle, at equal phases."""
RAW_COLUMNS = N_POSITIONS + 1
"""Columns of a raw frame: positions and phase."""
_TEXT = "U"
_RAW = {
    "lengths": "i8", "params": "f8", "motions": "f8", "names": _TEXT, "source": _TEXT,
}  # fmt: skip
_REFINED = {
    "params": "f8", "motions": "f4", "names": _TEXT, "fps": "f8", "subject": _TEXT,
    "clip": _TEXT, "origin": _TEXT, "source": _TEXT,
}  # fmt: skip
"""Arrays of the two kinds of files, in order, and their NumPy types."""


@dataclass(frozen=True, eq=False)
class RawShard:
    """N simulated episodes."""

    lengths: Ints
    """Frames of each episode. Shape (N,)."""
    params: Floats
    """Parameters of each episode, in their own units. Shape (N, P)."""
    motions: Floats
    """All frames, episode after episode: 56 positions of human23 and the phase of the
    cycle in [0, 1). Shape (sum of lengths, 57)."""
    names: tuple[str, ...]
    """Names of the parameters, P of them."""
    source: dict[str, Any] = field(default_factory=dict)
    """Provenance as plain JSON: character, policy, seed, `rate` [Hz]."""

    def __post_init__(self) -> None:
        """Raise `GaitDataError` naming the rule that is broken."""
        rows = int(self.lengths.sum())
        rule(self.lengths.ndim == 1 and len(self.lengths) > 0, "holds no episode")
        rule(bool((self.lengths > 0).all()), "every length must be above 0")
        rule(
            self.motions.shape == (rows, RAW_COLUMNS),
            f"motions: expected shape ({rows}, {RAW_COLUMNS}), got {self.motions.shape}",
        )
        _check_params(self.params, self.names, len(self.lengths))
        rule(bool(np.isfinite(self.motions).all()), "motions: a number is not finite")
        rate = self.source.get("rate", 30.0)
        reported = isinstance(rate, int | float) and 0.0 < rate < np.inf
        rule(reported, f"source: rate = {rate!r} must be a number above 0")
        phase = self.motions[:, -1]
        rule(bool(((phase >= 0.0) & (phase < 1.0)).all()), "a phase is not in [0, 1)")

    @property
    def rate(self) -> float:
        """Frames per second, [Hz]; 30 by default."""
        return float(self.source.get("rate", 30.0))

    def episodes(self) -> Iterable[tuple[Floats, Floats]]:
        """Parameters (P,) and frames (T, 57) of each episode."""
        stops = np.cumsum(self.lengths).tolist()
        for row, (stop, count) in enumerate(
            zip(stops, self.lengths.tolist(), strict=True)
        ):
            yield self.params[row], self.motions[stop - count : stop]


@dataclass(frozen=True, eq=False, kw_only=True)
class RefinedRows:
    """N refined sequences without their frames."""

    params: Floats
    """Parameters of each sequence, in their own units. Shape (N, P)."""
    names: tuple[str, ...]
    """Names of the parameters, P of them."""
    fps: Floats
    """True rate of the frames: 30 times the cycles per second, [Hz]. Shape (N,)."""
    subject: Texts
    """Subject, or name of the character. Shape (N,)."""
    clip: Texts
    """Clip or episode. Shape (N,)."""
    origin: Texts
    """"rollout" or "captured". Shape (N,)."""
    source: dict[str, Any] = field(default_factory=dict)
    """Provenance as plain JSON; `space` holds the parameters' ranges, if known."""

    def __post_init__(self) -> None:
        """Raise `GaitDataError` naming the rule that is broken."""
        count = len(self)
        rule(count > 0, "holds no sequence")
        _check_params(self.params, self.names, count)
        for name in ("fps", "subject", "clip", "origin"):
            got = getattr(self, name).shape
            rule(got == (count,), f"{name}: expected shape ({count},), got {got}")
        good = (self.fps > 0.0) & np.isfinite(self.fps)
        rule(bool(good.all()), "fps: every rate must be above 0")

    def __len__(self) -> int:
        """The number of sequences."""
        return len(self.params)


@dataclass(frozen=True, eq=False, kw_only=True)
class RefinedShard(RefinedRows):
    """N sequences of two gait cycles, 60 frames at equal phases."""

    motions: Singles
    """Frames of 101 numbers (`motion.human23.to_sixdof`), of which 6 and 7 are the root's
    displacement in 1/30 s along +X, the direction of the two cycles, and along +Y, [m], and 8
    its height, [m]. Shape (N, 60, 101)."""

    def __post_init__(self) -> None:
        """Raise `GaitDataError` naming the rule that is broken."""
        super().__post_init__()
        got, shape = self.motions.shape, (len(self), FRAMES, N_SIXDOF)
        rule(got == shape, f"motions: expected shape {shape}, got {got}")
        rule(bool(np.isfinite(self.motions).all()), "motions: a number is not finite")


@dataclass(frozen=True, eq=False, kw_only=True)
class RefinedHead(RefinedRows):
    """A refined shard without its motions, and their offset in the file."""

    path: Path
    """The file."""
    offset: int
    """Offset of the motions in the file, [bytes]."""
    crc: int
    """CRC-32 of the whole shard's motions, from the file."""

    def read(self, start: int, out: Singles) -> None:
        """Fill `out` (K, 60, 101) with the sequences from `start` on."""
        try:
            with open_regular(self.path) as file:
                file.seek(self.offset + start * out.itemsize * FRAMES * N_SIXDOF)
                got = file.readinto(out.reshape(-1).view(np.uint8).data)
        except OSError as error:
            raise GaitDataError(
                f"{self.path}: cannot be read: {error.strerror}"
            ) from None
        if got != out.nbytes:
            raise GaitDataError(f"{self.path}: has become shorter")


def write_raw(path: Path, shard: RawShard) -> None:
    """Write a raw shard atomically."""
    _write(path, shard, _RAW)


def read_raw(path: Path) -> RawShard:
    """Return the raw shard in `path`; `GaitDataError` names the broken rule."""
    with errors_of(path):
        return RawShard(**_read(path, _RAW))


def write_refined(path: Path, shard: RefinedShard) -> None:
    """Write a refined shard atomically."""
    _write(path, shard, _REFINED)


def read_refined(path: Path) -> RefinedShard:
    """Return the refined shard in `path`; `GaitDataError` names the broken rule."""
    with errors_of(path):
        return RefinedShard(**_read(path, _REFINED))


def read_head(path: Path) -> RefinedHead:
    """A refined shard's head; its motions are checked in blocks of 4 MiB and discarded."""
    with errors_of(path):
        values = _read(path, {k: v for k, v in _REFINED.items() if k != "motions"})
        rows = RefinedRows(**values)
        offset, crc = check_motions(path, (len(rows), FRAMES, N_SIXDOF))
        return RefinedHead(path=path, offset=offset, crc=crc, **values)


def _write(
    path: Path, shard: RawShard | RefinedShard, types: Mapping[str, str]
) -> None:
    arrays = {
        name: np.asarray(getattr(shard, name)) for name in types if name != "source"
    }
    arrays["source"] = as_json(shard.source)
    numeric = {name: "<" + kind for name, kind in types.items() if kind != _TEXT}
    write_arrays(
        path,
        {k: array.astype(numeric.get(k, array.dtype)) for k, array in arrays.items()},
    )


def _read(path: Path, types: Mapping[str, str]) -> dict[str, Any]:
    """The arrays of a file by field, in the machine's byte order."""
    arrays = read_arrays(path, {name: kind[0] for name, kind in types.items()})
    values: dict[str, Any] = {
        name: array if types[name] == _TEXT else array.astype(types[name])
        for name, array in arrays.items()
    }
    values["names"] = tuple(arrays["names"].tolist())
    values["source"] = parsed(arrays["source"])
    return values


def find_shards(positions: str | Path | Sequence[str | Path]) -> list[Path]:
    """The NPZ files in folders (not below), or single files, sorted within each.

    Raises:
        GaitDataError: A path does not exist, or there are no files.
    """
    listed = [positions] if isinstance(positions, str | Path) else list(positions)
    result: list[Path] = []
    for place in map(Path, listed):
        if place.is_dir():
            result += sorted(
                p for p in place.glob("*.npz") if not p.name.startswith(".")
            )
        elif place.exists():
            result.append(place)
        else:
            raise GaitDataError(f"{place}: no such file or folder")
    if not result:
        raise GaitDataError(f"{', '.join(map(str, listed))}: no NPZ files of gait")
    return result


def usable(
    paths: Iterable[Path],
    read: Callable[[Path], Shard],
    errors: list[GaitDataError],
    *,
    strict: bool = False,
) -> Iterable[Shard]:
    """Read each file; bad files are logged and appended to `errors`.

    Args:
        paths: The files.
        read: `read_raw`, `read_refined` or `read_head`.
        errors: Receives the errors of skipped files.
        strict: Raise the first error instead.
    """
    for path in paths:
        try:
            yield read(path)
        except GaitDataError as error:
            if strict:
                raise
            logger.warning("%s", error)
            errors.append(error)


def _check_params(params: Floats, names: tuple[str, ...], count: int) -> None:
    shape = (count, len(names))
    rule(params.shape == shape, f"params: expected shape {shape}, got {params.shape}")
    rule(len(set(names)) == len(names), "two parameters have one name")
    rule(bool(np.isfinite(params).all()), "params: a number is not finite")


def stored_space(data: Any, path: Path) -> GaitSpace:
    """Return the gait space stored in the shard `path`; `GaitDataError` if it is invalid."""
    try:
        return GaitSpace.from_json(data)
    except ConfigError as error:
        raise GaitDataError(f"{path}: {error}") from None
