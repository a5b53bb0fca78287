"""Networks that estimate gait parameters from motion."""

from __future__ import annotations

from ambulo.evaluate.shared.kind import EvalKind, Flag

KIND = EvalKind(
    kinds=("gait_estimator",),
    name="gait estimator",
    group="gait estimators",
    run="ambulo.evaluate.gait.estimator_command:run",
    episodes=12,
    shared=frozenset({"data"}),
    baselines={
        "guess": "the mean of the parameters of these gaits",
    },
    own=(
        Flag(
            "--gait-network", metavar="MODEL",
            help="estimators: gait network that they belong to (default: gait_net)",
        ),
    ),
)  # fmt: skip
