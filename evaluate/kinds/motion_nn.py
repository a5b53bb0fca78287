"""Networks that predict motion."""

from __future__ import annotations

import argparse

from ambulo.evaluate.shared.kind import EvalKind


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of clips and windows."""
    add = parser.add_argument_group("motion networks").add_argument
    add(
        "--split-file", "--split_file", metavar="FILE",
        help="split_info.json of the training (default: that of the model's run)",
    )  # fmt: skip
    add(
        "--use-test-set", "--use_test_set", action="store_true",
        help="judge by the test clips (default: the validation clips)",
    )  # fmt: skip
    add(
        "--num-frames", "--num_frames", type=int, metavar="N",
        help="use the first N frames of each clip that is judged (default: all)",
    )  # fmt: skip
    add(
        "--stride", type=int, default=5, metavar="N",
        help="frames between the starts of windows (default: 5)",
    )  # fmt: skip
    add(
        "--horizons", metavar="MS,...",
        help="times at which errors are reported, in ms (default: 80 to 1000)",
    )  # fmt: skip
    add("--device", default="cpu", metavar="NAME", help="torch device (default: cpu)")


KIND = EvalKind(
    kinds=("motion_nn",),
    name="motion network",
    group="motion networks",
    run="ambulo.evaluate.motion.command:run",
    episodes=0,
    flags=frozenset(
        {
            "data", "split_file", "use_test_set", "num_frames", "stride", "horizons",
            "no_video", "device",
        }
    ),
    baselines="ambulo.evaluate.motion.baselines:BASELINES",
    add_flags=add_flags,
)  # fmt: skip
