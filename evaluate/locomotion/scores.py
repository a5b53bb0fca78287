"""Scores of recorded locomotion, in the schema of all evaluations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from ambulo.configs.arrays import Floats
from ambulo.evaluate.locomotion.gait_cycle import JOINTS, gait_norms
from ambulo.evaluate.locomotion.gait_summary import GaitSummary, gait_of
from ambulo.evaluate.locomotion.pushes import PushRecovery
from ambulo.evaluate.locomotion.recording import Recording
from ambulo.evaluate.shared.result import (
    AgentMetrics,
    Breakdown,
    Metric,
    MetricColumn,
    measured,
    measured_groups,
    metric,
)

GRAVITY = 9.81
"""Gravity of the models, [m/s^2]; converts weight to mass."""
WINDOW = 1.0
"""Speeds and headings are means over about a stride, [s]: they swing within each."""


class _Walk:
    """A recording, with the means over the steps on their feet that scores are made of."""

    def __init__(self, recording: Recording) -> None:
        self.r, self.on = recording, recording.standing
        self.gait = gait_of(recording)
        self.moved = float(recording.moved[self.on].sum())

    def mean(self, values: NDArray[Any]) -> float:
        """Mean of `values` (T, N) over the steps on their feet; NaN where there is none."""
        on = self.on
        return float(values[on].mean(dtype=np.float64)) if on.any() else math.nan

    def angle(self, values: NDArray[Any]) -> float:
        """Mean of angles (T, N), [rad], over the steps on their feet, [deg]."""
        return float(np.rad2deg(self.mean(values)))

    def root(self, squares: Floats, count: int = 1) -> float:
        """Root of the mean of sums of `count` squares (T, N)."""
        return math.sqrt(self.mean(squares) / count)

    def window(self, values: Floats) -> Floats:
        """Running means over `WINDOW` that see nothing after the end of an episode."""
        size = max(1, round(WINDOW / self.r.dt))
        out = np.array(values, dtype=np.float64)
        for body, last in enumerate(self.on.sum(axis=0).tolist()):
            if last:
                out[:last, body] = uniform_filter1d(
                    out[:last, body], size, mode="nearest"
                )
        return out

    def off(self, values: Floats, wanted: int) -> Floats:
        """Distance of running means of `values` (T, N) from those of a command."""
        return np.abs(self.window(values) - self.window(self.r.wanted[..., wanted]))

    def per_way(self, power: Floats, scale: float = 1.0) -> float:
        """Work of `power` (T, N), [W], times `scale`, over weight and distance."""
        work = float(power[self.on].sum()) * self.r.dt * scale
        return _ratio(work, self.r.weight * self.moved)


COLUMNS = (
    MetricColumn(
        "success_rate", "done", 0, percent=True, of=lambda w: w.r.succeeded
    ),
    MetricColumn(
        "timeout_rate", "timed out", 0, percent=True,
        of=lambda w: float((w.r.survived & ~w.r.succeeded).mean()),
    ),
    MetricColumn("survival_rate", "on feet", 0, percent=True, of=lambda w: w.r.survived),
    MetricColumn(
        "survival_s", "time", 1, of=lambda w: w.on.sum(axis=0).mean() * w.r.dt
    ),
    MetricColumn("falls", of=lambda w: w.r.fell.sum()),
    MetricColumn("faults", of=lambda w: (w.r.fault > 0).sum()),
    MetricColumn(
        "joint_error_deg", "legs",
        of=lambda w: w.angle(w.r.joint_error[..., list(w.r.legs)].mean(axis=-1)),
    ),
    MetricColumn(
        "joint_error_cm", "joints",
        of=lambda w: 100.0 * w.mean(w.r.place_error.mean(axis=-1)),
    ),
    MetricColumn("root_error_cm", of=lambda w: 100.0 * w.mean(w.r.root_error)),
    MetricColumn(
        "speed", "speed", 3, unit="m/s", of=lambda w: w.mean(w.r.velocity[..., 0])
    ),
    MetricColumn(
        "speed_error", "speed error", 3, unit="m/s",
        of=lambda w: w.mean(w.off(w.r.velocity[..., 0], 0)),
    ),
    MetricColumn(
        "heading_error", "heading", 1, unit="deg",
        of=lambda w: w.angle(np.abs(w.window(w.r.yaw))),
    ),
    MetricColumn(
        "turn_error", "turn", 1, unit="deg/s", of=lambda w: w.angle(w.off(w.r.turn, 1))
    ),
    MetricColumn("cost_of_transport", "CoT", of=lambda w: w.per_way(w.r.power)),
    MetricColumn(
        "metabolic_cost_of_transport", "metabolic", unit="J/(kg m)",
        of=lambda w: w.per_way(w.r.metabolic, GRAVITY),
    ),
    MetricColumn(
        "foot_skate", "skate", 3, unit="m/s",
        of=lambda w: _ratio(w.r.slip[w.on].sum(), w.r.slip_parts[w.on].sum()),
    ),
    MetricColumn("symmetry", "symmetry", of=lambda w: w.gait and w.gait.symmetry),
    MetricColumn(
        "torque_residual", "torque off", unit="N m",
        of=lambda w: w.root(w.r.torque_error, w.r.torques),
    ),
    MetricColumn(
        "torque_residual_best", unit="N m",
        of=lambda w: w.root(w.r.torque_best, w.r.torques),
    ),
    MetricColumn(
        "torque_rms", unit="N m", of=lambda w: w.root(w.r.torque, w.r.torques)
    ),
    MetricColumn("action_rms", of=lambda w: w.root(w.r.action)),
    MetricColumn("return_mean", "return", 0, of=lambda w: w.r.returns),
)  # fmt: skip
"""Means over the steps on their feet; None where they are not defined.

Joint errors are against the reference at the same phase: angles of hips, knees and ankles,
and places of all joints seen from the root. Errors of speed, heading and turning are of means
over `WINDOW` against the command. Costs of transport are absolute joint work per weight and
distance, and energy of the muscles. Torques are those that acted minus those of stable PD,
beside the least-squares optimum of the muscles (`_best`).
"""
GAIT_COLUMNS = (
    MetricColumn("strides"),
    MetricColumn("cadence", unit="1/min"),
    MetricColumn("stride_time", unit="s"),
    MetricColumn("stride_length", unit="m"),
    MetricColumn("stance_share"),
)
"""Columns of `GaitSummary`."""
PUSH_COLUMNS = (
    MetricColumn("impulse_90", "push 90 %", 0, unit="N s"),
    MetricColumn("impulse_90_per_kg", unit="N s/kg"),
)
"""Columns of `PushRecovery`."""
TABLE = (*COLUMNS[:-1], *PUSH_COLUMNS, COLUMNS[-1])
"""Columns of the main table."""
HEADLINE = (
    "survival_rate", "joint_error_deg", "speed", "speed_error", "cost_of_transport",
    "metabolic_cost_of_transport", "impulse_90",
)  # fmt: skip
NORM_COLUMNS = (
    MetricColumn("rms", "rms off", 1, unit="deg"),
    MetricColumn("offset", "offset", 1, unit="deg"),
    MetricColumn("rms_shape", "rms off without offset", 1, unit="deg"),
    MetricColumn("inside", "within 2 sd", 0, percent=True),
    MetricColumn("inside_shape", "without offset", 0, percent=True),
    MetricColumn("range", "range", 0, unit="deg"),
    MetricColumn("normal_range", "normal range", 0, unit="deg"),
)
"""Columns of `Likeness`."""
NOTE = (
    "Done: the task has succeeded at the end; timed out: over before that, on feet. On "
    "feet: rate at the end of the episode. Legs, joints: errors against the reference "
    "at the same phase; cm relative to the root. Speed, heading and turning: means over "
    "1 s against the command. CoT: absolute joint work per weight and distance. Symmetry: "
    "1 for two equal sides. Push 90 %: the largest impulse that 90 % survive."
)
PERTURBED = tuple(
    MetricColumn(c.name, unit=c.unit)
    for c in COLUMNS
    if c.name in (
        "survival_rate", "survival_s", "falls", "faults", "joint_error_deg",
        "joint_error_cm", "root_error_cm", "speed", "speed_error", "heading_error",
    )
)  # fmt: skip
"""Scores under perturbations, of which tables show `PERTURBED_COLUMNS`."""
PERTURBED_COLUMNS = (
    MetricColumn("survival_rate", "on feet", 0, percent=True),
    MetricColumn("joint_error_cm", "joints", 1),
)


@dataclass(frozen=True, eq=False)
class LocomotionScores:
    """Scores of one agent."""

    metrics: AgentMetrics
    """Those of `COLUMNS`."""
    joints: dict[str, tuple[float, float]]
    """Errors of each joint: angle, [deg], and position, [cm]."""
    gait: GaitSummary | None
    """How it walks; None without whole strides."""


def score(recording: Recording, seed: int = 0) -> LocomotionScores:
    """The scores of `recording`; `seed` is that of the bootstrap."""
    walk = _Walk(recording)
    joints = {
        name: (
            walk.angle(recording.joint_error[..., j]),
            100.0 * walk.mean(recording.place_error[..., j]),
        )
        for j, name in enumerate(recording.joints)
    }
    return LocomotionScores(measured(COLUMNS, walk, seed), joints, walk.gait)


def agent_metrics(
    scores: LocomotionScores, pushes: PushRecovery | None
) -> dict[str, Metric]:
    """Return the metrics of one agent."""
    gait = {} if scores.gait is None else measured(GAIT_COLUMNS, scores.gait)
    push = {} if pushes is None else measured(PUSH_COLUMNS, pushes)
    return {**scores.metrics, **gait, **push}


def breakdowns(
    scores: Mapping[str, LocomotionScores],
    pushes: Mapping[str, PushRecovery],
    changed: Mapping[str, Mapping[str, AgentMetrics]],
) -> list[Breakdown]:
    """Return survival by impulse and perturbation, gait against norms, joint errors."""
    survival = MetricColumn("survival_rate", "on feet", 0, percent=True)
    pushed = {
        agent: {
            f"{impulse:g} N s": {survival.name: metric(rate, ci=ci)}
            for impulse, rate, ci in zip(
                row.impulses, row.survival, row.interval, strict=True
            )
        }
        for agent, row in pushes.items()
    }
    errors = (
        MetricColumn("angle", unit="deg", of=lambda both: both[0]),
        MetricColumn("position", unit="cm", of=lambda both: both[1]),
    )
    joints = {agent: s.joints for agent, s in scores.items()}
    gaits = {agent: s.gait.likeness for agent, s in scores.items() if s.gait}
    norms: dict[str, Any] = {joint: {} for joint in JOINTS}
    norms |= measured_groups(NORM_COLUMNS, gaits)
    return [
        Breakdown(
            "impulse", measured_groups([survival], pushed), (survival,),
            "on its feet 4 s after a push",
        ),
        Breakdown(
            "perturbation", changed, PERTURBED_COLUMNS,
            "on its feet to the end under perturbations / joint error [cm]",
        ),
        Breakdown("angle", norms, NORM_COLUMNS, "against normal gait: ", False),
        Breakdown("joint", measured_groups(errors, joints)),
    ]  # fmt: skip


def notes(scores: Mapping[str, LocomotionScores]) -> list[str]:
    """Return what the columns mean, and where the norms are from."""
    if all(s.gait is None for s in scores.values()):
        return [NOTE]
    norms = gait_norms()
    return [NOTE, f"Normal gait: {norms.angle_source}. Force: {norms.force_source}."]


def details(
    scores: Mapping[str, LocomotionScores], pushes: Mapping[str, PushRecovery]
) -> dict[str, Any]:
    """Return gait cycles and push settings of all agents, as plain JSON."""
    return {
        agent: {
            "gait": None if s.gait is None else s.gait.to_dict(),
            "push_recovery": pushes[agent].to_dict() if agent in pushes else None,
        }
        for agent, s in scores.items()
    }


def record_rows(r: Recording, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield one row per episode of an agent; `numbers` are those of the bodies' episodes."""
    for body in np.argsort(numbers).tolist():
        on = r.standing[:, body]
        yield {
            "survived": bool(r.survived[body]),
            "success": bool(r.succeeded[body]),
            "survival_s": float(on.sum() * r.dt),
            "speed": float(r.velocity[on, body, 0].mean()) if on.any() else None,
            "return": float(r.returns[body]),
        }


def _ratio(above: float, below: float) -> float:
    return float(above) / float(below) if below else math.nan
