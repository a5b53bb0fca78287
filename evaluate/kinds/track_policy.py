"""Policies that track any of many clips."""

from __future__ import annotations

import argparse

from ambulo.evaluate.shared.kind import EvalKind


def _add_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("for policies that track clips").add_argument
    add(
        "--clips", action="append", metavar="PATH",
        help="motion file, fitted reference (`ambulo fit`) or folder of them (repeatable; "
        "default: the clip in the model file). Motion files are shown as captured",
    )  # fmt: skip
    add(
        "--frames", metavar="A:B",
        help="of the one motion file, its frames A up to but not B, from 0 (default: all)",
    )  # fmt: skip
    add(
        "--as-captured", action="store_true", default=None,
        help="show fitted clips as they were captured",
    )  # fmt: skip


KIND = EvalKind(
    kinds=("track_policy",),
    name="tracker",
    group="trackers",
    run="ambulo.evaluate.tracking.command:run",
    episodes=0,
    flags=frozenset(
        {
            "clips", "frames", "as_captured", "deterministic", "num_envs", "video", "impulses",
            "perturb",
        }
    ),
    baselines="ambulo.evaluate.tracking.command:BASELINES",
    add_flags=_add_flags,
)  # fmt: skip
