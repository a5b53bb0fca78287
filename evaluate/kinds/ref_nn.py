"""Networks that generate gaits from parameters."""

from __future__ import annotations

import argparse

from ambulo.evaluate.shared.kind import EvalKind


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of gait networks."""
    group = parser.add_argument_group("gait networks and their estimators")
    group.add_argument(
        "--estimator", metavar="FILE",
        help="gait networks: also estimate the parameters of the gaits of --data",
    )  # fmt: skip
    group.add_argument(
        "--gait-network", metavar="MODEL",
        help="estimators: gait network that they belong to (default: gait_net)",
    )  # fmt: skip


KIND = EvalKind(
    kinds=("ref_nn",),
    name="gait network",
    group="gait networks",
    run="ambulo.evaluate.gait.network_command:run",
    episodes=200,
    flags=frozenset({"data", "estimator", "no_video"}),
    baselines={
        "scaled_walk": "the healthy walk scaled to stride, cadence and body",
        "healthy_walk": "the healthy walk of that body, whatever stride and cadence",
        "mean": "the mean gait of the training part (with --data)",
        "ridge": "ridge regression on parameters and their products (with --data)",
    },
    add_flags=add_flags,
)
