"""`ambulo track`: a whole body from a recording of headset, controllers and trackers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ambulo.commands.trackers.flags import TrackFlags
from ambulo.common.find_model import find_model
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, IKError
from ambulo.ik.data.sequences import sized_motion
from ambulo.ik.trackers.record_motion import record_motion
from ambulo.ik.trackers.recording import (
    Recording,
    is_recording,
    read_recording,
    write_recording,
)
from ambulo.ik.trackers.session import TrackedRecording, track_recording
from ambulo.ik.trackers.shape import STATURE, BodyShape
from ambulo.motion.formats.files import ENDINGS, write_motion
from ambulo.motion.kinematics import joint_positions
from ambulo.motion.motion import Motion
from ambulo.policies.agents.body_tracker import load_tracker_network

RATE = 60.0
"""Rate at which a motion file becomes a recording, [Hz]."""
MOST_OFF_GROUND = 0.5
"""Fraction of frames with an estimated ground above which a hint is shown."""


def track(flags: TrackFlags) -> int:
    """Track a recording and write the poses."""
    source, target = resolve_path(flags.recording), resolve_path(flags.out)
    shape = None
    if flags.height is not None:  # average proportions of a stature
        shape = BodyShape(*[flags.height / STATURE] * 3)
    network, _ = load_tracker_network(find_model(flags.model))
    recording, truth = read_source(source, flags.rate, flags.convention or "ambulo")
    if truth is None:
        for flag, value in (
            ("--record", flags.record),
            ("--convention", flags.convention),
        ):
            if value is not None:
                raise ConfigError(f"{flag} {value}: {source} is a recording already")
    if flags.record is not None:
        write_recording(resolve_path(flags.record), recording)
        print(f"recorded  {resolve_path(flags.record)}")
    if flags.calibrate:
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
            network, recording, shape=shape, ground=flags.ground, rate=flags.rate
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
