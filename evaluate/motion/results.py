"""Scores of motion predictors in the schema of all evaluations, and their targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from ambulo.evaluate.motion.evaluation import MotionEvaluation
from ambulo.evaluate.motion.scores import (
    TRUTH,
    MethodScores,
    reported_horizons,
    skate_of,
)
from ambulo.evaluate.motion.windows import Windows
from ambulo.evaluate.shared.result import (
    POLICY,
    AgentMetrics,
    Breakdown,
    MetricColumn,
    episode_rows,
    metric,
)

Scores = Mapping[str, MethodScores]

COLUMNS = (
    MetricColumn("position_mse", "pos. MSE", 5),
    MetricColumn("velocity_mse", "vel. MSE", 3),
    MetricColumn("r2", "R2", 3),
    MetricColumn("r2_mean", "R2 mean", 3),
    MetricColumn("r2_positions", "R2 pos.", 4),
    MetricColumn("single_step_mpjpe_mm", "step", 2),
    MetricColumn("mpjpe_mm", "MPJPE", 1),
    MetricColumn("mpjpe_world_mm", "in the world", 1),
    MetricColumn("npss", "NPSS", 3),
    MetricColumn("foot_skate_cm_s", "skate", 1),
    MetricColumn("growth_ratio", "growth", 1),
    MetricColumn("growth_slope", "slope", 2),
)
HEADLINE = ("mpjpe_mm", "mpjpe_world_mm", "r2", "npss", "foot_skate_cm_s")
HORIZON_COLUMNS = (
    MetricColumn("mpjpe_mm", "root motion removed", 1),
    MetricColumn("mpjpe_world_mm", "in the world", 1),
)
NOTES = (
    "First frame: squared errors (MSE), R2 and step, the joint distance. MPJPE: mean "
    "joint distance at the furthest horizon, root motion removed. NPSS: power spectrum "
    "distance of the joint rotations. Skate: horizontal speed of feet near the ground. "
    "Growth: error of the last frame over that of the first; slope: log-log, frames 10 to "
    "60, below 1 is sublinear. Intervals are over clips, not over windows.",
)
VELOCITY_BASELINES = ("constant_velocity", "constant_velocity_xyz")
SLOW_BASELINES = ("zero_velocity", "ridge", "ridge_xyz")
SHORT_MS = 80
"""Here a model must beat constant velocity."""
LATER_MS = (320, 400, 560, 1000)
"""Here it must beat standing still and ridge regression."""
MAX_POSITION_MSE = 0.001
MIN_R2 = 0.8
MAX_RATIO = 10.0


def targets_of(scores: Scores) -> list[dict[str, Any]]:
    """Return what the model of `scores` should reach; empty without a model.

    Each has `name`, `value`, its `limit`, and whether it is `met`.
    """
    if POLICY not in scores:
        return []
    model, targets = scores[POLICY], []
    curves = {name: own.curve("mpjpe_mm") for name, own in scores.items()}
    for ms, rivals in (
        (str(SHORT_MS), VELOCITY_BASELINES),
        *((str(ms), SLOW_BASELINES) for ms in LATER_MS),
    ):
        known = {n: curves[n][ms] for n in rivals if n in curves and ms in curves[n]}
        if known:
            best = min(known, key=lambda name: known[name])
            name = f"MPJPE at {ms} ms below the best of {', '.join(known)} ({best})"
            targets.append(_below(name, curves[POLICY][ms], known[best]))
    step = model.metrics
    mse = step["position_mse"].value
    targets.append(_below("single-step position MSE", mse, MAX_POSITION_MSE))
    r2 = step["r2"].value
    met = r2 is not None and r2 > MIN_R2
    targets.append(
        {"name": "single-step R^2, pooled", "value": r2, "limit": MIN_R2, "met": met}
    )
    for name, growth in (model.growth or {}).items():
        last = f"{name}: error at step {growth.steps[-1]} over step 1"
        targets.append(_below(last, growth.ratio, MAX_RATIO))
        targets.append(_below(f"{name}: log-log slope 10..60", growth.slope, 1.0))
    return targets


def _below(name: str, value: float | None, limit: float) -> dict[str, Any]:
    known = None if value is None or not np.isfinite(value) else value
    met = known is not None and known < limit
    return {"name": name, "value": known, "limit": limit, "met": met}


def agent_metrics(scores: MethodScores) -> AgentMetrics:
    """Return the metrics of one predictor, errors at the furthest horizon."""
    growth = (scores.growth or {}).get("mpjpe_mm")
    return {
        **scores.metrics,
        "growth_ratio": metric(None if growth is None else growth.ratio),
        "growth_slope": metric(None if growth is None else growth.slope),
        **list(scores.by_horizon.values())[-1],
    }


def breakdowns(scores: Scores) -> list[Breakdown]:
    """Return the errors by horizon, and by activity at a few horizons."""
    first = next(iter(scores.values()))
    shown = reported_horizons(first)
    activities: dict[str, dict[str, AgentMetrics]] = {
        activity: {
            agent: {
                f"mpjpe_mm_{ms}": metric(value, "mm")
                for ms, value in s.per_activity[activity]["mpjpe_mm"].items()
            }
            for agent, s in scores.items()
        }
        for activity in first.per_activity
    }
    return [
        Breakdown(
            "horizon",
            {ms: {n: s.by_horizon[ms] for n, s in scores.items()} for ms in first.by_horizon},
            HORIZON_COLUMNS,
            "joint distance [mm] by horizon [ms]: root motion removed / in the world",
        ),
        Breakdown(
            "activity",
            activities,
            tuple(MetricColumn(f"mpjpe_mm_{ms}", f"{ms} ms", 0) for ms in shown),
            f"joint distance [mm], root motion removed, at {' / '.join(shown)} ms",
        ),
    ]  # fmt: skip


def window_rows(evaluation: MotionEvaluation) -> list[dict[str, Any]]:
    """Return one row per predictor and window."""
    windows = evaluation.windows

    def rows(agent: str) -> Iterator[dict[str, Any]]:
        names = list(evaluation.scores[agent].by_horizon)
        errors = evaluation.errors[agent].tolist()
        for row, clip, start in zip(errors, windows.clips, windows.starts, strict=True):
            yield {
                "clip": windows.names[clip],
                "start": int(start),
                "mpjpe_mm": dict(zip(names, row, strict=True)),
            }

    return episode_rows({agent: rows(agent) for agent in evaluation.errors})


def details(evaluation: MotionEvaluation, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return curves, paired differences and targets as plain JSON; `facts` say how."""
    scores, long = evaluation.scores, evaluation.long
    return {
        **facts,
        "fitted": dict(evaluation.fitted),
        "windows": _sizes_of(evaluation.windows),
        "growth_windows": None if long is None else _sizes_of(long),
        "growth": {
            name: None
            if s.growth is None
            else {key: asdict(growth) for key, growth in s.growth.items()}
            for name, s in scores.items()
        },
        TRUTH: {
            "foot_skate_cm_s": float(
                skate_of(evaluation.windows, evaluation.windows.future.world).mean()
            )
        },
        "model_minus": {n: dict(rows) for n, rows in evaluation.differences.items()},
        "targets": targets_of(scores),
    }


def _sizes_of(windows: Windows) -> dict[str, Any]:
    """Return how much the scores rest on."""
    return {
        "windows": len(windows),
        "clips": len(windows.names),
        "known_frames": windows.past.positions.shape[1],
        "predicted_frames": windows.steps,
        "names": list(windows.names),
    }
