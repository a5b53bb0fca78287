"""Make refined sequences for gait networks out of raw roll-outs."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ambulo.common.console import bars
from ambulo.common.errors import Parser, front_door
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, GaitDataError
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
  train_forward_gaitnet --fresh --data refined
"""


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    args = make_parser().parse_args(argv)
    logging.basicConfig(level="WARNING", format="%(levelname)s: %(message)s")
    logging.getLogger("ambulo").setLevel("ERROR")  # errors are printed at the end
    if not 0.0 <= args.settled <= 100.0:
        raise ConfigError(f"--settled {args.settled:g}: must be in [0, 100]")
    for name in ("least", "per_file"):
        if getattr(args, name) < 1:
            flag = name.replace("_", "-")
            raise ConfigError(f"--{flag} {getattr(args, name)}: must be at least 1")
    counts = Refining()
    errors: list[GaitDataError] = []
    raw: dict[str, Any] = {}
    paths = find_shards([resolve_path(path) for path in args.input])
    writer: RefinedWriter | None = None
    first: RawShard | None = None
    with bars(10) as shown:
        task = shown.add_task("refining", total=len(paths))
        for path in paths:
            for shard in usable([path], read_raw, errors, strict=args.strict):
                if first is None or writer is None:
                    first = shard
                    raw = {k: v for k, v in shard.source.items() if k != "space"}
                    writer = _writer(resolve_path(args.out), path, shard, raw, args)
                if not _alike(shard, first):
                    other = GaitDataError(
                        f"{path}: has other parameters or another character than "
                        "the first file"
                    )
                    if args.strict:
                        raise other
                    errors.append(other)
                    continue
                _note(raw, shard.source)
                writer.add(
                    refined(
                        shard,
                        f"{path.parent.name}/{path.stem}",
                        counts,
                        least=args.least,
                        settled=args.settled,
                    )
                )
            shown.advance(task)
    counts.files = [] if writer is None else writer.close()
    for error in errors:
        print(f"not used: {error}", file=sys.stderr)
    print(
        f"{counts.sequences} sequences of {counts.episodes} episodes in {len(paths)} "
        f"files; left out: {counts.short} episodes shorter than {args.least} frames, "
        f"{counts.stuck} without two whole cycles, {len(errors)} files"
    )
    if not counts.sequences:
        raise GaitDataError(f"{args.out}: nothing was made")
    print(f"written: {len(counts.files)} files in {args.out}")
    return 0


def make_parser() -> Parser:
    """The command line."""
    parser = Parser(
        prog="augment_gait",
        description="Resample raw roll-outs to sequences of 60 phases (two cycles), with "
        "orthonormal rotations and the root's displacement instead of its position.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("input", nargs="+", help="folders or files of raw roll-outs")
    parser.add_argument("out", help="folder to write, without files of an earlier run")
    parser.add_argument(
        "--least", type=int, default=MIN_FRAMES, metavar="N",
        help=f"leave out episodes with fewer frames (default: {MIN_FRAMES})",
    )  # fmt: skip
    parser.add_argument(
        "--settled", type=float, default=SETTLED, metavar="CYCLES",
        help=f"leave out so much of each beginning (default: {SETTLED:g})",
    )  # fmt: skip
    parser.add_argument(
        "--per-file", type=int, default=PER_FILE, metavar="N",
        help=f"sequences of a file, 24 KB each (default: {PER_FILE})",
    )  # fmt: skip
    parser.add_argument(
        "--strict", action="store_true", help="a file that cannot be used is an error"
    )
    parser.add_argument("--verbose", action="store_true", help="tracebacks of errors")
    return parser


def _writer(
    out: Path,
    path: Path,
    shard: RawShard,
    raw: dict[str, Any],
    args: argparse.Namespace,
) -> RefinedWriter:
    """The writer for sequences such as those of the first shard."""
    space = _space(path, shard)
    source = {"raw": raw, "least": args.least, "settled": args.settled}
    return RefinedWriter(out, space, "rollout", source, per_file=args.per_file)


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
