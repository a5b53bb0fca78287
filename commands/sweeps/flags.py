"""The commands `ambulo sweep`, `ambulo tune` and `ambulo compare`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import Annotated, ClassVar

from ambulo.common.command_line import Arg, Command, Flags
from ambulo.common.engine_flags import EngineFlags
from ambulo.common.flag_types import (
    Assignments,
    Count,
    JsonFile,
    NaturalNumber,
    ReportFile,
    positional,
)
from ambulo.configs.names import RUN


def _usage(program: str, flags: str) -> str:
    """Return the end of the help of a command whose runs are trainings."""
    return (
        f"usage: {program} KIND PRESET {flags} [FLAG ...]\n"
        "All other flags are those of `ambulo train KIND` and go to every run."
    )


def _run_name(name: str) -> str | None:
    return None if RUN.allows(name) else f"must be {RUN.expected}"


@dataclass(frozen=True, kw_only=True)
class StudyFlags(EngineFlags):
    """Flags that sweeps and searches have in common."""

    program: ClassVar[str]
    """The command."""
    name: Annotated[str | None, _run_name] = None
    """name of the folder (default: KIND_PRESET_sweep or KIND_PRESET_tune)"""
    output: Annotated[str, Arg("DIR")] = "runs"
    """folder for it"""
    score: Annotated[str | None, Arg("NAME")] = None
    """score to compare (default: that of the kind)"""
    parallel: Count | None = None
    """runs at the same time (default: 1; on a cluster one for each CPU)"""
    first_seed: NaturalNumber = 0
    """the first seed"""
    json: ReportFile | None = None
    """the report as JSON, also to FILE or to standard output"""
    rest: tuple[str, ...] = ()
    """KIND, PRESET and flags of every run."""

    @property
    def training(self) -> tuple[str, ...]:
        """The names of the training, which stand before its flags."""
        return tuple(takewhile(lambda text: not text.startswith("-"), self.rest))

    @property
    def forwarded(self) -> tuple[str, ...]:
        """The flags of the training."""
        return self.rest[len(self.training) :]


@dataclass(frozen=True, kw_only=True)
class SweepFlags(StudyFlags):
    """Train every combination of settings with several seeds, and write one report.

    Runs go side by side or in turn. The same command continues a sweep.
    """

    program = "ambulo sweep"
    seeds: Count = 5
    """seeds of each combination"""
    settings: Annotated[Assignments, Arg("KEY=A,B", ("--set",), repeated=True)] = ()
    """a setting with its values; several are combined (repeatable)"""


@dataclass(frozen=True, kw_only=True)
class TuneFlags(StudyFlags):
    """Search for good settings of a training.

    The same command continues a search; with --storage, several processes and machines
    share one.
    """

    program = "ambulo tune"
    trials: Count = 50
    """trials of the study, those of other processes included"""
    search: Annotated[tuple[str, ...], Arg("KEY=RANGE", repeated=True)] = ()
    """a setting to search: LOW:HIGH, LOW:HIGH:log or A,B,C (repeatable; default:
    configs/trainings)"""
    storage: Annotated[str | None, Arg("URL")] = None
    """data base of the study (default: an SQLite file in the folder)"""
    study: str | None = None
    """its name there (default: that of the folder)"""
    pruning: bool = True
    """stop trials whose learning curve is below the median (default: on)"""
    first_seed: int = 0
    """seed of the sampler and of the first trial"""


@dataclass(frozen=True, kw_only=True)
class CompareFlags(Flags):
    """Say whether a difference between runs is real.

    Each folder is a run, a sweep (its variants are compared), or a folder of runs that
    differ in seeds.
    """

    folders: Annotated[tuple[str, ...], positional("FOLDER")]
    """folders to compare"""
    score: Annotated[str | None, Arg("NAME")] = None
    """score to compare"""
    json: JsonFile | None = None
    """results as JSON, to FILE or to standard output"""


sweep = Command(
    SweepFlags.program,
    SweepFlags,
    "ambulo.commands.sweeps.sweep:sweep",
    _usage(SweepFlags.program, "[--seeds N] [--set KEY=A,B ...]"),
)
tune = Command(
    TuneFlags.program,
    TuneFlags,
    "ambulo.commands.sweeps.tune:tune",
    _usage(TuneFlags.program, "[--trials N] [--search KEY=RANGE ...]"),
)
compare = Command(
    "ambulo compare", CompareFlags, "ambulo.commands.sweeps.compare:compare"
)
