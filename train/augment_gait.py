"""Make refined sequences for gait networks out of raw roll-outs."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from ambulo.common.command_line import Arg, Flags, command
from ambulo.common.console import bars
from ambulo.common.flag_types import Count, positional, within
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import GaitDataError
from ambulo.configs.gait import GAIT_SPACES, GaitSpace, gait_space
from ambulo.motion.gaits.refining import (
    MIN_FRAMES,
    PER_FILE,
    SETTLED,
    RefinedWriter,
    Refining,
    refined,
)
from ambulo.motion.gaits.shards import (
    RawShard,
    find_shards,
    read_raw,
    stored_space,
    usable,
)

EPILOG = """\
examples:
  python train/augment_gait.py raw refined
  ambulo train gait --fresh --data refined
"""


@dataclass(frozen=True, kw_only=True)
class AugmentFlags(Flags):
    """Resample raw roll-outs to sequences of 60 phases (two cycles).

    They have orthonormal rotations, and the root's displacement instead of its position.
    """

    input: Annotated[tuple[str, ...], positional("input")]
    """folders or files of raw roll-outs"""
    out: Annotated[str, positional("out")]
    """folder to write, without files of an earlier run"""
    least: Count = MIN_FRAMES
    """leave out episodes with fewer frames"""
    settled: Annotated[float, Arg("CYCLES"), within(0.0, 100.0)] = SETTLED
    """leave out so much of each beginning"""
    per_file: Count = PER_FILE
    """sequences of a file, 24 KB each"""
    strict: bool = False
    """a file that cannot be used is an error"""


@command("augment_gait", EPILOG)
def main(flags: AugmentFlags) -> int:
    """Write refined sequences."""
    logging.basicConfig(level="WARNING", format="%(levelname)s: %(message)s")
    logging.getLogger("ambulo").setLevel("ERROR")  # errors are printed at the end
    counts = Refining()
    errors: list[GaitDataError] = []
    raw: dict[str, Any] = {}
    paths = find_shards([resolve_path(path) for path in flags.input])
    writer: RefinedWriter | None = None
    first: RawShard | None = None
    with bars(10) as shown:
        task = shown.add_task("refining", total=len(paths))
        for path in paths:
            for shard in usable([path], read_raw, errors, strict=flags.strict):
                if first is None or writer is None:
                    first = shard
                    raw = {k: v for k, v in shard.source.items() if k != "space"}
                    writer = _writer(resolve_path(flags.out), path, shard, raw, flags)
                if not _alike(shard, first):
                    other = GaitDataError(
                        f"{path}: has other parameters or another character than "
                        "the first file"
                    )
                    if flags.strict:
                        raise other
                    errors.append(other)
                    continue
                _note(raw, shard.source)
                writer.add(
                    refined(
                        shard,
                        f"{path.parent.name}/{path.stem}",
                        counts,
                        least=flags.least,
                        settled=flags.settled,
                    )
                )
            shown.advance(task)
    counts.files = [] if writer is None else writer.close()
    for error in errors:
        print(f"not used: {error}", file=sys.stderr)
    print(
        f"{counts.sequences} sequences of {counts.episodes} episodes in {len(paths)} "
        f"files; left out: {counts.short} episodes shorter than {flags.least} frames, "
        f"{counts.stuck} without two whole cycles, {len(errors)} files"
    )
    if not counts.sequences:
        raise GaitDataError(f"{flags.out}: nothing was made")
    print(f"written: {len(counts.files)} files in {flags.out}")
    return 0


def _writer(
    out: Path,
    path: Path,
    shard: RawShard,
    raw: dict[str, Any],
    flags: AugmentFlags,
) -> RefinedWriter:
    """The writer for sequences such as those of the first shard."""
    space = _space(path, shard)
    source = {"raw": raw, "least": flags.least, "settled": flags.settled}
    return RefinedWriter(out, space, "rollout", source, per_file=flags.per_file)


def _space(path: Path, shard: RawShard) -> GaitSpace:
    """Return the space in the header of the file, or the known one with its parameters."""
    given = shard.source.get("space")
    if isinstance(given, str) and given in GAIT_SPACES:
        return gait_space(given)
    if given is not None:
        return stored_space(given, path)
    for space in GAIT_SPACES.values():
        if space.names == shard.names:
            return space
    raise GaitDataError(f"{path}: lacks the ranges of its parameters")


def _alike(shard: RawShard, first: RawShard) -> bool:
    """Whether two files hold the same character with the same parameters."""
    keys = ("character", "space")
    same = all(shard.source.get(key) == first.source.get(key) for key in keys)
    return same and shard.names == first.names


def _note(raw: dict[str, Any], source: dict[str, Any]) -> None:
    """Add the origin of a further file to `raw`."""
    raw["is_cascaded"] = bool(raw.get("is_cascaded")) or bool(source.get("is_cascaded"))
    made = {key: source.get(key) for key in ("policy", "seed", "impaired", "plan")}
    if made not in raw.setdefault("made", []):
        raw["made"].append(made)


if __name__ == "__main__":
    sys.exit(main())
