"""`ambulo data convert`: motion files into other formats, rates and skeletons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ambulo.commands.data.flags import WITH_SKELETON, ConvertFlags
from ambulo.commands.data.inputs import (
    SOME_BAD,
    choices_of,
    motion_files,
    other_notes,
    shown_progress,
)
from ambulo.common.errors import print_error
from ambulo.common.files import check_parent
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import (
    AmbuloError,
    ConfigError,
    MotionError,
    MotionFileError,
)
from ambulo.motion.analysis import movement_text
from ambulo.motion.formats.axes import CMU_AXES, Axes
from ambulo.motion.formats.files import WRITTEN, names_motion, write_motion
from ambulo.motion.motion import Motion
from ambulo.motion.operations import at_speed, frames_of
from ambulo.motion.retargeting.source import target_in
from ambulo.motion.skeleton import Skeleton
from ambulo.train.shared.jobs import workers_of

if TYPE_CHECKING:
    from ambulo.motion.retargeting.retarget import Retargeted

FORMATS = tuple(ending.removeprefix(".") for ending in WRITTEN)
"""Formats that are written; an AMC has its ASF beside it."""


@dataclass(frozen=True)
class Conversion:
    """The steps that every motion goes through."""

    flags: ConvertFlags
    """How files are read, and frames, speed, rate, filter and units."""
    skeleton: Skeleton | None
    """Target of retargeting; None: none."""
    axes: Axes = CMU_AXES
    """Axes of the new files: those of the file of the target, if it has one."""

    def motion(self, path: Path) -> tuple[Motion, list[str]]:
        """The converted motion of the file `path`, and remarks on it: faults first."""
        flags = self.flags
        source, remarks = flags.read(path), list[str]()
        notes = source.notes
        motion = at_speed(source.motion, flags.speed)
        frames = frames_of(motion, flags.frames)
        if flags.frames is not None:
            selected = f"{frames.start}:{frames.stop} of {len(motion)}"
            remarks.append(f"frames {selected}: {movement_text(motion[frames])}")
        # The whole clip is filtered and retargeted, so that a part is the same in it.
        if flags.cutoff is not None:
            from ambulo.motion.filters import smoothed

            motion = smoothed(motion, flags.cutoff)
        if self.skeleton is None:
            motion = motion[frames]
        else:
            from ambulo.motion.retargeting.retarget import retarget

            done = retarget(
                replace(source, motion=motion),
                self.skeleton,
                fit_lengths=flags.fit_lengths,
                ground=not flags.keep_feet,
                frames=frames,
            )
            if flags.strict and done.missing:
                raise MotionFileError(path, 0, done.notes[-1])
            motion, notes = done.motion.replace(name=motion.name), done.notes
            remarks.append(described(done))
        if flags.fps is not None:
            from ambulo.motion.operations import resample

            motion = resample(motion, flags.fps)
        faults = [f"note: {note}" for note in other_notes(notes)]
        return motion, [*faults, *remarks, *choices_of(flags, path, source).lines()]

    def file(self, source: Path, target: Path) -> str:
        """Convert one file; a line about it, and a line for each remark.

        Raises:
            AmbuloError: it cannot be read or written.
        """
        if target.exists() and target.samefile(source):
            raise MotionError(f"{target}: a file is not converted into itself")
        motion, remarks = self.motion(source)
        write_motion(target, motion, units=self.flags.out_units, axes=self.axes)
        done = (
            f"{source} -> {target}: {len(motion)} frames, "
            f"{len(motion.skeleton)} joints, {motion.fps:.6g} fps"
        )
        return "\n  ".join([done, *remarks])


@dataclass(frozen=True)
class FolderJob:
    """A file of a folder that is converted."""

    source: Path
    """The file."""
    target: Path
    """The converted file."""
    also: Path | None = None
    """Another file with the same target; this one is refused."""

    def name(self) -> str:
        """Its name in errors."""
        return str(self.source)


def convert_job(conversion: Conversion, job: FolderJob) -> str | AmbuloError:
    """Convert a file of a folder; lines about it, or why it cannot be converted.

    Played again after a worker died, it replaces what that may have written.
    """
    try:
        if job.also is not None:
            raise MotionError(
                f"{job.source}: {job.target} is made from {job.also} already"
            )
        job.target.parent.mkdir(parents=True, exist_ok=True)
        return conversion.file(job.source, job.target)
    except AmbuloError as error:
        return error


def described(done: Retargeted) -> str:
    """How far a retargeted motion is from its source, in words."""
    error = done.error
    text = (
        f"retargeted: joints {error.position_cm:.1f} cm from the source's on a body of its "
        f"lengths, bones {error.direction_deg:.1f} deg, rotations "
        f"{error.rotation_deg:.1f} deg"
    )
    if done.levelled >= 0.01:
        text += (
            f", after its floor was levelled by up to {100.0 * done.levelled:.0f} cm"
        )
    if done.untwisted:
        text += f"; half turns of the capture undone: {', '.join(done.untwisted)}"
    return text


def convert(flags: ConvertFlags) -> int:
    """Convert; 0, or 1 when files of a folder could not be converted."""
    conversion = conversion_of(flags)
    source, target = resolve_path(flags.source), resolve_path(flags.target)
    if source.is_dir():
        if flags.frames is not None:
            raise ConfigError("--frames is for one file; a folder has many")
        return _folder(flags, conversion, source, target)
    if flags.to is not None:
        raise ConfigError("--to is for folders; a file is written by its ending")
    _check_format(target.suffix.removeprefix("."), str(target), flags.out_units)
    motion_files(source)
    check_parent(flags.target)
    if flags.on_cluster or flags.workers is not None:
        raise ConfigError("--engine, --workers and --address are for folders")
    print(conversion.file(source, target))
    return 0


def conversion_of(flags: ConvertFlags) -> Conversion:
    """Return the operations applied to every motion."""
    if flags.skeleton is None:
        return Conversion(flags, None)
    if names_motion(flags.skeleton):
        return Conversion(flags, *target_in(flags.skeleton))
    from ambulo.envs.characters.registry import skeleton_of

    return Conversion(flags, skeleton_of(flags.skeleton))


def _folder(
    flags: ConvertFlags, conversion: Conversion, source: Path, target: Path
) -> int:
    """All files of a folder, into the same tree below `target`."""
    if flags.to is None:
        raise ConfigError(f"a folder needs --to, one of {', '.join(FORMATS)}")
    _check_format(flags.to, f"--to {flags.to}", flags.out_units)
    if target.exists() and not target.is_dir():
        raise ConfigError(f"{target}: expected a folder, as {source} is one")
    files = motion_files(source)
    targets = {
        file: (target / file.relative_to(source)).with_suffix(f".{flags.to}")
        for file in files
    }
    if flags.asf is None:
        _check_skeletons(targets)
    made: dict[Path, Path] = {}
    there: list[Path] = []

    def jobs() -> Iterator[FolderJob]:
        for file in shown_progress(files):
            out = targets[file]
            also = made.setdefault(out, file)
            if also is not file:
                yield FolderJob(file, out, also)
            elif not flags.force and any(map(Path.exists, _written(out))):
                there.append(file)
            else:
                yield FolderJob(file, out)

    done = 0
    with workers_of(flags, files[:1]).sharing(target) as workers:
        for result in workers.in_order(convert_job, conversion, jobs(), FolderJob.name):
            if isinstance(result, str):
                print(result)
                done += 1
            elif flags.strict:
                raise result
            else:
                print_error(result)
    bad = len(files) - done - len(there)
    left = f", {len(there)} were there already (--force replaces them)" if there else ""
    print(f"{done} of {len(files)} files converted, {bad} failed{left}")
    return SOME_BAD if bad else 0


def _check_skeletons(targets: Mapping[Path, Path]) -> None:
    """Refuse to write skeletons where those of AMC files that are read are looked for.

    Args:
        targets: what is made of each file.

    Raises:
        ConfigError: one would be; which skeleton is found then depends on the order.
    """
    pairs = [(f.resolve(), out.resolve()) for f, out in targets.items()]
    made = {out.parent for f, out in pairs if out != f and out.suffix.lower() == ".amc"}
    for file, out in pairs:
        if out != file and file.suffix.lower() == ".amc" and file.parent in made:
            raise ConfigError(
                f"{file.parent}: skeletons would be written beside AMC files that are read, "
                f"such as {file.name}; choose another folder, or name their skeleton with "
                "--asf"
            )


def _check_format(name: str, what: str, units: str) -> None:
    if name.lower() not in FORMATS:
        raise ConfigError(
            f"{what}: cannot write this format; expected one of {', '.join(FORMATS)}"
        )
    if name.lower() == "npz" and units != "auto":
        raise ConfigError(f"--out-units {units}: NPZ is always in metres")


def _written(target: Path) -> list[Path]:
    """Return the files that writing `target` makes or replaces."""
    return WITH_SKELETON.files(str(target))
