"""The command `ambulo train gait`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ambulo.common.command_line import Arg
from ambulo.configs.presets import GAIT_PRESETS
from ambulo.train.shared.flags import ContinuingFlags
from ambulo.train.shared.run_command import RunCommand
from ambulo.train.shared.run_folders import GaitRunFolder
from ambulo.train.shared.run_request import RunRequest

if TYPE_CHECKING:
    from ambulo.configs.gait_net import GaitNetRunConfig
    from ambulo.train.gait.training import GaitPoseBatch
    from ambulo.train.shared.supervised import SupervisedRun

Request = RunRequest["GaitNetRunConfig"]


@dataclass(frozen=True, kw_only=True)
class GaitNetFlags(ContinuingFlags):
    """Train a network from gait and body parameters to motion."""

    title = "data"
    data: Annotated[tuple[str, ...], Arg("DIR")] = ()
    """refined sequences, from `augment_gait` or `ambulo gait extract-cycles`"""


class GaitNetCommand(RunCommand["GaitNetRunConfig", "SupervisedRun[GaitPoseBatch]"]):
    """Training of networks from gait parameters to motion."""

    description = "Train a network from gait and body parameters to motion."
    examples = """\
ambulo gait extract-cycles --motions cmu --out cycles
ambulo train gait --fresh --data cycles --preset fast --split subject
ambulo train gait --fresh --data refined --loss as_documented
ambulo train gait --resume runs/gait_net_0_20260101-120000
"""
    folder = GaitRunFolder
    presets = GAIT_PRESETS
    resumable = ("patience", "save_every", "device", "output", "threads")
    kept_on_resume = ("fresh", "config", "data", "preset")
    progress = ("steps", "error", "{:.2f}", 1.0)
    flags = GaitNetFlags
    data = "data"
    setting_flags: ClassVar[Mapping[str, str]] = {
        "--epochs": "training.epochs",
        "--batch-size": "training.batch_size",
        "--learning-rate": "training.learning_rate",
        "--loss": "loss.kind",
        "--split": "dataset.split",
        "--test-subjects": "dataset.test_subjects",
        "--validation-subjects": "dataset.validation_subjects",
        "--buffer-rows": "dataset.buffer_rows",
        "--strict": "dataset.strict",
        "--threads": "training.threads",
    }

    def label(self, config: GaitNetRunConfig, args: Any) -> str:
        """Return the kind of network."""
        return "gait_net"

    def build(self, request: Request) -> SupervisedRun[GaitPoseBatch]:
        """Read the sequences and make the training."""
        from ambulo.motion.gaits.gait_sets import PARTS, open_data
        from ambulo.train.gait.training import GaitTask

        logging.getLogger("ambulo.motion.gaits.shards").setLevel("ERROR")
        config, model = request.config, request.checkpoint
        space = None if model is None else model.metadata.gait_space()
        data = open_data(config.data, config.dataset, config.training.seed, space)
        for error in data.errors:
            print(f"not used: {error}", file=sys.stderr)
        counts = ", ".join(f"{name} {data.count(name)}" for name in PARTS)
        print(
            f"sequences: {counts}; {len(data.heads)} files, {len(data.errors)} passed "
            f"over; {data.space.size} parameters of {data.space.name}",
            file=sys.stderr,
        )
        task = GaitTask(
            config, data, command=request.shared_command, statistics=model is None
        )
        return request.supervised(task)

    def report(self, request: Request, run: SupervisedRun[GaitPoseBatch]) -> None:
        """Evaluate on gaits not trained on."""
        from ambulo.train.gait.training import GaitTask
        from ambulo.train.shared.final_evaluation import finish

        assert isinstance(run.task, GaitTask)
        progress, result = run.progress, "no validation part"
        scores = progress.scores or {}
        if scores:
            result = (
                f"legs {scores['legs_deg']:.2f} deg, speed "
                f"{scores['speed_percent']:.2f} % on gaits not trained on"
            )
        rate = run.task.position.rows / max(progress.seconds, 1e-9)
        places = request.config.data if scores else ()
        data = [part for place in places for part in ("--data", place)]
        finish(request, run, f"{result}; {rate:,.0f} frames/s", *data)


COMMAND = GaitNetCommand()
