"""Body trackers: head, hands and more to a whole body, frame by frame."""

from __future__ import annotations

from ambulo.evaluate.shared.kind import EvalKind, Flag

KIND = EvalKind(
    kinds=("body_tracker",),
    name="body tracker",
    group="body trackers",
    run="ambulo.evaluate.trackers.command:run",
    episodes=0,
    shared=frozenset({"data", "clips"}),
    baselines="ambulo.evaluate.trackers.baselines:BASELINES",
    own=(
        Flag(
            "--points", type=int, choices=(3, 4, 5, 6),
            help="trackers: head and hands (3, default), and hips (4), feet (5) or both (6)",
        ),
        Flag("--rate", type=float, metavar="HZ", help="samples per second (default: 60)"),
        Flag(
            "--noise-mm", type=float, metavar="MM",
            help="standard deviation of the trackers' positions along each axis (default: 0); "
            "their rotations shake by 0.17 deg for each mm",
        ),
        Flag(
            "--uncalibrated", action="store_true", default=None,
            help="the player's proportions are not known: the tracker finds them",
        ),
        Flag(
            "--dropout", action="store_true", default=None,
            help="also lose one hand for a second every four seconds, and say what it costs",
        ),
    ),
)  # fmt: skip
