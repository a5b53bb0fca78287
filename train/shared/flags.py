"""Flags of training commands: those that all have, and how a flag sets settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, make_dataclass
from typing import Annotated, Any, Literal

from ambulo.common.command_line import Arg, arguments_of
from ambulo.common.engine_flags import WorkerFlags
from ambulo.common.flag_types import Count, LogFlags, OutFile, Port, ReportFile
from ambulo.common.setting_flags import Change, SettingFlags
from ambulo.configs.class_source import setting_source
from ambulo.configs.errors import ConfigError
from ambulo.configs.presets import PresetFolder


@dataclass(frozen=True)
class Sets:
    """Mark of a flag whose value is a setting."""

    keys: str
    """Dotted keys of the settings, separated by spaces."""
    convert: Callable[[Any], Any] = lambda value: value
    """Value of the setting for that of the flag."""


@dataclass(frozen=True, kw_only=True)
class RunFlags(SettingFlags, LogFlags):
    """Flags of every training command."""

    title = "run"
    resume: Annotated[str | None, Arg("PATH")] = None
    """continue a run folder or a checkpoint file"""
    eval: Annotated[str | None, Arg("MODEL")] = None
    """evaluate a model; no training"""
    save_config: OutFile | None = None
    """write the settings to FILE; no training"""
    print_config: bool = False
    """print the settings; no training"""
    run_name: Annotated[str | None, Arg("NAME")] = None
    """name of the run folder"""
    force: bool = False
    """replace a run of that name, and an existing file of settings"""
    episodes: Count | None = None
    """episodes, windows, poses or gaits of the final evaluation"""
    json: ReportFile | None = None
    """results as JSON, to FILE or to standard output"""
    progress: bool | None = None
    """progress bar (default: on)"""
    log_to: Literal["wandb", "mlflow", "trackio"] | None = None
    """also log to this service (each an extra of its own)"""
    log_project: Annotated[str, Arg("NAME")] = "ambulo"
    """project or experiment there"""
    watch: Annotated[Port | None, Arg("PORT", bare=8080)] = None
    """show the run in the browser, on this port of the loopback address (8080 if no port is
    named)"""

    def changes(self) -> list[Change]:
        """Return the settings that flags of their own change."""
        found: list[Change] = []
        for argument in arguments_of(type(self)):
            value = getattr(self, argument.name)
            sets = argument.mark(Sets)
            if sets is not None and value != argument.default:
                name, new = argument.spellings[0], sets.convert(value)
                found += [(key, new, name) for key in sets.keys.split()]
        return found


@dataclass(frozen=True, kw_only=True)
class ContinuingFlags(RunFlags):
    """Flags of trainings that continue an unfinished run of the same settings."""

    title = "run"
    fresh: bool = False
    """start a new run; without it the newest unfinished run on the same data and settings in
    the output folder is continued, if there is one"""


@dataclass(frozen=True, kw_only=True)
class ActingFlags(RunFlags, WorkerFlags):
    """Flags of every training of a policy."""

    title = "policy"
    init_from: Annotated[str | None, Arg("MODEL")] = None
    """begin with the policy of another model"""
    mean_action: Annotated[bool, Arg(names=("--deterministic",))] = False
    """evaluate with the mean action (default)"""
    stochastic: bool = False
    """evaluate with sampled actions"""
    schedule: Annotated[Literal["gradients"] | None, Arg(hidden=True)] = None
    """The only one; earlier versions had another."""

    def __post_init__(self) -> None:
        """Refuse both ways of acting."""
        super().__post_init__()
        if self.mean_action and self.stochastic:
            raise ConfigError("--deterministic and --stochastic exclude each other")

    @property
    def deterministic(self) -> bool:
        """Whether the final evaluation acts with the mean action."""
        return not self.stochastic


COMMON_SETTINGS = {
    "--seed": "training.seed",
    "--device": "training.device",
    "--output": "training.output",
}
"""Key of the settings for flags that every training command has."""


def with_setting_flags(
    flags: type[RunFlags], presets: PresetFolder[Any], keys: Mapping[str, str]
) -> type[RunFlags]:
    """Return `flags` with more fields, each of which sets settings.

    Their types and helps are those of the settings, read from their source.

    Args:
        flags: the other flags of a training.
        presets: presets of the settings.
        keys: dotted keys by flag; several are separated by spaces.
    """
    made = [_setting_field(presets.source, name, keys[name]) for name in keys]
    names = Arg("NAME", help=f"one of {', '.join(presets)}")
    made.append(("preset", Annotated[str | None, names], field(default=None)))
    return make_dataclass(
        flags.__name__, made, bases=(flags,), frozen=True, kw_only=True,
        namespace={"title": "settings", "__module__": flags.__module__},
    )  # fmt: skip


def _setting_field(config: str, name: str, keys: str) -> tuple[str, Any, Any]:
    """Return name, type and default of the field of a flag that sets `keys`."""
    setting = setting_source(config, keys.split(maxsplit=1)[0])
    meaning = " ".join(setting.doc.split()).partition(". ")[0]
    kinds = setting.types()
    kind: Any = str
    metavar: str | None = "VALUE"
    if "tuple" in kinds:
        kind = tuple[str, ...]
    elif "bool" in kinds:
        kind, metavar = bool, None
    elif kinds & {"int", "float"}:
        kind, metavar = (float if "float" in kinds else int), "N"
    arg = Arg(metavar, names=(name,), help=meaning.rstrip("."))
    hint = Annotated[kind | None, arg, Sets(keys)]
    return name.lstrip("-").replace("-", "_"), hint, field(default=None)
