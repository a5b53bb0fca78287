"""`ambulo ik extract`: the poses of clips, as a file to train on."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ambulo.commands.data.inputs import add_source_flags, check_source_flags
from ambulo.common.console import bars
from ambulo.common.files import check_parent
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, IKError
from ambulo.ik.data.extract import FAR, FPS, STEP, Extraction, extract
from ambulo.ik.data.pose_data import MIN_UNIQUE, check_poses, save_poses, still_joints
from ambulo.ik.rig import load_rig
from ambulo.motion.datasets.clips import scan_clips
from ambulo.train.shared.jobs import add_worker_flags, workers_of

if TYPE_CHECKING:
    from ambulo.motion.datasets.clips import Clip


def add_parser(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `extract` to the actions of `ambulo ik`."""
    parser = actions.add_parser(
        "extract",
        help="make training data of motion files",
        description="Retarget every clip to the rig, put its poses inside the joint "
        "limits, leave out poses that hardly differ or are far outside and write the "
        "rest to one file.",
    )
    parser.add_argument(
        "--motions", action="append", required=True, metavar="DIR",
        help="folder of motion files: BVH, ASF/AMC, NPZ (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--out", default="training_data.npz", metavar="FILE",
        help="file to write (default: training_data.npz)",
    )  # fmt: skip
    parser.add_argument(
        "--rig", default="ik23", help="rig, or its file (default: ik23)"
    )
    parser.add_argument(
        "--fps", type=float, default=FPS, help=f"rate of the poses (default: {FPS:g})"
    )
    parser.add_argument(
        "--step", type=float, default=STEP, metavar="M",
        help="thinning: least way of the joint that moves most, in metres "
        f"(default: {STEP:g}; 0 keeps all)",
    )  # fmt: skip
    parser.add_argument(
        "--least", type=int, default=MIN_UNIQUE, metavar="N",
        help=f"refuse fewer unique poses than this (default: {MIN_UNIQUE})",
    )  # fmt: skip
    parser.add_argument(
        "--strict", action="store_true", help="a file that cannot be used is an error"
    )
    add_source_flags(parser)
    add_worker_flags(parser)
    parser.add_argument("--no-cache", action="store_true", help="read every file anew")
    parser.add_argument("--verbose", action="store_true", help="tracebacks of errors")


def run(args: argparse.Namespace) -> int:
    """Extract; 0."""
    if not (0.0 < args.fps < 1e6 and 0.0 <= args.step < 1e6):
        raise ConfigError("--fps must be above 0, --step not below")
    if args.least < 1:
        raise ConfigError(f"--least {args.least}: must be at least 1")
    if not all(args.motions):
        raise ConfigError("--motions: an empty name; give a folder")
    if not args.out.endswith(".npz"):
        raise ConfigError(f"--out {args.out}: poses are a .npz file")
    check_source_flags(args)
    workers_of(args)  # refused before slow work
    check_parent(args.out)
    rig = load_rig(args.rig)
    folders = [resolve_path(folder) for folder in args.motions]
    clips, errors = scan_clips(folders, args.strict, check=False)
    if not clips:
        raise IKError(f"{', '.join(map(str, folders))}: no motion files")
    found = extract(
        clips, rig, args.fps, step=args.step, progress=shown_clips(clips),
        strict=args.strict, cached=not args.no_cache,
        axes=args.axes, rest_pose=args.rest_pose or "auto",
        apply=workers_of(args, [clip.path for clip in clips[:1]]).in_order,
    )  # fmt: skip
    unique = check_poses(found.data, rig, args.least)
    target = resolve_path(args.out)
    save_poses(target, found.data)
    print(described(found, unique))
    stiff = still_joints(rig, found.data.pose)
    if stiff:
        print(f"joints that never turn: {', '.join(stiff)}")
    for error in dict.fromkeys(map(str, (*errors, *found.errors))):
        print(f"not used: {error}", file=sys.stderr)
    print(f"written: {target}")
    return 0


def described(found: Extraction, unique: int) -> str:
    """What came out, for people."""
    clips = found.data.header.clips
    return (
        f"{len(clips)} clips of {len({clip.subject for clip in clips})} people, "
        f"{found.frames} frames at {found.data.header.fps:g} Hz, {len(found.data)} poses "
        f"kept, {unique} unique\n"
        f"left out: {sum(found.left_out.values())} frames of {len(found.left_out)} clips "
        f"with a joint more than {np.rad2deg(FAR):.0f} deg outside its limits"
        f"{_most(found.left_out)}\n"
        f"limits: {100 * found.clamped:.1f} % of the others "
        f"({100 * found.joints_clamped:.2f} % of joints) were outside, "
        f"by {found.mean_degrees:.1f} deg on average "
        f"(most: {found.worst[0]}, {found.worst[1]:.0f} deg); clamping moved the joints of "
        f"such a frame by {100 * found.moved:.2f} cm on average"
    )


def _most(left_out: dict[str, int]) -> str:
    """The three clips that lose most frames."""
    most = sorted(left_out.items(), key=lambda item: -item[1])[:3]
    told = ", ".join(f"{name} {count}" for name, count in most)
    return f" (most: {told})" if told else ""


def shown_clips(clips: Sequence[Clip]) -> Iterator[Clip]:
    """`clips` with a progress bar on a terminal."""
    with bars(10) as shown:
        task = shown.add_task("extracting", total=len(clips))
        for clip in clips:
            yield clip
            shown.advance(task)
