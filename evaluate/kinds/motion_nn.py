"""Networks that predict motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ambulo.common.command_line import Arg, Flags
from ambulo.common.flag_types import Count
from ambulo.evaluate.shared.eval_kind import EvalKind


@dataclass(frozen=True, kw_only=True)
class MotionEvalFlags(Flags):
    """Flags of motion networks."""

    title = "motion networks"
    split_file: Annotated[str | None, Arg("FILE", ("--split-file", "--split_file"))] = (
        None
    )
    """split_info.json of the training (default: that of the model's run)"""
    use_test_set: Annotated[bool, Arg(names=("--use-test-set", "--use_test_set"))] = (
        False
    )
    """evaluate on the test clips (default: the validation clips)"""
    num_frames: Annotated[Count | None, Arg("N", ("--num-frames", "--num_frames"))] = (
        None
    )
    """use the first N frames of each clip that is evaluated (default: all)"""
    stride: Count = 5
    """frames between the starts of windows"""
    horizons: Annotated[str | None, Arg("MS,...")] = None
    """times at which errors are reported, in ms (default: 80 to 1000)"""
    device: Annotated[str, Arg("NAME")] = "cpu"
    """torch device"""


KIND = EvalKind(
    kinds=("motion_nn",),
    name="motion network",
    group="motion networks",
    run="ambulo.evaluate.motion.command:run",
    episodes=0,
    flags=frozenset({"data", "no_video"}),
    baselines="ambulo.evaluate.motion.baselines:BASELINES",
    own=MotionEvalFlags,
)  # fmt: skip
