"""`ambulo track`: a whole body from a recording of headset, controllers and trackers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ambulo.common.errors import Parser, front_door
from ambulo.common.files import check_parent
from ambulo.common.find_model import find_model
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, IKError
from ambulo.ik.data.sequences import sized_motion
from ambulo.ik.trackers.conventions import CONVENTIONS
from ambulo.ik.trackers.record_motion import record_motion
from ambulo.ik.trackers.recording import (
    Recording,
    is_recording,
    read_recording,
    write_recording,
)
from ambulo.ik.trackers.session import TrackedRecording, track_recording
from ambulo.ik.trackers.shape import LARGEST, SMALLEST, STATURE, BodyShape
from ambulo.motion.formats.files import ENDINGS, WRITTEN, write_motion
from ambulo.motion.kinematics import joint_positions
from ambulo.motion.motion import Motion
from ambulo.policies.agents.body_tracker import load_tracker_network

SLOWEST, FASTEST = 10.0, 1000.0
"""Rates that can be asked for, [Hz]."""
RATE = 60.0
"""Rate at which a motion file becomes a recording, [Hz]."""
EPILOG = """\
examples:
  ambulo track session.trackers --out pose.bvh
  ambulo track session.trackers --calibrate --out pose.npz
  ambulo track walk.bvh --out pose.bvh       a motion, seen by headset and controllers
  ambulo track walk.bvh --record walk.trackers --convention openxr --out pose.bvh
"""

MOST_OFF_GROUND = 0.5
"""Fraction of frames with an estimated ground above which a hint is shown."""


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Track a recording, write the poses, and return the exit code."""
    args = make_parser().parse_args(argv)
    source, target = resolve_path(args.recording), resolve_path(args.out)
    for file in (args.out, args.record):
        check_parent(file)
    if target.suffix.lower() not in WRITTEN:
        raise ConfigError(f"--out {args.out}: expected a name in {', '.join(WRITTEN)}")
    if args.rate is not None and not SLOWEST <= args.rate <= FASTEST:
        raise ConfigError(
            f"--rate {args.rate:g}: must be from {SLOWEST:g} to {FASTEST:g} Hz"
        )
    if args.ground is not None and not np.isfinite(args.ground):
        raise ConfigError(f"--ground {args.ground:g}: must be a height in metres")
    shape = None if args.height is None else shape_of_height(args.height)
    network, _ = load_tracker_network(find_model(args.model))
    recording, truth = read_source(source, args.rate, args.convention or "ambulo")
    if truth is None:
        for flag, value in (
            ("--record", args.record),
            ("--convention", args.convention),
        ):
            if value is not None:
                raise ConfigError(f"{flag} {value}: {source} is a recording already")
    if args.record is not None:
        write_recording(resolve_path(args.record), recording)
        print(f"recorded  {resolve_path(args.record)}")
    if args.calibrate:
        changes = {"calibrate": True} | ({} if truth is None else {"shape": None})
        recording = Recording(
            recording.header.replace(**changes),
            recording.times,
            recording.positions,
            recording.rotations,
            recording.present,
        )
    try:
        tracked = track_recording(
            network, recording, shape=shape, ground=args.ground, rate=args.rate
        )
    except IKError as error:
        raise IKError(f"{source}: {error}") from None
    write_motion(target, tracked.motion)
    for line in report(recording, tracked, truth):
        print(line)
    print(f"pose      {target}")
    return 0


def read_source(
    path: Path, rate: float | None, axes: str
) -> tuple[Recording, Motion | None]:
    """Return a recording; of a motion file the three trackers of its body, and itself.

    Raises:
        ConfigError: A skeleton without motion.
        MotionFileError: The file cannot be used.
    """
    if path.suffix.lower() == ".asf":
        raise ConfigError(
            f"{path}: is a skeleton without motion; give a clip (.amc) of it"
        )
    if path.suffix.lower() not in ENDINGS or is_recording(path):
        return read_recording(path), None
    motion, _ = sized_motion(path, RATE if rate is None else rate)
    motion = motion.replace(name=path.stem)
    return record_motion(motion, axes=axes), motion


def shape_of_height(height: float) -> BodyShape:
    """Return average proportions of a stature, [m]; `ConfigError` if no person has it."""
    low, high = SMALLEST * STATURE, LARGEST * STATURE
    if not low <= height <= high:
        raise ConfigError(
            f"--height {height:g}: must be from {low:.2f} to {high:.2f} m"
        )
    return BodyShape(*[height / STATURE] * 3)


def report(
    recording: Recording, tracked: TrackedRecording, truth: Motion | None
) -> list[str]:
    """Lines for the terminal: a summary, then the counts of each status."""
    header, motion, shape = recording.header, tracked.motion, tracked.shape
    near = ""
    if truth is not None:
        count = min(len(truth), len(motion))
        far = joint_positions(truth[:count]) - joint_positions(motion[:count])
        near = f"; joints {100 * np.linalg.norm(far, axis=-1).mean():.1f} cm from it"
    skipped = f", {tracked.skipped} without a head left out" * bool(tracked.skipped)
    lines = [
        f"tracked   {len(recording)} rows of {len(header.trackers)} trackers in "
        f"{recording.duration:.2f} s ({header.convention}): {len(motion)} frames at "
        f"{motion.fps:g} fps{skipped}; stature {shape.stature:.2f} m{near}",
        f"frames    {counted(tracked.frames)}",
    ]
    lines += [
        f"{name:<9} {counted(statuses)}" for name, statuses in tracked.trackers.items()
    ]
    off = tracked.frames.get("floor", 0)
    if off > MOST_OFF_GROUND * sum(tracked.frames.values()):
        lines.append(
            f"hint      in {off} frames the head is too near to the ground, or too far from "
            "it: check --ground, and that positions are in the unit of the header"
        )
    return lines


def counted(counts: dict[str, int]) -> str:
    """Text of counts by name."""
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def make_parser() -> Parser:
    """The command line of `ambulo track`."""
    parser = Parser(
        prog="ambulo track",
        description="Track a whole body through a recording of headset, controllers and "
        "further trackers (docs/trackers_stream.md), frame by frame as it would be live, and "
        "write its poses as a motion file.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "recording",
        metavar="RECORDING",
        help="a recording of trackers, or a motion file (BVH, AMC, NPZ, DeepMimic), of which "
        "head and hands are seen",
    )
    add("--out", required=True, metavar="FILE", help="poses: .bvh, .amc or .npz")
    add("--model", default="ik_trackers", metavar="NAME", help="(ik_trackers)")
    add("--rate", type=float, metavar="HZ", help="of the poses (the recording's)")
    add("--ground", type=float, metavar="M", help="height of the ground")
    add("--height", type=float, metavar="M", help="stature of the player")
    add(
        "--calibrate",
        action="store_true",
        help="the first row is a T-pose, of which proportions and mounts of the devices follow",
    )
    add(
        "--record",
        metavar="FILE",
        help="of a motion file: write the recording of head and hands that it becomes",
    )
    add(
        "--convention",
        choices=sorted(CONVENTIONS),
        help="of that recording (ambulo)",
    )
    add("--verbose", action="store_true", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
