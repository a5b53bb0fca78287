"""Scores of motion predictors on windows of test clips: one table row for each method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.evaluate.motion.baselines import Forecast, Predictor
from ambulo.evaluate.motion.metrics import (
    GROWTH_STEPS,
    euler_errors,
    foot_skate_cm_s,
    growth_slope,
    horizon_frames,
    joint_angle_deg,
    joint_distance_mm,
    npss_parts,
    r_squared,
    spectrum_features,
)
from ambulo.evaluate.motion.windows import FOOT_ROWS, Heading, WindowPlan, Windows, body
from ambulo.evaluate.shared.intervals import clip_interval, clip_intervals
from ambulo.evaluate.shared.result import AgentMetrics, Metric, metric, unit_of
from ambulo.motion import human23

ACTIVITY_MS = (80, 400, 1000)
"""Horizons at which activities are reported."""
FIRST_FRAME = (
    "position_mse", "velocity_mse", "r2", "r2_mean", "r2_positions", "r2_velocities",
    "single_step_mpjpe_mm",
)  # fmt: skip
"""Errors of the first predicted frame, ground frame: mean squared ones of the 56 numbers of
a pose, [rad^2] and [m^2] mixed, and of their velocities; R^2 pooled over all 112 numbers, mean
of that of each number, and of the 56 each; distance of joints, root motion removed."""
BY_HORIZON = (
    "mpjpe_mm", "mpjpe_world_mm", "joint_angle_deg", "euler_rad", "euler_mae_deg",
)  # fmt: skip
"""Mean joint distance without and with the root's motion; without the root: mean angle
between joint rotations, norm and mean size of all Euler angle differences."""
TRUTH = "truth"
"""Name of the real motion where it stands beside predictions."""


@dataclass(frozen=True)
class Growth:
    """How the error grows with the number of predicted frames."""

    steps: list[int]
    """Frames after the last known one that are reported."""
    ratio: float
    """Error at the last of `steps` over that at the first."""
    slope: float
    """Slope of log error over log step from 10 to 60; below 1 is sublinear."""
    values: list[float]
    """Errors at `steps`."""
    curve: list[float]
    """Errors at every frame."""


@dataclass(frozen=True)
class MethodScores:
    """Scores of one method; intervals are 95 % bootstrap intervals over clips.

    What needs joint rotations is None for methods that predict points only.
    """

    metrics: AgentMetrics
    """Those of `FIRST_FRAME`, `npss`, the power spectrum distance of the joint rotations
    over the window, and `foot_skate_cm_s`, the horizontal foot speed near the ground."""
    by_horizon: dict[str, AgentMetrics]
    """By horizon in ms, those of `BY_HORIZON`."""
    growth: dict[str, Growth] | None
    """`mpjpe_mm`, `mpjpe_world_mm`, `position_mse` and its root `position_rmse`; None
    when no clip is long enough."""
    per_activity: dict[str, dict[str, Any]]
    """`windows`, `clips` and `mpjpe_mm` by horizon, of each activity."""

    def curve(self, name: str) -> dict[str, float]:
        """Return a metric that every method has, by horizon."""
        return {ms: metrics[name].number for ms, metrics in self.by_horizon.items()}


def score_method(
    predictor: Predictor,
    windows: Windows,
    plan: WindowPlan,
    growth: dict[str, Growth] | None = None,
) -> tuple[MethodScores, Floats]:
    """The scores of `predictor`, and its joint distances at each horizon.

    Args:
        predictor: The method.
        windows: With as many later frames as the furthest horizon has.
        plan: Horizons and seed of the bootstrap.
        growth: From `growth_of`, on longer windows.

    Returns:
        The scores, and distances without the root's motion, [mm], shape (B, horizons).
    """
    found = predictor(windows.past, windows.steps, windows.fps)
    local = joint_distance_mm(found.local, windows.future.local)
    world = joint_distance_mm(found.world, windows.future.world)
    frames = [k - 1 for k in horizon_frames(plan.horizons, windows.fps)]
    names = [str(ms) for ms in plan.horizons]
    skate = skate_of(windows, found.world)
    over_clips = partial(clip_intervals, clips=windows.clips, seed=plan.seed)
    errors = {"mpjpe_mm": local[:, frames], "mpjpe_world_mm": world[:, frames]}
    ends = {name: over_clips(values).tolist() for name, values in errors.items()}
    errors |= _angle_errors(found, windows, frames)
    scores = MethodScores(
        metrics={
            **_first_frame(found, windows, float(local[:, 0].mean())),
            "npss": _spectrum_score(found, windows, plan.seed),
            "foot_skate_cm_s": metric(
                float(skate.mean()), "cm/s", over_clips(skate)[0].tolist()
            ),
        },
        by_horizon={
            ms: {
                name: metric(
                    float(errors[name][:, k].mean()) if name in errors else None,
                    unit_of(name),
                    ends[name][k] if name in ends else None,
                )
                for name in BY_HORIZON
            }
            for k, ms in enumerate(names)
        },
        growth=growth,
        per_activity=_per_activity(local[:, frames], names, windows),
    )
    return scores, local[:, frames]


def growth_of(predictor: Predictor, windows: Windows) -> dict[str, Growth]:
    """Growth of each error over the frames of `windows`."""
    found = predictor(windows.past, windows.steps, windows.fps)
    curves = {
        "mpjpe_mm": joint_distance_mm(found.local, windows.future.local).mean(axis=0),
        "mpjpe_world_mm": joint_distance_mm(found.world, windows.future.world).mean(0),
    }
    states = states_inside(found, windows)
    if states is not None:
        squares = ((states[0] - states[2]) ** 2).mean(axis=(0, 2))
        curves["position_mse"] = squares
        curves["position_rmse"] = np.sqrt(squares)
    steps = [k for k in GROWTH_STEPS if k <= windows.steps]
    return {name: _growth(curve, steps) for name, curve in curves.items()}


def _growth(curve: Floats, steps: list[int]) -> Growth:
    values = [float(curve[k - 1]) for k in steps]
    ratio = values[-1] / values[0] if values[0] > 0.0 else float("nan")
    return Growth(steps, ratio, growth_slope(curve), values, curve.tolist())


def paired_differences(
    first: Floats, second: Floats, windows: Windows, seed: int
) -> list[tuple[float, float, float]]:
    """Mean of `first` - `second` (B, K) and its 95 % interval, of each column."""
    gap = first - second
    rows = clip_intervals(gap, windows.clips, seed)
    return [
        (float(mean), float(low), float(high))
        for mean, (low, high) in zip(gap.mean(axis=0), rows, strict=True)
    ]


def skate_of(windows: Windows, world: Floats) -> Floats:
    """Foot skate (B,), [cm/s], of predicted or true major joints (B, F, 17, 3)."""
    joined = np.concatenate([windows.past.world[:, -1:], world], axis=1)
    return foot_skate_cm_s(joined[:, :, FOOT_ROWS], windows.ground, windows.fps)


def states_inside(
    found: Forecast, windows: Windows
) -> tuple[Floats, Floats, Floats, Floats] | None:
    """Predicted and true positions and velocities (B, F, 56) each, in the ground frame.

    Of the two rotation vectors that mean one rotation the one nearer to the truth is
    taken. None without poses.
    """
    if found.poses is None or found.velocities is None:
        return None
    last = windows.past.positions[:, -1]
    heading = Heading.of(last)
    true = heading.inside(windows.future.positions)
    joined = np.concatenate([last[:, None], windows.future.positions], axis=1)
    true_velocities = np.asarray(human23.velocities(joined, windows.fps))[:, 1:]
    positions = heading.inside(found.poses.positions)
    for at in rotation_slots():
        part = slice(at, at + 3)
        positions[..., part] = _nearer_branch(positions[..., part], true[..., part])
    return (
        positions,
        heading.velocities_inside(found.velocities),
        true,
        heading.velocities_inside(true_velocities),
    )


def rotation_slots() -> list[int]:
    """Where rotation vectors start in the 56 numbers of a pose."""
    slices = human23.position_slices().values()
    return [part.start for part in slices if part.stop - part.start == 3]


def _nearer_branch(vectors: Floats, wanted: Floats) -> Floats:
    """Rotation vectors (..., 3) or equal ones a turn away, the nearer ones to `wanted`."""
    angle = np.linalg.norm(vectors, axis=-1, keepdims=True)
    away = 2.0 * np.pi / np.maximum(angle, 1e-9)
    twin = vectors * np.where(angle > 1e-9, 1.0 - away, 1.0)
    near = np.linalg.norm(vectors - wanted, axis=-1, keepdims=True)
    far = np.linalg.norm(twin - wanted, axis=-1, keepdims=True)
    return np.where(far < near, twin, vectors)


def _first_frame(
    found: Forecast, windows: Windows, mpjpe_mm: float
) -> dict[str, Metric]:
    """Errors of the first predicted frame, whose joint distance is `mpjpe_mm`."""
    values: dict[str, float | None] = dict.fromkeys(FIRST_FRAME)
    values["single_step_mpjpe_mm"] = mpjpe_mm
    states = states_inside(found, windows)
    if states is not None:
        positions, velocities, true, true_velocities = (part[:, 0] for part in states)
        both = np.concatenate([positions, velocities], axis=-1)
        true_both = np.concatenate([true, true_velocities], axis=-1)
        values["r2"], values["r2_mean"] = r_squared(both, true_both)
        values |= {
            "position_mse": float(((positions - true) ** 2).mean()),
            "velocity_mse": float(((velocities - true_velocities) ** 2).mean()),
            "r2_positions": r_squared(positions, true)[0],
            "r2_velocities": r_squared(velocities, true_velocities)[0],
        }
    return {name: metric(value, unit_of(name)) for name, value in values.items()}


def _angle_errors(
    found: Forecast, windows: Windows, frames: Sequence[int]
) -> dict[str, Floats]:
    """Errors of rotations at the horizons, each (B, K); none without poses."""
    if found.poses is None:
        return {}
    predicted = found.poses.rotations[:, frames, 1:]
    true = windows.future.rotations[:, frames, 1:]
    norm, mean = euler_errors(predicted, true, body().orders[1:])
    angle = joint_angle_deg(predicted, true)
    return {"joint_angle_deg": angle, "euler_rad": norm, "euler_mae_deg": mean}


def _spectrum_score(found: Forecast, windows: Windows, seed: int) -> Metric:
    """NPSS with its interval; not defined without poses."""
    if found.poses is None:
        return metric(None)
    parts, weights = npss_parts(
        spectrum_features(found.poses.rotations[:, :, 1:]),
        spectrum_features(windows.future.rotations[:, :, 1:]),
    )
    value = float(parts.sum() / max(weights.sum(), 1e-12))
    return metric(value, ci=clip_interval(parts, windows.clips, seed, weights))


def _per_activity(
    values: Floats, names: Sequence[str], windows: Windows
) -> dict[str, dict[str, Any]]:
    """Mean errors (B, K) of the windows of each activity, by name."""
    activities = windows.activity_of_windows()
    found = {}
    for activity in sorted(set(activities.tolist())):
        rows = activities == activity
        means = values[rows].mean(axis=0).tolist()
        found[activity] = {
            "windows": int(rows.sum()),
            "clips": len(np.unique(windows.clips[rows])),
            "mpjpe_mm": dict(zip(names, means, strict=True)),
        }
    return found


def reported_horizons(scores: MethodScores) -> list[str]:
    """Return the few horizons at which activities are reported, [ms]."""
    chosen = [ms for ms in scores.by_horizon if int(ms) in ACTIVITY_MS]
    return chosen or list(scores.by_horizon)[-1:]
