"""The request of a training command to its training, and the run that it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ambulo.common.run_folder import RunFolder
from ambulo.common.setting_flags import Settings
from ambulo.common.signals import StopRequest

if TYPE_CHECKING:
    from ambulo.common.console import Display
    from ambulo.policies.files.model_file import ModelFile
    from ambulo.train.shared.supervised import SupervisedRun, SupervisedTask

Batch = TypeVar("Batch")


class Run(Protocol):
    """A training that is ready to begin."""

    @property
    def total_steps(self) -> int:
        """Steps of the whole training, for the progress display."""
        ...

    def train(self, display: Display, stop: StopRequest) -> None:
        """Train to the end and save as it goes; raise `Interrupted` on a stop."""
        ...


BuiltRun = TypeVar("BuiltRun", bound=Run)


@dataclass(frozen=True)
class RunRequest(Generic[Settings]):
    """The training that a command line asks for."""

    args: Any
    """All flags."""
    arguments: Sequence[str]
    """The command line without the program."""
    config: Settings
    """All settings."""
    folder: RunFolder
    """Where results go; it exists."""
    checkpoint: ModelFile[Any] | None
    """Checkpoint to continue from; None: a new training."""
    initial: ModelFile[Any] | None
    """The model whose weights a new training begins with, or None."""
    shared_command: str
    """The command line for model files, without paths of this machine."""

    def supervised(self, task: SupervisedTask[Batch]) -> SupervisedRun[Batch]:
        """Return the run of a task: new, or from the checkpoint or model that was named."""
        from ambulo.train.shared.supervised import SupervisedRun

        return SupervisedRun(task, self.folder, self.checkpoint, self.initial)
