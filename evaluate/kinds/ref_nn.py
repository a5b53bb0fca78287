"""Networks that generate gaits from parameters."""

from __future__ import annotations

from ambulo.evaluate.shared.kind import EvalKind, Flag

KIND = EvalKind(
    kinds=("ref_nn",),
    name="gait network",
    group="gait networks",
    run="ambulo.evaluate.gait.network_command:run",
    episodes=200,
    shared=frozenset({"data", "no_video"}),
    baselines={
        "scaled_walk": "the healthy walk scaled to stride, cadence and body",
        "healthy_walk": "the healthy walk of that body, whatever stride and cadence",
        "mean": "the mean gait of the training part (with --data)",
        "ridge": "ridge regression on parameters and their products (with --data)",
    },
    own=(
        Flag(
            "--estimator", metavar="FILE",
            help="gait networks: also estimate the parameters of the gaits of --data",
        ),
    ),
)  # fmt: skip
