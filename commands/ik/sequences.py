"""`ambulo ik sequences`: motions of many people, as a file to train body trackers on."""

from __future__ import annotations

import sys

from ambulo.commands.ik.extract import most_of
from ambulo.commands.ik.flags import SequencesFlags
from ambulo.common.console import shown
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, IKError
from ambulo.ik.data.sequences import (
    SequenceData,
    SequenceReport,
    extract_sequences,
    save_sequences,
)
from ambulo.motion.datasets.clips import scan_clips
from ambulo.train.shared.jobs import workers_of


def sequences(flags: SequencesFlags) -> int:
    """Extract sequences."""
    target = resolve_path(flags.out)
    folders = [resolve_path(folder) for folder in flags.motions]
    clips, errors = scan_clips(folders, check=False)
    people = {clip.subject for clip in clips}
    for subject in flags.without:
        if subject not in people:
            raise ConfigError(
                f"--without {subject}: no performer of this name in the folders"
            )
    clips = [clip for clip in clips if clip.subject not in flags.without]
    if not clips:
        raise IKError(f"{', '.join(map(str, folders))}: no motion files")
    data, report = extract_sequences(
        clips, flags.fps, progress=shown(clips, "extracting"), axes=flags.axes,
        rest_pose=flags.rest_pose or "auto",
        apply=workers_of(flags, [clip.path for clip in clips[:1]]).in_order,
    )  # fmt: skip
    save_sequences(target, data)
    print(described(data, report))
    for error in dict.fromkeys(map(str, (*errors, *report.errors))):
        print(f"not used: {error}", file=sys.stderr)
    print(f"written: {target}")
    return 0


def described(data: SequenceData, report: SequenceReport) -> str:
    """Return the summary that is printed."""
    cut = sum(report.cut.values())
    return (
        f"{len(data)} sequences of {len(data.subjects)} people, "
        f"{len(data.root) / data.header.fps / 60.0:.1f} minutes at {data.header.fps:g} Hz\n"
        f"cut out: {cut} of {report.frames} frames of {len(report.cut)} clips, too fast, in "
        f"the ground or too short{most_of(report.cut)}"
    )
