"""Networks that generate gaits from parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ambulo.common.command_line import Arg, Flags
from ambulo.evaluate.shared.eval_kind import EvalKind


@dataclass(frozen=True, kw_only=True)
class GaitEvalFlags(Flags):
    """Flags of gait networks and their estimators."""

    title = "gait networks and their estimators"
    estimator: Annotated[str | None, Arg("FILE")] = None
    """gait networks: also estimate the parameters of the gaits of --data"""


KIND = EvalKind(
    kinds=("gait_net",),
    name="gait network",
    group="gait networks",
    run="ambulo.evaluate.gait.network_command:run",
    episodes=200,
    flags=frozenset({"data", "no_video"}),
    baselines={
        "scaled_walk": "the healthy walk scaled to stride, cadence and body",
        "healthy_walk": "the healthy walk of that body, whatever stride and cadence",
        "mean": "the mean gait of the training part (with --data)",
        "ridge": "ridge regression on parameters and their products (with --data)",
    },
    own=GaitEvalFlags,
)
