"""Where a stopped training continues: its run folder, checkpoint and settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from ambulo.common.paths import resolve_path
from ambulo.common.run_folder import RunFolder
from ambulo.configs.errors import AmbuloError, RunFolderError

if TYPE_CHECKING:
    from ambulo.configs.base import Config
    from ambulo.policies.files.model_file import TrainingState


class Resumable(Protocol):
    """A model file that may hold the state of its training."""

    @property
    def training(self) -> TrainingState | None:
        """State of the training; None in a model without one."""
        ...


Settings = TypeVar("Settings", bound="Config")
Model = TypeVar("Model", bound=Resumable)
Folder = TypeVar("Folder", bound=RunFolder)


@dataclass(frozen=True)
class ResumePoint(Generic[Settings, Model, Folder]):
    """Where a resumed training continues."""

    folder: Folder | None
    """The run; None for a checkpoint file outside any run folder."""
    model: Model | None
    """The checkpoint; None if the run was killed before its first one."""
    config: Settings
    """Settings of the run."""


def find_resume_point(
    path: str,
    folder_kind: type[Folder],
    config_kind: type[Settings],
    load: Callable[[Path], Model],
    config_of: Callable[[Path, Model], Settings] | None = None,
) -> ResumePoint[Settings, Model, Folder]:
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
    folder: Folder | None = (
        folder_kind(target) if is_run else folder_kind.around(target)
    )
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
    return ResumePoint(None, model, config_of(target, model))


def unfinished_run(
    folder_kind: type[Folder], config: Config, output: str, name: str | None
) -> Folder | None:
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
