"""References of one clip or of several: what a simulated body does of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ambulo.commands.fit import FitFlags
from ambulo.common.console import bars
from ambulo.common.errors import one_line
from ambulo.common.files import check_parent, refuse_existing
from ambulo.common.paths import resolve_path
from ambulo.common.tables import print_rows
from ambulo.configs.errors import ConfigError, MotionError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.clip_reference import (
    ClipReference,
    clip_reference,
    fitted_body,
)
from ambulo.envs.reference.reference import (
    is_reference,
    load_reference,
    save_reference,
)
from ambulo.motion.analysis import movement_text
from ambulo.motion.formats.files import find_motions
from ambulo.motion.operations import at_speed, frames_of
from ambulo.motion.retargeting.source import read_source
from ambulo.muscle.coupling import joint_coupling
from ambulo.train.shared.jobs import workers_of

FAILED = 1
"""Exit code when a body falls, or one of several clips is refused; 2 is wrong usage."""


@dataclass(frozen=True)
class FitJob:
    """One clip to fit."""

    source: str
    """The motion file."""
    target: str
    """The reference."""

    def name(self) -> str:
        """Name in errors."""
        return Path(self.source).name


@dataclass(frozen=True)
class FitRow:
    """Result of one clip."""

    name: str
    """Name of its reference."""
    report: dict[str, float]
    """Numbers about the fit; empty if it was refused."""
    refused: str = ""
    """Why it was refused."""

    @property
    def good(self) -> bool:
        """Whether the body does the clip to its end."""
        return not self.refused and "falls_at" not in self.report


def fit(flags: FitFlags) -> int:
    """Fit clips, write their references, and return the exit code."""
    character = fitted_body(flags.body)
    _check_body(character)
    path = resolve_path(flags.clips[0])
    if len(flags.clips) > 1 or path.is_dir():
        return _fit_folder(flags)
    return _fit_clip(flags, path, character)


def _fit_clip(flags: FitFlags, path: Path, character: Character) -> int:
    """Fit a clip, or the frames `--frames` of it."""
    check_no_reference(path)
    target = resolve_path(flags.out or f"{path.stem}.{character.name}.npz")
    check_parent(str(target))
    if target.suffix != ".npz":
        raise ConfigError(f"--out {target}: a reference ends in .npz")
    refuse_existing([target], force=flags.force)
    motion = at_speed(read_source(path).logged(), flags.speed)
    rows = frames_of(motion, flags.frames)
    part = motion[rows]
    print(
        f"clip       {motion.label}: frames {rows.start}:{rows.stop} of {len(motion)}, "
        f"{part.duration:.2f} s at {part.fps:g} fps; {movement_text(part)}"
    )
    with bars(0) as progress:
        task = progress.add_task("fitting", total=None)

        def show(done: int, of: int) -> None:
            progress.update(task, completed=done, total=of)

        result = clip_reference(
            motion, character,
            bodies=flags.bodies, seed=flags.seed, frames=flags.frames, progress=show,
        )  # fmt: skip
    save_reference(target, result.reference)
    _print_clip(result)
    print(f"reference  {target}")
    if flags.film is not None:
        print(f"film       {_film(resolve_path(flags.film), result)}")
    return 0 if result.falls_at is None else FAILED


def _fit_folder(flags: FitFlags) -> int:
    """Fit several clips into the folder `--out`; references in it already are kept.

    Raises:
        ConfigError: No folder for the references, or flags of a single clip.
    """
    if flags.out is None:
        raise ConfigError("several clips: --out names a folder for their references")
    for flag, none in (("frames", None), ("film", None), ("speed", 1.0)):
        if getattr(flags, flag) != none:
            raise ConfigError(f"--{flag} is for one clip")
    folder = resolve_path(flags.out)
    if folder.is_file():
        raise ConfigError(f"--out {folder}: is a file; several clips need a folder")
    jobs = _jobs(_sources(flags.clips), folder, flags.body)
    folder.mkdir(parents=True, exist_ok=True)
    workers_of(flags)  # refused before slow work
    new = [job for job in jobs if flags.force or not is_reference_file(job.target)]
    rows = {
        job.target: FitRow(Path(job.target).stem, load_reference(job.target).report)
        for job in jobs
        if job not in new
    }
    needs = [Path(job.source) for job in new]
    with workers_of(flags, needs[:1]).sharing(folder) as workers, bars(0) as progress:
        task = progress.add_task("fitting", total=len(new))
        shared = (flags.body, flags.bodies, flags.seed)
        results = workers.in_order(fit_one, shared, new, FitJob.name)
        for job, row in zip(new, results, strict=True):
            rows[job.target] = row
            progress.advance(task)
    _print_table([rows[job.target] for job in jobs], folder)
    return 0 if all(row.good for row in rows.values()) else FAILED


def fit_one(shared: tuple[str, int, int], job: FitJob) -> FitRow:
    """Fit a clip and write its reference; a refusal becomes a row."""
    body, bodies, seed = shared
    name = Path(job.target).stem
    try:
        motion = read_source(Path(job.source)).logged()
        result = clip_reference(motion, fitted_body(body), bodies=bodies, seed=seed)
    except MotionError as error:
        return FitRow(name, {}, one_line(error))
    save_reference(job.target, result.reference)
    return FitRow(name, result.report)


def check_no_reference(path: Path) -> None:
    """Raise `ConfigError` for a clip that is a fitted reference already."""
    if is_reference_file(str(path)):
        raise ConfigError(
            f"{path}: is a fitted reference already; ambulo train track and ambulo eval "
            "track take it"
        )


def is_reference_file(path: str) -> bool:
    """Return whether there is a reference at `path`."""
    return Path(path).is_file() and is_reference(path)


def _sources(paths: Sequence[str]) -> list[Path]:
    files: list[Path] = []
    for path in map(resolve_path, paths):
        if path.is_dir():  # references of an earlier call may lie there, too
            result = find_motions(path)
            files += [file for file in result if not is_reference_file(str(file))]
            continue
        check_no_reference(path)
        files.append(path)
    if not files:
        raise ConfigError(f"{', '.join(paths)}: no motion files")
    return files


def _jobs(files: Sequence[Path], folder: Path, body: str) -> list[FitJob]:
    """One job a file; files of one name in several folders are told apart by theirs."""
    stems = [file.stem for file in files]
    names = [
        file.stem if stems.count(file.stem) == 1 else f"{file.parent.name}_{file.stem}"
        for file in files
    ]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ConfigError(f"{min(twice)}: two clips of this name; fit them apart")
    return [
        FitJob(str(file), str(folder / f"{name}.{body}.npz"))
        for file, name in zip(files, names, strict=True)
    ]


def _check_body(character: Character) -> None:
    """Refuse bodies that cannot be fitted yet.

    Raises:
        ConfigError: Muscles, or joints that are tied to others.
    """
    if character.actuation is not None:
        raise ConfigError(
            f"--character {character.name}: has muscles; clips need motors"
        )
    free = joint_coupling(character.model).independent
    if not np.isin(character.dofs(*character.skeleton.joints), free).all():
        raise ConfigError(
            f"--character {character.name}: joints are tied to others; clips need free joints"
        )


def _print_clip(result: ClipReference) -> None:
    """Print the result of a clip."""
    report = result.report
    print(
        f"error      {100 * report['error_world']:.1f} cm in the world, "
        f"{100 * report['error_local']:.1f} cm beside the root; root at most "
        f"{100 * report['root_deviation']:.1f} cm off"
    )
    for need in result.needs:
        print(f"support    {need.text()}")
    if result.falls_at is not None:
        before = [need for need in result.needs if need.begin <= result.falls_at]
        why = f", where support is missing from {before[-1].begin:.2f} s on" * bool(
            before
        )
        print(
            f"falls      at {result.falls_at:.2f} s (frame "
            f"{result.frame(result.falls_at)}): the body cannot do this clip{why}"
        )
        return
    for name, value in report.items():
        if name.startswith("survives "):
            print(f"feedback   {value:4.0%} survive {name.removeprefix('survives ')}")


def _film(path: Path, result: ClipReference) -> Path:
    """Film clip and body side by side."""
    from ambulo.viz.skeleton_actor import actor_of
    from ambulo.viz.skeleton_film import write_film

    actors = [actor_of(result.clip, label="clip"), actor_of(result.body, label="body")]
    return write_film(path, actors, result.clip.fps, ghost=True)


def _print_table(rows: Sequence[FitRow], folder: Path) -> None:
    """Print a table of all clips."""
    cells = []
    for row in rows:
        numbers, result = ("-", "-", "-"), row.refused
        if row.report:
            numbers = (
                f"{row.report['duration']:.1f}",
                f"{100 * row.report['error_world']:.1f}",
                f"{100 * row.report['root_deviation']:.1f}",
            )
            time = row.report.get("falls_at")
            result = "done" if time is None else f"falls at {time:.1f} s"
        cells.append((row.name, *numbers, result))
    print_rows("", ("clip", "seconds", "world cm", "root max cm", "result"), cells)
    good = sum(row.good for row in rows)
    print(f"{good} of {len(rows)} clips are done: {folder}")
