"""`ambulo data validate`: whether motion files can be used."""

from __future__ import annotations

import argparse

from ambulo.commands.data.inputs import (
    SOME_BAD,
    add_reading_flags,
    motion_files,
    reading_of,
    report,
    shown_progress,
)
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import AmbuloError


def add_parser(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `validate` to the actions of `ambulo data`."""
    parser = actions.add_parser(
        "validate",
        help="check files",
        description="Read files in full and say of each whether it can be used; exit "
        "code 1 if one of a folder cannot, 2 if it is the only one asked about.",
    )
    parser.add_argument("path", metavar="PATH", help="motion file, or folder of them")
    add_reading_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Validate; 0, or 1 when files of a folder are bad."""
    reading, path = reading_of(args), resolve_path(args.path)
    files = motion_files(path)
    strict = args.strict or not path.is_dir()
    bad = 0
    for file in shown_progress(files):
        try:
            source = reading.source(file)
        except AmbuloError as error:
            if strict:
                raise
            report(error)
            bad += 1
            continue
        motion = source.motion
        notes = "".join(f"; {note}" for note in source.notes)
        print(
            f"{file}: ok: {len(motion)} frames, {len(motion.skeleton)} joints, "
            f"{motion.fps:.6g} fps{notes}"
        )
    print(f"{len(files) - bad} of {len(files)} files are good, {bad} bad")
    return SOME_BAD if bad else 0
