"""The command `ambulo train trackers`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ambulo.common.command_line import Arg
from ambulo.configs.presets import TRACKERS_PRESETS
from ambulo.train.shared.flags import ContinuingFlags
from ambulo.train.shared.run_command import RunCommand
from ambulo.train.shared.run_folders import TrackerRunFolder
from ambulo.train.shared.run_request import RunRequest

if TYPE_CHECKING:
    from ambulo.configs.body_tracker import TrackerRunConfig
    from ambulo.train.shared.supervised import SupervisedRun
    from ambulo.train.trackers.streams import TrackerPiece

Request = RunRequest["TrackerRunConfig"]


@dataclass(frozen=True, kw_only=True)
class BodyTrackerFlags(ContinuingFlags):
    """Train a network from headset, controllers and trackers to a body."""

    title = "data and network"
    data: Annotated[str | None, Arg("FILE")] = None
    """sequences, from `ambulo ik sequences`"""
    init_from: Annotated[str | None, Arg("PATH", names=("--init", "--init-from"))] = (
        None
    )
    """begin with the weights of a run or a model file of the same sizes"""


class BodyTrackerCommand(RunCommand["TrackerRunConfig", "SupervisedRun[TrackerPiece]"]):
    """Training of networks from trackers to a whole body."""

    description = "Train a network from headset, controllers and trackers to a body."
    examples = """\
ambulo ik sequences --motions cmu --out sequences.npz
ambulo train trackers --fresh --data sequences.npz
ambulo train trackers --resume runs/trackers_0_20260101-120000
"""
    folder = TrackerRunFolder
    presets = TRACKERS_PRESETS
    resumable = ("epochs", "patience", "device", "output", "threads")
    kept_on_resume = ("fresh", "preset", "config", "data", "init_from")
    progress = ("steps", "joint error", "{:.2f} cm", 1.0)
    flags = BodyTrackerFlags
    data = "data"
    setting_flags: ClassVar[Mapping[str, str]] = {
        "--epochs": "training.epochs",
        "--threads": "training.threads",
        "--people": "dataset.people",
        "--test-subjects": "dataset.test_subjects",
        "--validation-subjects": "dataset.validation_subjects",
    }

    def label(self, config: TrackerRunConfig, args: Any) -> str:
        """Return the kind of network."""
        return "trackers"

    def build(self, request: Request) -> SupervisedRun[TrackerPiece]:
        """Read the sequences and make the training."""
        from ambulo.ik.data.sequences import load_sequences
        from ambulo.train.trackers.splits import split_people
        from ambulo.train.trackers.training import TrackerTask

        config = request.config
        data = load_sequences(config.data)
        people = split_people(data, config.dataset)
        parts = {name: data.of_subjects(who) for name, who in people.items()}
        minutes = {
            name: round(len(part.root) / part.header.fps / 60.0, 1)
            for name, part in parts.items()
        }
        for name, who in people.items():
            print(
                f"{name}: {len(who)} people, {minutes[name]:g} minutes: {', '.join(who)}",
                file=sys.stderr,
            )
        task = TrackerTask(
            config,
            parts["train"],
            parts["validation"],
            command=request.shared_command,
            extra={"people": people, "minutes": minutes},
        )
        return request.supervised(task)

    def report(self, request: Request, run: SupervisedRun[TrackerPiece]) -> None:
        """Evaluate on generated walks: the data have no clips to compare with."""
        from ambulo.train.shared.final_evaluation import finish

        best = run.progress.best
        result = f"joint error {best:.2f} cm on people not trained on"
        finish(request, run, result)


COMMAND = BodyTrackerCommand()
