"""`ambulo ik sequences`: motions of many people, as a file to train body trackers on."""

from __future__ import annotations

import argparse
import sys

from ambulo.commands.data.inputs import add_source_flags, check_source_flags
from ambulo.commands.ik.extract import shown_clips
from ambulo.common.files import check_parent
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, IKError
from ambulo.ik.data.sequences import (
    FPS,
    SequenceData,
    SequenceReport,
    extract_sequences,
    save_sequences,
)
from ambulo.motion.datasets.clips import scan_clips
from ambulo.train.shared.jobs import add_worker_flags, workers_of


def add_parser(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `sequences` to the actions of `ambulo ik`."""
    parser = actions.add_parser(
        "sequences",
        help="make training data of body trackers of motion files",
        description="Retarget every clip to human23 with the performer's own proportions, "
        "cut out frames that no person took, and write all of them to one file. "
        "`ambulo train trackers` parts it by people.",
    )
    parser.add_argument(
        "--motions", action="append", required=True, metavar="DIR",
        help="folder of motion files: BVH, ASF/AMC, NPZ (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--out", default="sequences.npz", metavar="FILE",
        help="file to write (default: sequences.npz)",
    )  # fmt: skip
    parser.add_argument(
        "--fps", type=float, default=FPS, help=f"rate, in Hz (default: {FPS:g})"
    )
    parser.add_argument(
        "--without", nargs="*", default=[], metavar="SUBJECT",
        help="performers to leave out",
    )  # fmt: skip
    add_source_flags(parser)
    add_worker_flags(parser)
    parser.add_argument("--verbose", action="store_true", help="tracebacks of errors")


def run(args: argparse.Namespace) -> int:
    """Extract; 0."""
    if not 20.0 <= args.fps <= 240.0:
        raise ConfigError(f"--fps {args.fps:g}: must be from 20 to 240")
    if not all(args.motions):
        raise ConfigError("--motions: an empty name; give a folder")
    if not args.out.endswith(".npz"):
        raise ConfigError(f"--out {args.out}: sequences are a .npz file")
    check_source_flags(args)
    workers_of(args)  # refused before slow work
    check_parent(args.out)
    folders = [resolve_path(folder) for folder in args.motions]
    clips, errors = scan_clips(folders, check=False)
    people = {clip.subject for clip in clips}
    for subject in args.without:
        if subject not in people:
            raise ConfigError(
                f"--without {subject}: nobody of this name in the folders"
            )
    clips = [clip for clip in clips if clip.subject not in args.without]
    if not clips:
        raise IKError(f"{', '.join(map(str, folders))}: no motion files")
    data, report = extract_sequences(
        clips, args.fps, progress=shown_clips(clips), axes=args.axes,
        rest_pose=args.rest_pose or "auto",
        apply=workers_of(args, [clip.path for clip in clips[:1]]).in_order,
    )  # fmt: skip
    target = resolve_path(args.out)
    save_sequences(target, data)
    print(described(data, report))
    for error in dict.fromkeys(map(str, (*errors, *report.errors))):
        print(f"not used: {error}", file=sys.stderr)
    print(f"written: {target}")
    return 0


def described(data: SequenceData, report: SequenceReport) -> str:
    """What came out, for people."""
    cut = sum(report.cut.values())
    most = sorted(report.cut.items(), key=lambda item: -item[1])[:3]
    worst = ", ".join(f"{name} {count}" for name, count in most)
    return (
        f"{len(data)} sequences of {len(data.subjects)} people, "
        f"{len(data.root) / data.header.fps / 60.0:.1f} minutes at {data.header.fps:g} Hz\n"
        f"cut out: {cut} of {report.frames} frames of {len(report.cut)} clips, too fast, in "
        f"the ground or too short{f' (most: {worst})' if worst else ''}"
    )
