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
from ambulo.evaluate.shared.intervals import bootstrap_interval, wilson_interval

GRAVITY = 9.81
"""Of the models, [m/s^2]; tells mass from weight."""
WINDOW = 1.0
"""Speeds and headings are means over about a stride, [s]: they swing within each."""


@dataclass(frozen=True, eq=False)
class LocomotionScores:
    """Scores of one agent; NaN where they are not defined."""

    episodes: int
    """Episodes played."""
    survival_rate: float
    """Share on their feet to the end."""
    survival_ci95: tuple[float, float]
    """95 % Wilson interval of it."""
    success_rate: float
    """Share with the task done at the end (`succeeded`)."""
    success_ci95: tuple[float, float]
    """95 % Wilson interval of it."""
    timeout_rate: float
    """Share over (`timed_out`) with the task not done."""
    survival_s: float
    """Mean time on their feet, [s]."""
    falls: int
    """Episodes that ended by a fall."""
    faults: int
    """Episodes that ended by a fault of the simulation."""
    joint_error_deg: float
    """Mean angle between hips, knees and ankles and their reference, [deg]."""
    joint_error_cm: float
    """Mean distance of all joints from their reference, seen from the root, [cm]."""
    root_error_cm: float
    """Mean distance of the root from its reference, drift included, [cm]."""
    speed: float
    """Mean forward speed, [m/s]."""
    speed_error: float
    """Mean difference of the speed over a stride from the commanded one, [m/s]."""
    heading_error: float
    """Mean size of the heading error over a stride, [deg]."""
    turn_error: float
    """Mean difference of the turning rate over a stride from the commanded one, [deg/s]."""
    cost_of_transport: float
    """Absolute work of the joints per weight and distance."""
    metabolic_cost_of_transport: float
    """Metabolic energy of the muscles for a kilogram and a metre, [J / (kg m)]."""
    foot_skate: float
    """Mean speed of standing soles, [m/s]."""
    symmetry: float
    """1 for two sides alike; see `GaitSummary.symmetry`."""
    torque_residual: float
    """Root mean square of the torque that acted minus that of stable PD, [N m]."""
    torque_residual_best: float
    """The same of the least-squares optimum of the muscles at each state, [N m]."""
    torque_rms: float
    """Root mean square of the torque of stable PD, [N m]."""
    action_rms: float
    """Root mean square of the actions, each in [-1, 1]."""
    return_mean: float
    """Mean return."""
    return_ci95: tuple[float, float]
    """95 % bootstrap interval of it."""
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
    return LocomotionScores(
        episodes=r.episodes,
        survival_rate=float(r.survived.mean()),
        survival_ci95=wilson_interval(int(r.survived.sum()), r.episodes),
        success_rate=float(r.succeeded.mean()),
        success_ci95=wilson_interval(int(r.succeeded.sum()), r.episodes),
        timeout_rate=float((r.survived & ~r.succeeded).mean()),
        survival_s=float(steps.mean() * r.dt),
        falls=int(r.fell.sum()),
        faults=int((r.fault > 0).sum()),
        joint_error_deg=_deg(_mean(r.joint_error[..., legs].mean(axis=-1), on)),
        joint_error_cm=100.0 * _mean(r.place_error.mean(axis=-1), on),
        root_error_cm=100.0 * _mean(r.root_error, on),
        speed=_mean(r.velocity[..., 0], on),
        speed_error=_mean(np.abs(speed - wanted), on),
        heading_error=_deg(_mean(np.abs(yaw), on)),
        turn_error=_deg(_mean(np.abs(turn - wanted_turn), on)),
        cost_of_transport=(
            float(r.power[on].sum()) * r.dt / (r.weight * moved) if moved else math.nan
        ),
        metabolic_cost_of_transport=(
            float(r.metabolic[on].sum()) * r.dt * GRAVITY / (r.weight * moved)
            if moved
            else math.nan
        ),
        foot_skate=_ratio(r.slip[on].sum(), r.slip_parts[on].sum()),
        symmetry=math.nan if gait is None else gait.symmetry,
        torque_residual=math.sqrt(_mean(r.torque_error, on) / r.torques),
        torque_residual_best=math.sqrt(_mean(r.torque_best, on) / r.torques),
        torque_rms=math.sqrt(_mean(r.torque, on) / r.torques),
        action_rms=math.sqrt(_mean(r.action, on)),
        return_mean=float(returns.mean()),
        return_ci95=bootstrap_interval(returns, seed),
        joints=dict(zip(r.joints, errors, strict=True)),
        gait=gait,
    )


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
