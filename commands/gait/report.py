"""`ambulo gait report`: pictures, tables and films of a gait network.

The same as `ambulo eval` of the network.
"""

from __future__ import annotations

import argparse
import shlex

from ambulo.commands.gait.networks import add_model_flag
from ambulo.evaluate.command import evaluate_model

MAX_GAITS = 400
"""Held-out gaits that are evaluated."""


def add_parser(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `report` to the actions of `ambulo gait`."""
    parser = actions.add_parser(
        "report",
        help="draw and measure a gait network",
        description="Curves of hip, knee and ankle by stride and cadence, errors on "
        "held-out gaits, how well their parameters are estimated, and a film of a "
        "generated gait beside its source. The same as `ambulo eval MODEL`.",
    )
    parser.add_argument(
        "--data", action="append", default=[], metavar="DIR",
        help="refined sequences that the network was trained on; its test part is used "
        "(repeatable; none: generated walks alone)",
    )  # fmt: skip
    parser.add_argument(
        "--estimator", metavar="FILE",
        help="of `ambulo gait train-estimator`: also estimate the parameters of held-out "
        "gaits",
    )  # fmt: skip
    parser.add_argument(
        "--output", default="gait_report", metavar="DIR", help="(default: gait_report)"
    )
    parser.add_argument(
        "--most", type=int, default=MAX_GAITS, metavar="N",
        help=f"gaits (default: {MAX_GAITS})",
    )  # fmt: skip
    parser.add_argument("--no-video", action="store_true", help="no films")
    add_model_flag(parser)


def run(args: argparse.Namespace) -> int:
    """Evaluate the network and write the report; 0."""
    arguments = [args.model, "--episodes", str(args.most), "--output", args.output]
    for folder in args.data:
        arguments += ["--data", folder]
    if args.estimator:
        arguments += ["--estimator", args.estimator]
    if args.no_video:
        arguments.append("--no-video")
    return evaluate_model(arguments, shlex.join(["ambulo", "eval", *arguments]))
