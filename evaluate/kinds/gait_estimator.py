"""Networks that estimate gait parameters from motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ambulo.common.command_line import Arg, Flags
from ambulo.evaluate.shared.eval_kind import EvalKind


@dataclass(frozen=True, kw_only=True)
class EstimatorEvalFlags(Flags):
    """Flags of estimators of gait parameters."""

    title = "estimators of gait parameters"
    gait_network: Annotated[str | None, Arg("MODEL")] = None
    """gait network that they belong to (default: gait_net)"""


KIND = EvalKind(
    kinds=("gait_estimator",),
    name="gait estimator",
    group="gait estimators",
    run="ambulo.evaluate.gait.estimator_command:run",
    episodes=12,
    flags=frozenset({"data"}),
    own=EstimatorEvalFlags,
    baselines={
        "guess": "the mean of the parameters of these gaits",
    },
)
