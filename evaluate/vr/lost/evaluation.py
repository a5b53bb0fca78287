"""Scores of an agent's head in an evaluation: calibration beside baselines, and alarms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.vr import Task
from ambulo.evaluate.shared.result import (
    POLICY,
    AgentMetrics,
    Breakdown,
    MetricColumn,
    metric,
    rate_metric,
)
from ambulo.evaluate.vr.lost.alarms import ABOVE, BELOW, said
from ambulo.evaluate.vr.lost.labels import DEFINITION, TASKS
from ambulo.evaluate.vr.lost.rollouts import LostDecisions
from ambulo.evaluate.vr.lost.scores import LostScores

HEAD = "head"
"""Name of the head among the predictors."""
COLUMNS = (
    MetricColumn("ece", "ECE", 3),
    MetricColumn("brier", "Brier", 3),
    MetricColumn("auroc", "AUROC", 3),
)
NOTES = (
    f"{DEFINITION[0].upper()}{DEFINITION[1:]}. ECE: expected calibration error over ten "
    "bins of p (Naeini et al. 2015); Brier: mean squared error of p; AUROC: probability "
    "that a lost decision has the larger p. Predictors: the head; the base rate of the "
    "calibration; the time without a new least distance to the goal; the critic, which sees "
    "the true distance and the time that is left, as no agent that acts does. All were "
    "calibrated on the same validation levels. Intervals draw whole episodes again.",
)


@dataclass(frozen=True)
class LostEvaluation:
    """What the head of one agent said, and whether it was right."""

    decisions: LostDecisions
    """All decisions; the values are logits of the head and values of the critic."""
    probability: Floats
    """Of the head. Shape (S,)."""
    scores: dict[str, LostScores]
    """By predictor; the head is first."""
    told: dict[bool, tuple[int, int]]
    """By success: episodes in which the agent said that it was lost, and all."""


def is_defined(tasks: tuple[Task, ...], task: Task | None = None) -> bool:
    """Return whether *lost* is defined in all episodes of `task`, or of any of `tasks`."""
    return all(one in TASKS for one in ((task,) if task else tasks))


def lost_metrics(result: LostEvaluation) -> AgentMetrics:
    """Return the metrics of the head, for the agent."""
    head, base = result.scores[HEAD], result.scores["base rate"]
    found = {
        "lost_rate": metric(float(result.decisions.lost.mean())),
        "lost_ece": metric(head.ece, ci=head.ece_ci95),
        "lost_brier": metric(head.brier, ci=head.brier_ci95),
        "lost_brier_base_rate": metric(base.brier, ci=base.brier_ci95),
        "lost_auroc": metric(head.auroc, ci=head.auroc_ci95),
    }
    for success, (said_so, count) in result.told.items():
        name = "lost_told_solved" if success else "lost_told_failed"
        if count:
            found[name] = rate_metric(said_so, count)
    return found


def lost_breakdown(result: LostEvaluation) -> Breakdown:
    """Return the scores of the predictors beside each other."""
    rows: dict[str, dict[str, AgentMetrics]] = {
        name: {
            POLICY: {
                "ece": metric(one.ece, ci=one.ece_ci95),
                "brier": metric(one.brier, ci=one.brier_ci95),
                "auroc": metric(one.auroc, ci=one.auroc_ci95),
            }
        }
        for name, one in result.scores.items()
    }
    return Breakdown(
        "lost", rows, COLUMNS, "probability of being lost: ECE / Brier score / AUROC"
    )


def lost_rows(result: LostEvaluation, episodes: int) -> Iterator[dict[str, Any]]:
    """Yield what an episode's row says more: fraction lost, mean p, whether it was said."""
    for number in range(episodes):
        rows = result.decisions.episode == number
        p = result.probability[rows]
        yield {
            "lost": float(result.decisions.lost[rows].mean()),
            "lost_p_mean": float(p.mean()),
            "lost_told": bool(said(p).any()),
        }


def lost_details(result: LostEvaluation) -> dict[str, Any]:
    """Return the reliability diagrams as plain JSON."""
    return {
        "definition": DEFINITION,
        "thresholds": [ABOVE, BELOW],
        "reliability": {
            name: {
                "count": one.reliability.count.tolist(),
                "mean_p": _plain(one.reliability.mean),
                "lost": _plain(one.reliability.rate),
                "low": _plain(one.reliability.low),
                "high": _plain(one.reliability.high),
            }
            for name, one in result.scores.items()
        },
    }


def _plain(values: Floats) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
