"""Scores of recorded locomotion: how well it walks, and how."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from ambulo.configs.arrays import Floats
from ambulo.evaluate.locomotion.gait_summary import GaitSummary, gait_of
from ambulo.evaluate.locomotion.recording import Recording
from ambulo.evaluate.shared.result import (
    AgentMetrics,
    mean_metric,
    metric,
    rate_metric,
    unit_of,
)

GRAVITY = 9.81
"""Of the models, [m/s^2]; tells mass from weight."""
WINDOW = 1.0
"""Speeds and headings are means over about a stride, [s]: they swing within each."""


UNITS = {
    "speed": "m/s",
    "speed_error": "m/s",
    "heading_error": "deg",
    "turn_error": "deg/s",
    "metabolic_cost_of_transport": "J/(kg m)",
    "foot_skate": "m/s",
    "torque_residual": "N m",
    "torque_residual_best": "N m",
    "torque_rms": "N m",
}
"""Units of metrics whose names do not end in them."""


@dataclass(frozen=True, eq=False)
class LocomotionScores:
    """Scores of one agent."""

    metrics: AgentMetrics
    """Means over the steps on their feet; None where they are not defined.

    Joint errors are against the reference at the same phase: angles of hips, knees and
    ankles, and places of all joints seen from the root. Errors of speed, heading and turning
    are of means over `WINDOW` against the command. Costs of transport are absolute joint
    work per weight and distance, and energy of the muscles. Torques are those that acted
    minus those of stable PD, beside the least-squares optimum of the muscles (`_best`).
    """
    joints: dict[str, tuple[float, float]]
    """Errors of each joint: angle, [deg], and position, [cm]."""
    gait: GaitSummary | None
    """How it walks; None without whole strides."""


def score(recording: Recording, seed: int = 0) -> LocomotionScores:
    """The scores of `recording`; `seed` is that of the bootstrap."""
    r, on = recording, recording.standing
    steps = on.sum(axis=0)
    returns = r.returns
    speed, turn, yaw = (
        _window(values, r) for values in (r.velocity[..., 0], r.turn, r.yaw)
    )
    wanted = _window(r.wanted[..., 0], r)
    wanted_turn = _window(r.wanted[..., 1], r)
    legs = list(r.legs)
    gait = gait_of(r)
    moved = float(r.moved[on].sum())
    errors = [
        (
            _deg(_mean(r.joint_error[..., j], on)),
            100.0 * _mean(r.place_error[..., j], on),
        )
        for j in range(len(r.joints))
    ]
    work = float(r.power[on].sum()) * r.dt
    energy = float(r.metabolic[on].sum()) * r.dt * GRAVITY
    values: dict[str, float] = {
        "survival_s": float(steps.mean() * r.dt),
        "falls": int(r.fell.sum()),
        "faults": int((r.fault > 0).sum()),
        "joint_error_deg": _deg(_mean(r.joint_error[..., legs].mean(axis=-1), on)),
        "joint_error_cm": 100.0 * _mean(r.place_error.mean(axis=-1), on),
        "root_error_cm": 100.0 * _mean(r.root_error, on),
        "speed": _mean(r.velocity[..., 0], on),
        "speed_error": _mean(np.abs(speed - wanted), on),
        "heading_error": _deg(_mean(np.abs(yaw), on)),
        "turn_error": _deg(_mean(np.abs(turn - wanted_turn), on)),
        "cost_of_transport": _ratio(work, r.weight * moved),
        "metabolic_cost_of_transport": _ratio(energy, r.weight * moved),
        "foot_skate": _ratio(r.slip[on].sum(), r.slip_parts[on].sum()),
        "symmetry": math.nan if gait is None else gait.symmetry,
        "torque_residual": math.sqrt(_mean(r.torque_error, on) / r.torques),
        "torque_residual_best": math.sqrt(_mean(r.torque_best, on) / r.torques),
        "torque_rms": math.sqrt(_mean(r.torque, on) / r.torques),
        "action_rms": math.sqrt(_mean(r.action, on)),
    }
    metrics = {
        "survival_rate": rate_metric(int(r.survived.sum()), r.episodes),
        "success_rate": rate_metric(int(r.succeeded.sum()), r.episodes),
        "timeout_rate": metric(float((r.survived & ~r.succeeded).mean())),
        **{name: metric(v, unit_of(name, UNITS)) for name, v in values.items()},
        "return_mean": mean_metric(returns, seed),
    }
    joints = dict(zip(r.joints, errors, strict=True))
    return LocomotionScores(metrics, joints, gait)


def _window(values: Floats, r: Recording) -> Floats:
    """Running means over `WINDOW` that see nothing after the end of an episode."""
    size = max(1, round(WINDOW / r.dt))
    out = np.array(values, dtype=np.float64)
    for body in range(r.episodes):
        last = int(r.standing[:, body].sum())
        if last:
            out[:last, body] = uniform_filter1d(out[:last, body], size, mode="nearest")
    return out


def _mean(values: NDArray[Any], on: NDArray[np.bool_]) -> float:
    """Mean over the steps on their feet; NaN where there is none."""
    return float(values[on].mean(dtype=np.float64)) if on.any() else math.nan


def _ratio(above: float, below: float) -> float:
    return float(above) / float(below) if below else math.nan


def _deg(angle: float) -> float:
    return float(np.rad2deg(angle))
