"""Scores of walkers in the schema of all evaluations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ambulo.evaluate.locomotion.gait_norms import JOINTS, gait_norms
from ambulo.evaluate.locomotion.perturbations import Perturbed
from ambulo.evaluate.locomotion.pushes import PushRecovery
from ambulo.evaluate.locomotion.recording import Recording
from ambulo.evaluate.locomotion.scores import UNITS, LocomotionScores
from ambulo.evaluate.shared.result import (
    AgentMetrics,
    Breakdown,
    Metric,
    MetricColumn,
    field_metrics,
    metric,
    unit_of,
)

COLUMNS = (
    MetricColumn("success_rate", "done", 0, percent=True),
    MetricColumn("timeout_rate", "timed out", 0, percent=True),
    MetricColumn("survival_rate", "on feet", 0, percent=True),
    MetricColumn("survival_s", "time", 1),
    MetricColumn("joint_error_deg", "legs"),
    MetricColumn("joint_error_cm", "joints"),
    MetricColumn("speed", "speed", 3),
    MetricColumn("speed_error", "speed error", 3),
    MetricColumn("heading_error", "heading", 1),
    MetricColumn("turn_error", "turn", 1),
    MetricColumn("cost_of_transport", "CoT"),
    MetricColumn("metabolic_cost_of_transport", "metabolic"),
    MetricColumn("foot_skate", "skate", 3),
    MetricColumn("symmetry", "symmetry"),
    MetricColumn("torque_residual", "torque off"),
    MetricColumn("impulse_90", "push 90 %", 0),
    MetricColumn("return_mean", "return", 0),
)
HEADLINE = (
    "survival_rate", "joint_error_deg", "speed", "speed_error", "cost_of_transport",
    "metabolic_cost_of_transport", "impulse_90",
)  # fmt: skip
NORM_COLUMNS = (
    MetricColumn("rms", "rms off", 1),
    MetricColumn("offset", "offset", 1),
    MetricColumn("rms_shape", "rms off without offset", 1),
    MetricColumn("inside", "within 2 sd", 0, percent=True),
    MetricColumn("inside_shape", "without offset", 0, percent=True),
    MetricColumn("range", "range", 0),
    MetricColumn("normal_range", "normal range", 0),
)
_NORM_UNITS = {c.name: "deg" for c in NORM_COLUMNS if not c.percent}
NOTE = (
    "Done: the task has succeeded at the end; timed out: over before that, on feet. On "
    "feet: rate at the end of the episode. Legs, joints: errors against the reference "
    "at the same phase; cm relative to the root. Speed, heading and turning: means over "
    "1 s against the command. CoT: absolute joint work per weight and distance. Symmetry: "
    "1 for two equal sides. Push 90 %: the largest impulse that 90 % survive."
)
PERTURBED_COLUMNS = (
    MetricColumn("survival_rate", "on feet", 0, percent=True),
    MetricColumn("joint_error_cm", "joints", 1),
)
_PERTURBED = (
    "survival_rate", "survival_s", "falls", "faults", "joint_error_deg",
    "joint_error_cm", "root_error_cm", "speed", "speed_error", "heading_error",
)  # fmt: skip
"""Scores under perturbations."""


def agent_metrics(
    scores: LocomotionScores, pushes: PushRecovery | None
) -> dict[str, Metric]:
    """Return the metrics of one agent."""
    metrics = dict(scores.metrics)
    if scores.gait is not None:
        for name, unit in (
            ("strides", "1"), ("cadence", "1/min"), ("stride_time", "s"),
            ("stride_length", "m"), ("stance_share", "1"),
        ):  # fmt: skip
            metrics[name] = metric(float(getattr(scores.gait, name)), unit)
    if pushes is not None:
        metrics["impulse_90"] = metric(pushes.impulse_90, "N s")
        metrics["impulse_90_per_kg"] = metric(pushes.impulse_90_per_kg, "N s/kg")
    return metrics


def breakdowns(
    scores: Mapping[str, LocomotionScores],
    pushes: Mapping[str, PushRecovery],
    changed: Perturbed | None = None,
) -> list[Breakdown]:
    """Return survival by impulse and perturbation, gait against norms, joint errors."""
    survival: dict[str, dict[str, AgentMetrics]] = {}
    for agent, row in pushes.items():
        for impulse, rate, ci in zip(
            row.impulses, row.survival, row.interval, strict=True
        ):
            tried = survival.setdefault(f"{impulse:g} N s", {})
            tried[agent] = {"survival_rate": metric(rate, ci=ci)}
    joints = list(next(iter(scores.values())).joints)
    errors: dict[str, dict[str, AgentMetrics]] = {
        joint: {
            agent: {
                "angle": metric(s.joints[joint][0], "deg"),
                "position": metric(s.joints[joint][1], "cm"),
            }
            for agent, s in scores.items()
        }
        for joint in joints
    }
    return [
        Breakdown(
            "impulse", survival,
            (MetricColumn("survival_rate", "on feet", 0, percent=True),),
            "on its feet 4 s after a push",
        ),
        Breakdown(
            "perturbation", changed.rows if changed else {}, PERTURBED_COLUMNS,
            "on its feet to the end under perturbations / joint error [cm]",
        ),
        Breakdown("angle", _norms(scores), NORM_COLUMNS, "against normal gait: ", False),
        Breakdown("joint", errors),
    ]  # fmt: skip


def perturbed_metrics(scores: LocomotionScores | None) -> AgentMetrics:
    """Return the metrics of one agent under a perturbation; null where it is missing."""
    if scores is None:
        return {name: metric(None, unit_of(name, UNITS)) for name in _PERTURBED}
    return {name: scores.metrics[name] for name in _PERTURBED}


def _norms(
    scores: Mapping[str, LocomotionScores],
) -> dict[str, dict[str, AgentMetrics]]:
    """Return how far the angles of all agents are from those of people."""
    return {
        joint: {
            agent: field_metrics(
                s.gait.likeness[joint], vars(s.gait.likeness[joint]), _NORM_UNITS
            )
            for agent, s in scores.items()
            if s.gait is not None
        }
        for joint in JOINTS
    }


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
