"""Where a stopped training continues: its run folder, checkpoint and settings."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from ambulo.common.paths import resolve_path
from ambulo.common.run_folder import RunFolder
from ambulo.common.setting_flags import Settings
from ambulo.configs.errors import AmbuloError, ConfigError, RunFolderError

if TYPE_CHECKING:
    from ambulo.configs.base import Config
    from ambulo.policies.files.model_file import ModelFile


@dataclass(frozen=True)
class ResumePoint(Generic[Settings]):
    """Where a resumed training continues."""

    folder: RunFolder | None
    """The run; None for a checkpoint file outside any run folder."""
    model: ModelFile[Any] | None
    """The checkpoint; None if the run was killed before its first one."""
    config: Settings
    """Settings of the run."""


def find_resume_point(
    path: str,
    folder_kind: type[RunFolder],
    config_kind: type[Settings],
    load: Callable[[Path], ModelFile[Any]],
    config_of: Callable[[ModelFile[Any]], Settings] | None = None,
) -> ResumePoint[Settings]:
    """Return the newest whole checkpoint of a run folder, or the checkpoint file `path`.

    Args:
        path: a run folder or a checkpoint file.
        folder_kind: class of the run folders.
        config_kind: class of the settings.
        load: reads a checkpoint.
        config_of: settings of a checkpoint outside any run folder; None: such a file is
            an error.

    Raises:
        RunFolderError: neither a run folder nor a checkpoint, or a run of another command.
        ModelFileError: a damaged file was named.
    """
    target = resolve_path(path)
    if not target.exists():
        raise RunFolderError(f"{target}: no such run folder or checkpoint")
    is_run = target.is_dir()
    folder = folder_kind(target) if is_run else folder_kind.around(target)
    if is_run and (folder is None or not folder.exists):
        raise RunFolderError(f"{target}: not a run folder: no run.json and config.json")
    from ambulo.configs.trainings import kind_of_command

    own = kind_of_command(folder_kind.program)
    if folder is not None and folder.made_by and folder.training != own:
        raise RunFolderError(
            f"{folder.path}: is a run of {folder.made_by}, not of {folder_kind.program}; "
            f"continue it with: {folder.resume_command}"
        )
    checkpoint = folder.newest_checkpoint() if folder and is_run else target
    model = None if checkpoint is None else load(checkpoint)
    if model is not None and model.training is None:
        raise RunFolderError(
            f"{checkpoint}: holds no training state; resume a file of checkpoints/"
        )
    if folder is not None:
        from ambulo.configs.base import load_json

        return ResumePoint(folder, model, load_json(config_kind, folder.config))
    if config_of is None:
        raise RunFolderError(f"{target}: lies in no run folder")
    assert model is not None
    return ResumePoint(None, model, config_of(model))


def unfinished_run(
    folder_kind: type[RunFolder], config: Config, output: str, name: str | None
) -> RunFolder | None:
    """Return the newest run in `output` with the settings `config` and no final model.

    Args:
        folder_kind: class of the run folders.
        config: settings of the run.
        output: folder of runs.
        name: name of the run; None: any.
    """
    from ambulo.configs.base import load_json

    parent = resolve_path(output)
    runs = []
    for path in parent.iterdir() if parent.is_dir() else ():
        folder = folder_kind(path)
        if name not in (None, path.name) or not folder.exists:
            continue
        if folder.final_model.exists():
            continue
        try:
            if load_json(type(config), folder.config) == config:
                runs.append((folder.run.stat().st_mtime, str(path), folder))
        except (AmbuloError, OSError):
            continue  # a run of another kind
    return max(runs, key=lambda entry: entry[:2])[2] if runs else None


def check_resumable(
    old: Settings, new: Settings, allowed: Collection[str], local: str | None = None
) -> None:
    """Raise `ConfigError` if a resumed run would become a different run.

    Args:
        old: settings that the checkpoint was made with.
        new: settings of the resumed run.
        allowed: settings of the group `training` that may change.
        local: prefix of settings that depend on the machine and may change too.
    """
    before, after = old.model_dump(), new.model_dump()
    for group, values in before.items():
        for key, value in values.items() if isinstance(values, dict) else ():
            if group == "training" and key in allowed:
                continue
            if after[group][key] != value and not (local and key.startswith(local)):
                raise ConfigError(
                    f"{group}.{key} cannot change when a run is resumed ({value!r} -> "
                    f"{after[group][key]!r}); start a new run"
                )
