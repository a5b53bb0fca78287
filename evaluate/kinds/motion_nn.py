"""Networks that predict motion."""

from __future__ import annotations

from ambulo.evaluate.shared.kind import EvalKind, Flag

KIND = EvalKind(
    kinds=("motion_nn",),
    name="motion network",
    group="motion networks",
    run="ambulo.evaluate.motion.command:run",
    episodes=0,
    shared=frozenset({"data", "no_video"}),
    baselines="ambulo.evaluate.motion.baselines:BASELINES",
    own=(
        Flag(
            "--split-file", "--split_file", metavar="FILE",
            help="split_info.json of the training (default: that of the model's run)",
        ),
        Flag(
            "--use-test-set", "--use_test_set", action="store_true",
            help="judge by the test clips (default: the validation clips)",
        ),
        Flag(
            "--num-frames", "--num_frames", type=int, metavar="N",
            help="use the first N frames of each clip that is judged (default: all)",
        ),
        Flag(
            "--stride", type=int, default=5, metavar="N",
            help="frames between the starts of windows (default: 5)",
        ),
        Flag(
            "--horizons", metavar="MS,...",
            help="times at which errors are reported, in ms (default: 80 to 1000)",
        ),
        Flag("--device", default="cpu", metavar="NAME", help="torch device (default: cpu)"),
    ),
)  # fmt: skip
