"""Predict the windows of judged clips with a network and baselines, and score them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.errors import MotionError
from ambulo.evaluate.motion.baselines import (
    BASELINES,
    Forecast,
    Predictor,
    fit_baselines,
    forecast_of,
)
from ambulo.evaluate.motion.metrics import GROWTH_STEPS
from ambulo.evaluate.motion.scores import (
    MethodScores,
    growth_of,
    paired_differences,
    score_method,
)
from ambulo.evaluate.motion.windows import (
    BodyPoses,
    EvalData,
    WindowPlan,
    Windows,
    causal_states,
    cut_windows,
)
from ambulo.evaluate.shared.result import POLICY
from ambulo.motion.human23 import N_POSITIONS

if TYPE_CHECKING:
    from ambulo.policies.networks.motion_nn import MotionNN

LONG_STEPS = max(GROWTH_STEPS)
"""Frames over which the growth of errors is measured."""
BATCH = 256
"""Windows that the network predicts at once."""


@dataclass(frozen=True)
class MotionEvaluation:
    """Scores of all methods, and what they were measured on."""

    scores: Mapping[str, MethodScores]
    """Scores by method."""
    errors: Mapping[str, NDArray[np.float64]]
    """Joint distance without root motion by window and horizon, [mm], by method."""
    windows: Windows
    """Windows of the errors."""
    long: Windows | None
    """Windows of their growth; None when clips are too short."""
    differences: Mapping[str, Mapping[str, tuple[float, float, float]]]
    """Joint distance of the model less that of each baseline, by horizon: mean and ends
    of its 95 % interval, [mm]. Below 0 the model is better."""
    fitted: Mapping[str, float]
    """Damping and ridge strengths."""
    predictors: Mapping[str, Predictor]
    """By method, for the frames of `long`, else of `windows`."""


def evaluate(
    data: EvalData,
    network: MotionNN | None,
    plan: WindowPlan,
    device: str = "cpu",
    baselines: Collection[str] = BASELINES,
) -> MotionEvaluation:
    """Score all methods on the same windows; growth where clips are long enough."""
    drawn: dict[str, Any] = {"limit": plan.limit, "seed": plan.seed}
    windows = cut_windows(data.judged, plan, plan.steps, **drawn)
    fitted = fit_baselines(data, plan, plan.steps, baselines)
    known = plan.history + 1
    long, growing = None, fitted
    if data.has_windows(known + LONG_STEPS):
        long = cut_windows(data.judged, plan, LONG_STEPS, **drawn)
        if plan.steps < LONG_STEPS:
            damping = fitted.fitted.get("damping")
            growing = fit_baselines(data, plan, LONG_STEPS, baselines, damping)
    methods = _with_model(fitted.predictors, baselines, network, device)
    long_methods = _with_model(growing.predictors, baselines, network, device)
    scores, errors = {}, {}
    for name, predictor in methods.items():
        growth = None if long is None else growth_of(long_methods[name], long)
        scores[name], errors[name] = score_method(predictor, windows, plan, growth)
    differences = {
        name: dict(
            zip(
                map(str, plan.horizons),
                paired_differences(errors[POLICY], errors[name], windows, plan.seed),
                strict=True,
            )
        )
        for name in errors
        if POLICY in errors and name != POLICY
    }
    return MotionEvaluation(
        scores=scores,
        errors=errors,
        windows=windows,
        long=long,
        differences=differences,
        fitted=dict(fitted.fitted),
        predictors=methods if long is None else long_methods,
    )


def network_predictor(network: MotionNN, device: str = "cpu") -> Predictor:
    """`network` as a predictor; it gets causal states of the known poses."""
    import torch

    def predict(past: BodyPoses, steps: int, fps: float) -> Forecast:
        states = causal_states(past.positions, fps)[:, -network.config.history :]
        parts = []
        with torch.inference_mode():
            for first in range(0, len(states), BATCH):
                given = torch.as_tensor(
                    states[first : first + BATCH], dtype=torch.float32
                )
                parts.append(network.rollout(given.to(device), steps).cpu().double())
        found: NDArray[np.float64] = torch.cat(parts).numpy()
        if not np.isfinite(found).all():
            raise MotionError("the model predicts numbers that are not finite")
        return forecast_of(
            past, found[..., :N_POSITIONS], fps, velocities=found[..., N_POSITIONS:]
        )

    return predict


def _with_model(
    predictors: Mapping[str, Predictor],
    baselines: Collection[str],
    network: MotionNN | None,
    device: str,
) -> dict[str, Predictor]:
    chosen = {name: predictors[name] for name in predictors if name in baselines}
    if network is None:
        return chosen
    return {POLICY: network_predictor(network, device), **chosen}
