"""`ambulo gait extract-cycles`: the gait cycles of captured clips."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

import numpy as np

from ambulo.commands.data.inputs import (
    add_map_flag,
    add_source_flags,
    check_source_flags,
    map_of,
)
from ambulo.common.console import bars
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import (
    ConfigError,
    GaitDataError,
    MotionError,
    SkeletonError,
    nearest,
)
from ambulo.motion.datasets.activities import ACTIVITIES
from ambulo.motion.datasets.clips import scan_clips
from ambulo.motion.gaits.refining import PER_FILE, RefinedWriter, Sequence
from ambulo.motion.gaits.strides import captured_space, cycles_of_clip
from ambulo.motion.retargeting.source import read_source


def add_parser(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `extract-cycles` to the actions of `ambulo gait`."""
    parser = actions.add_parser(
        "extract-cycles",
        help="make training data of captured walks and runs",
        description="Retarget walks and runs with the lengths of their people, find the "
        "strikes of their feet, and write every steady pair of strides as a sequence "
        "with its measured stride, cadence and lengths.",
    )
    parser.add_argument(
        "--motions", action="append", required=True, metavar="DIR",
        help="folder of motion files: BVH, ASF/AMC, NPZ (repeatable)",
    )  # fmt: skip
    parser.add_argument("--out", required=True, metavar="DIR", help="folder to write")
    parser.add_argument(
        "--activities", nargs="+", default=["walk", "run"], metavar="NAME",
        help="clips that are taken (default: walk run)",
    )  # fmt: skip
    parser.add_argument(
        "--strict", action="store_true", help="a file that cannot be used is an error"
    )
    add_source_flags(parser)
    add_map_flag(parser)
    parser.add_argument("--verbose", action="store_true", help="tracebacks of errors")


def run(args: argparse.Namespace) -> int:
    """Extract; 0."""
    for name in args.activities:
        if name not in ACTIVITIES:
            raise ConfigError(f"--activities: {name!r}{nearest(name, ACTIVITIES)}")
    check_source_flags(args)
    roles = map_of(args)
    folders = [resolve_path(folder) for folder in args.motions]
    listed, broken = scan_clips(folders, args.strict, check=False)
    errors: list[Exception] = list(broken)
    clips = [clip for clip in listed if clip.activity in args.activities]
    found: list[Sequence] = []
    people: Counter[str] = Counter()
    used = 0
    with bars(10) as shown:
        task = shown.add_task("extracting", total=len(clips))
        for clip in clips:
            try:
                captured = read_source(
                    clip.path, asf=clip.asf, drop_tpose=True,
                    axes=args.axes, rest_pose=args.rest_pose or "auto", roles=roles,
                )  # fmt: skip
                cycles = cycles_of_clip(captured.logged())
            except (MotionError, SkeletonError) as error:
                if args.strict:
                    raise
                errors.append(error)
                continue
            finally:
                shown.advance(task)
            used += len(cycles) > 0
            people[clip.subject] += len(cycles)
            rows = zip(
                cycles.params, cycles.frames, cycles.fps, cycles.names, strict=True
            )
            found += [
                Sequence(
                    params, frames, float(fps), f"{clip.name} {name}", clip.subject
                )
                for params, frames, fps, name in rows
            ]
    for passed_over in errors:
        print(f"not used: {passed_over}", file=sys.stderr)
    if not found:
        raise GaitDataError(
            f"{', '.join(args.motions)}: no steady strides in {len(clips)} clips of "
            f"{', '.join(args.activities)}"
        )
    space = captured_space(np.array([one.params for one in found]))
    source = {"clips": used, "activities": list(args.activities)}
    writer = RefinedWriter(
        resolve_path(args.out), space, "captured", source, per_file=PER_FILE
    )
    writer.add(found)
    files = writer.close()
    told = ", ".join(f"{who} {count}" for who, count in sorted(people.items()) if count)
    print(
        f"{len(found)} sequences of {used} of {len(clips)} clips; by person: {told}\n"
        f"written: {len(files)} files in {args.out}"
    )
    return 0
