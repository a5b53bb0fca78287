"""The command `ambulo train ik`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from ambulo.common.command_line import Arg
from ambulo.configs.presets import IK_PRESETS
from ambulo.train.shared.flags import ContinuingFlags, Sets
from ambulo.train.shared.run_command import RunCommand
from ambulo.train.shared.run_folders import IKRunFolder
from ambulo.train.shared.run_request import RunRequest

if TYPE_CHECKING:
    from ambulo.configs.neural_ik import IKRunConfig
    from ambulo.train.ik.poses import PoseBatch
    from ambulo.train.shared.supervised import SupervisedRun

KINDS = {"own": "own", "published": "published", "compact": "published_compact"}
"""Value of `network.kind` for each value of `--network`."""
Request = RunRequest["IKRunConfig"]


@dataclass(frozen=True, kw_only=True)
class NeuralIKFlags(ContinuingFlags):
    """Train a network from targets of effectors to full-body poses."""

    title = "data and network"
    data: Annotated[str | None, Arg("FILE")] = None
    """poses, from `ambulo ik extract`"""
    init_from: Annotated[str | None, Arg("PATH", names=("--init", "--init-from"))] = (
        None
    )
    """begin with the weights of a run or a checkpoint of the same network"""
    network: Annotated[
        Literal["own", "published", "compact"] | None, Sets("network.kind", KINDS.get)
    ] = None
    """kind of network (default: own)"""


class NeuralIKCommand(RunCommand["IKRunConfig", "SupervisedRun[PoseBatch]"]):
    """Training of networks from targets of effectors to poses."""

    description = "Train a network from targets of effectors to full-body poses."
    examples = """\
ambulo ik extract --motions cmu --out training_data.npz
ambulo train ik --fresh --data training_data.npz
ambulo train ik --fresh --data training_data.npz --network published --epochs 50
ambulo train ik --resume runs/own_0_20260101-120000
"""
    folder = IKRunFolder
    presets = IK_PRESETS
    resumable = (
        "epochs", "vary_until", "patience", "save_every", "device", "output", "threads",
    )  # fmt: skip
    kept_on_resume = (
        "fresh", "preset", "config", "data", "network", "init_from",
    )  # fmt: skip
    progress = ("steps", "joint error", "{:.2f} cm", 1.0)
    flags = NeuralIKFlags
    data = "data"
    setting_flags: ClassVar[Mapping[str, str]] = {
        "--epochs": "training.epochs",
        "--batch-size": "training.batch_size",
        "--threads": "training.threads",
        "--test-subjects": "dataset.test_subjects",
        "--validation-subjects": "dataset.validation_subjects",
    }

    def label(self, config: IKRunConfig, args: Any) -> str:
        """Return the kind of network."""
        return config.network.kind

    def build(self, request: Request) -> SupervisedRun[PoseBatch]:
        """Read the poses and make the training."""
        from ambulo.ik.data.pose_data import check_poses, load_poses
        from ambulo.ik.data.pose_splits import parts_are_people, split_poses
        from ambulo.ik.rig import load_rig
        from ambulo.train.ik.checks import described, judge, kinematics_errors
        from ambulo.train.ik.poses import Poses
        from ambulo.train.ik.training import IKTask

        config = request.config
        data = load_poses(config.data)
        rig = load_rig(data.header.rig)
        parts = split_poses(data, config)
        unique = check_poses(
            parts["train"],
            rig,
            config.dataset.least,
            f"{config.data}: in the part for training (of {len(data)}; the others validate "
            "and test): ",
        )
        people = {name: sorted(set(p.subjects.tolist())) for name, p in parts.items()}
        whole = parts_are_people(data, config)
        by = "people" if whole else "recordings, as there are fewer than three people"
        clips = {name: part.clip_names() for name, part in parts.items()}
        counts = ", ".join(
            f"{name} {len(parts[name])} poses of {', '.join(names)}"
            for name, names in (people if whole else clips).items()
        )
        print(
            f"split by {by}: {counts}; {unique} unique to learn from", file=sys.stderr
        )
        extra: dict[str, object] = {"people": people}
        if not whole:
            extra["clips"] = clips
        poses = Poses(parts["train"], rig, config, mirror=config.dataset.mirror)
        validation = Poses(parts["validation"], rig, config, mirror=False)
        sizes = {name: len(part) for name, part in parts.items()}
        task = IKTask(
            config,
            poses,
            validation,
            command=request.shared_command,
            extra=extra | {"poses": sizes},
        )
        run = request.supervised(task)
        errors = kinematics_errors(poses, task.pose_loss)
        print(described(errors), file=sys.stderr)
        warning = judge(errors)
        if warning:
            print(f"warning: {warning}", file=sys.stderr)
        if request.initial is not None:  # a run killed soon resumes with these weights
            run.save_checkpoint()
        return run

    def report(self, request: Request, run: SupervisedRun[PoseBatch]) -> None:
        """Evaluate on the poses of the test part, or where it is empty on generated ones."""
        from ambulo.ik.solver.network import load_ik_network
        from ambulo.train.shared.final_evaluation import finish

        best = run.progress.best
        result = f"joint error {best:.2f} cm on poses not trained on"
        if request.config.network.kind != "own":
            # Their layout has all six targets always; the evaluation leaves some out.
            print(f"{result}\nbest model: {request.folder.best_model}")
            return
        extra = load_ik_network(request.folder.best_model).header.extra
        tested = (extra.get("clips") or extra["people"])["test"]
        finish(
            request, run, result, *(["--data", request.config.data] if tested else [])
        )


COMMAND = NeuralIKCommand()
