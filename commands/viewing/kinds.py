"""Stages of models, by their kind."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name

from ambulo.commands.viewing.flags import PlayFlags
from ambulo.common.find_model import find_model
from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.evaluate.shared.models import model_kind
from ambulo.viz.viewer.stage import Stage

STAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "locomotion": ("walkers:walker_stage", ("bodies",)),
    "gait_policy": ("walkers:walker_stage", ("bodies",)),
    "track_policy": ("walkers:tracker_stage", ("bodies", "clips")),
    "ambulo-cascade": ("walkers:cascade_stage", ("bodies",)),
    "gait_net": ("skeletons:gait_stage", ()),
    "ik_network": ("skeletons:ik_stage", ()),
    "body_tracker": ("skeletons:body_tracker_stage", ("recording",)),
    "neural_ik": ("skeletons:ik_stage", ()),
    "game": ("games:game_stage", ("godot_project",)),
    "vr_navigation": ("navigators:navigation_stage", ("levels", "level_file")),
}
"""By kind of model: module in this folder and function, and the `PlayFlags` that it uses
besides the seed."""


def check_flags(file: Path, flags: PlayFlags) -> None:
    """Refuse flags that models of this kind do not use.

    Raises:
        ConfigError: There is such a flag.
    """
    kind = model_kind(file)
    for name in dict.fromkeys(n for _, names in STAGES.values() for n in names):
        asked = getattr(flags, name) != getattr(PlayFlags, name)
        if asked and name not in STAGES[kind][1]:
            using = ", ".join(k for k, (_, names) in STAGES.items() if name in names)
            raise ConfigError(
                f"--{name.replace('_', '-')}: is for models of kind {using}, "
                f"not for {file.stem}, of kind {kind}"
            )


def open_stage(flags: PlayFlags) -> Stage:
    """Return the stage of a model: a shipped name, a file, or the folder of a run.

    Raises:
        ModelFileError: No such model, or one of a kind that has no body to show.
        ConfigError: Settings that it cannot have.
    """
    return stage_of(playable_file(flags.model), flags)


def playable_file(name: str) -> Path:
    """Return the file of a model that has a stage; raises as `open_stage`."""
    file = find_model(name)
    kind = model_kind(file)
    if kind not in STAGES:
        known = ", ".join(sorted(STAGES))
        raise ModelFileError(
            f"{file}: a model of kind {kind or 'unknown'!r} has nothing to show; these "
            f"kinds have: {known}"
        )
    return file


def stage_of(file: Path, flags: PlayFlags) -> Stage:
    """Return the stage of a model file of one of the kinds of `STAGES`."""
    make = resolve_name(f"ambulo.commands.viewing.{STAGES[model_kind(file)][0]}")
    stage: Stage = make(file, flags)
    return stage
