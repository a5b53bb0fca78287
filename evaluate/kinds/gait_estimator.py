"""Networks that estimate gait parameters from motion."""

from __future__ import annotations

from ambulo.evaluate.shared.kind import EvalKind

KIND = EvalKind(
    kinds=("gait_estimator",),
    name="gait estimator",
    group="gait estimators",
    run="ambulo.evaluate.gait.estimator_command:run",
    episodes=12,
    flags=frozenset({"data", "gait_network"}),
    baselines={
        "guess": "the mean of the parameters of these gaits",
    },
)
