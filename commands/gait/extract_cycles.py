"""`ambulo gait extract-cycles`: the gait cycles of captured clips."""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np

from ambulo.commands.gait.flags import ExtractCyclesFlags
from ambulo.common.console import shown
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import (
    GaitDataError,
    MotionError,
    SkeletonError,
)
from ambulo.motion.datasets.clips import scan_clips
from ambulo.motion.gaits.refining import PER_FILE, RefinedWriter, Sequence
from ambulo.motion.gaits.strides import captured_space, cycles_of_clip
from ambulo.motion.retargeting.source import read_source


def extract_cycles(flags: ExtractCyclesFlags) -> int:
    """Extract gait cycles."""
    folders = [resolve_path(folder) for folder in flags.motions]
    listed, broken = scan_clips(folders, flags.strict, check=False)
    errors: list[Exception] = list(broken)
    clips = [clip for clip in listed if clip.activity in flags.activities]
    result: list[Sequence] = []
    people: Counter[str] = Counter()
    used = 0
    for clip in shown(clips, "extracting"):
        try:
            captured = read_source(
                clip.path, asf=clip.asf, drop_tpose=True,
                axes=flags.axes, rest_pose=flags.rest_pose or "auto", roles=flags.roles,
            )  # fmt: skip
            cycles = cycles_of_clip(captured.logged())
        except (MotionError, SkeletonError) as error:
            if flags.strict:
                raise
            errors.append(error)
            continue
        used += len(cycles) > 0
        people[clip.subject] += len(cycles)
        rows = zip(cycles.params, cycles.frames, cycles.fps, cycles.names, strict=True)
        result += [
            Sequence(params, frames, float(fps), f"{clip.name} {name}", clip.subject)
            for params, frames, fps, name in rows
        ]
    for passed_over in errors:
        print(f"not used: {passed_over}", file=sys.stderr)
    if not result:
        raise GaitDataError(
            f"{', '.join(flags.motions)}: no steady strides in {len(clips)} clips of "
            f"{', '.join(flags.activities)}"
        )
    space = captured_space(np.array([one.params for one in result]))
    source = {"clips": used, "activities": list(flags.activities)}
    writer = RefinedWriter(
        resolve_path(flags.out), space, "captured", source, per_file=PER_FILE
    )
    writer.add(result)
    files = writer.close()
    counts = ", ".join(
        f"{who} {count}" for who, count in sorted(people.items()) if count
    )
    print(
        f"{len(result)} sequences of {used} of {len(clips)} clips; by person: {counts}\n"
        f"written: {len(files)} files in {flags.out}"
    )
    return 0
