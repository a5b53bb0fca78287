"""`ambulo data validate`: whether motion files can be used."""

from __future__ import annotations

from ambulo.commands.data.flags import ValidateFlags
from ambulo.commands.data.inputs import (
    SOME_BAD,
    motion_files,
    shown_progress,
)
from ambulo.common.errors import print_error
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import AmbuloError


def validate(flags: ValidateFlags) -> int:
    """Validate; 0, or 1 when files of a folder are bad."""
    path = resolve_path(flags.path)
    files = motion_files(path)
    strict = flags.strict or not path.is_dir()
    bad = 0
    for file in shown_progress(files):
        try:
            source = flags.read(file)
        except AmbuloError as error:
            if strict:
                raise
            print_error(error)
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
