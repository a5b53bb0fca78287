"""`ambulo fit` of several clips: one reference each, in a folder, by several workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.console import Console

from ambulo.commands.data.flags import Speed
from ambulo.common.character_flag import absolute_character
from ambulo.common.command_line import Arg
from ambulo.common.console import bars
from ambulo.common.engine_flags import WorkerFlags
from ambulo.common.errors import one_line
from ambulo.common.flag_types import NaturalNumber, OutFile, ending, positional
from ambulo.common.paths import resolve_path
from ambulo.common.tables import new_table, print_table
from ambulo.configs.errors import ConfigError, MotionError
from ambulo.envs.reference.clips.clip_reference import clip_reference, fitted_body
from ambulo.envs.reference.reference_file import (
    is_reference,
    load_reference,
    save_reference,
)
from ambulo.motion.formats.files import find_motions
from ambulo.motion.retargeting.source import read_source
from ambulo.train.shared.jobs import workers_of

SOME_FAILED = 1
"""Exit code when a clip is refused or its body falls."""


@dataclass(frozen=True, kw_only=True)
class FitFlags(WorkerFlags):
    """Make a clip feasible for a simulated body, as a reference file.

    It holds what the body does, with joint targets and feedback that hold it. About half a
    minute a second of clip. Exit code 1 if the body falls.
    """

    clips: Annotated[tuple[str, ...], positional("CLIP")]
    """a motion file (BVH, AMC, NPZ, DeepMimic); several, or a folder of them, become
    references in the folder --out"""
    frames: Annotated[str | None, Arg("A:B")] = None
    """its frames A up to but not B, from 0 (default: all)"""
    speed: Speed = 1.0
    """of the clip beside its file: 0.5 if the file's frame rate is twice the real one"""
    character: Annotated[str, Arg("BODY", names=("--character", "--body"))] = "human23"
    """the body: human23, myolegs, or one of your own: FILE.xml (MuJoCo), FILE.urdf,
    FILE.body.json or package:function"""
    out: Annotated[str | None, Arg("PATH")] = None
    """the reference (default: CLIP.BODY.npz, here); a folder for several clips, whose
    references are kept if they are there already"""
    force: bool = False
    """replace what is there"""
    film: Annotated[OutFile | None, ending(".mp4", ".gif")] = None
    """a film of clip and body, .mp4 or .gif"""
    bodies: NaturalNumber = 40
    """disturbed bodies in each test of the feedback; 0 for no test"""
    seed: int = 0
    """of the tests"""

    @property
    def body(self) -> str:
        """The body; a file by its absolute path."""
        return absolute_character(self.character)


@dataclass(frozen=True)
class FitJob:
    """One clip to fit."""

    source: str
    """The motion file."""
    target: str
    """The reference."""


@dataclass(frozen=True)
class FitRow:
    """What became of a clip."""

    name: str
    """Of its reference."""
    report: dict[str, float]
    """Numbers about the fit; empty if it was refused."""
    refused: str = ""
    """Why it was refused."""


def fit_many(flags: FitFlags) -> int:
    """Fit the clips in files and folders `flags.clips`; return the exit code.

    References that lie in the folder already are kept.

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
    rows = {job.target: _kept(job) for job in jobs if job not in new}
    needs = [Path(job.source) for job in new]
    with workers_of(flags, needs[:1]).sharing(folder) as workers, bars(0) as progress:
        task = progress.add_task("fitting", total=len(new))
        shared = (flags.body, flags.bodies, flags.seed)
        named = zip(new, workers.in_order(fit_one, shared, new, _name), strict=True)
        for job, row in named:
            rows[job.target] = row
            progress.advance(task)
    _print([rows[job.target] for job in jobs], folder)
    good = all(_good(row) for row in rows.values())
    return 0 if good else SOME_FAILED


def fit_one(shared: tuple[str, int, int], job: FitJob) -> FitRow:
    """Fit a clip and write its reference; a refusal becomes a row."""
    body, bodies, seed = shared
    name = Path(job.target).stem
    try:
        motion = read_source(Path(job.source)).logged()
        found = clip_reference(motion, fitted_body(body), bodies=bodies, seed=seed)
    except MotionError as error:
        return FitRow(name, {}, one_line(error))
    save_reference(job.target, found.reference)
    return FitRow(name, found.report)


def check_no_reference(path: Path) -> None:
    """Refuse a clip that is made feasible already.

    Raises:
        ConfigError: `path` is a reference.
    """
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
            found = find_motions(path)
            files += [file for file in found if not is_reference_file(str(file))]
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


def _name(job: FitJob) -> str:
    return Path(job.source).name


def _kept(job: FitJob) -> FitRow:
    return FitRow(Path(job.target).stem, load_reference(job.target).report)


def _good(row: FitRow) -> bool:
    return not row.refused and "falls_at" not in row.report


def _print(rows: Sequence[FitRow], folder: Path) -> None:
    """Print a table of all clips."""
    table = new_table()
    for heading in ("clip", "seconds", "world cm", "root max cm", "result"):
        table.add_column(heading, justify="left" if heading == "clip" else "right")
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
        table.add_row(row.name, *numbers, result)
    console = Console()
    print_table(console, table)
    good = sum(map(_good, rows))
    console.print(f"{good} of {len(rows)} clips are done: {folder}", markup=False)
