"""Policies that track any of many clips."""

from __future__ import annotations

from ambulo.evaluate.shared.kind import EvalKind, Flag

KIND = EvalKind(
    kinds=("track_policy",),
    name="tracker",
    group="trackers",
    run="ambulo.evaluate.tracking.command:run",
    episodes=0,
    shared=frozenset({"deterministic", "num_envs", "video", "impulses", "perturb"}),
    baselines="ambulo.evaluate.tracking.command:BASELINES",
    own=(
        Flag(
            "--clips", action="append", metavar="PATH",
            help="motion file, fitted reference (`ambulo fit`) or folder of them (repeatable; "
            "default: the clip in the model file). Motion files are shown as captured",
        ),
        Flag(
            "--frames", metavar="A:B",
            help="of the one motion file, its frames A up to but not B, from 0 (default: all)",
        ),
        Flag(
            "--as-captured", action="store_true", default=None,
            help="show fitted clips as they were captured",
        ),
    ),
)  # fmt: skip
