"""Scores of bodies with legs: falls, contacts, gait, comfort of the head, failures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.task.metrics import BodyTrace
from ambulo.evaluate.shared.result import (
    AgentMetrics,
    Breakdown,
    Metric,
    MetricColumn,
    metric,
    rate_metric,
    unit_of,
)
from ambulo.evaluate.vr.scores import EpisodeRecord, EpisodeRecords

Failure = Literal["fall", "time", "lost", "squeezed"]
FAILURES: dict[Failure, str] = {
    "fall": "the body fell",
    "squeezed": "at the time limit it had stayed within 1 m for the last 10 s",
    "lost": "at the time limit it had not come nearer to the goal in the last 10 s",
    "time": "it was on its way when the time was over",
}
"""Why episodes fail."""
LAST = 10.0
"""Time before the limit that tells why an episode failed, [s]."""
STAYED = 1.0
"""Extent of the way of a squeezed body in that time, [m]."""
NEARER = 0.5
"""Least approach of a body on its way in that time, [m]."""

COLUMNS = (
    MetricColumn("fall_rate", "falls", 0, percent=True),
    MetricColumn("contact_free_rate", "no contact", 0, percent=True),
    MetricColumn("steps_per_s", "cadence"),
    MetricColumn("head_bob_cm", "bob", 1),
    MetricColumn("head_tilt_deg", "tilt", 1),
)
"""Beside those of all agents."""
FAMILY_COLUMNS = (
    MetricColumn("fall_rate", "falls"),
    MetricColumn("contact_free_rate", "no contact"),
)
NOTES = (
    "Falls and episodes without any contact: shares of all episodes. Bob: standard "
    "deviation of the head's height; tilt: mean angle of the head from upright. Failures: "
    + "; ".join(f"{name}: {text}" for name, text in FAILURES.items())
    + ".",
)


def failure(record: EpisodeRecord) -> Failure | None:
    """Why an episode failed; None: it did not."""
    if record.success:
        return None
    if record.fell:
        return "fall"
    trace = record.trace
    rows = slice(-round(LAST / trace.dt), None)
    way = trace.position[rows, :2]
    if float(np.ptp(way, axis=0).max()) < STAYED:
        return "squeezed"
    distance = trace.distance
    if distance is not None and distance[rows].min() > distance[rows][0] - NEARER:
        return "lost"
    return "time"


def body_metrics(records: EpisodeRecords) -> AgentMetrics:
    """The metrics of `COLUMNS`, and the share of each kind of failure."""
    kinds = [failure(one) for one in records.episodes]
    found = {
        "fall_rate": _rate(records.column("fell")),
        "contact_free_rate": _rate(contact_free(records)),
        **{
            f"failed_{name}": rate_metric(kinds.count(name), len(kinds))
            for name in FAILURES
        },
    }
    traces = [one.trace.body for one in records.episodes]
    bodies = [trace for trace in traces if trace is not None]
    if bodies:
        seconds = sum(one.time for one in records.episodes)
        found |= {
            name: metric(value, unit_of(name, {"steps_per_s": "1/s"}))
            for name, value in _gait_and_head(bodies, seconds).items()
        }
    return found


def contact_free(records: EpisodeRecords) -> Floats:
    """1 for each episode without any contact, shape (n,)."""
    touches = [int(one.trace.contact_ticks.sum()) for one in records.episodes]
    return (np.array(touches) == 0).astype(np.float64)


def body_breakdowns(records: Mapping[str, EpisodeRecords]) -> list[Breakdown]:
    """Return falls and contacts by level family, and failures by kind."""
    families: dict[str, dict[str, AgentMetrics]] = {}
    failures: dict[str, dict[str, AgentMetrics]] = {name: {} for name in FAILURES}
    for agent, played in records.items():
        of = np.array([one.level.family for one in played.episodes])
        free, fell = contact_free(played), played.column("fell")
        for name in dict.fromkeys(of.tolist()):
            rows = of == name
            families.setdefault(name, {})[agent] = {
                "fall_rate": metric(float(fell[rows].mean())),
                "contact_free_rate": metric(float(free[rows].mean())),
            }
        kinds = [failure(one) for one in played.episodes]
        for kind in FAILURES:
            failures[kind][agent] = {
                "share": metric(float(np.mean([k == kind for k in kinds])))
            }
    columns = FAMILY_COLUMNS if len(families) > 1 else ()
    return [
        Breakdown(
            "body_family", families, columns, "by family: falls / episodes without contact"
        ),
        Breakdown(
            "failure", failures, (MetricColumn("share", "share"),),
            "failures, shares of all episodes",
        ),
    ]  # fmt: skip


def body_rows(records: EpisodeRecords) -> Iterator[dict[str, Any]]:
    """Yield what an episode's row says more of a body."""
    for one in records.episodes:
        yield {
            "failure": failure(one),
            "contact_free": int(one.trace.contact_ticks.sum()) == 0,
        }


def _rate(values: Floats) -> Metric:
    """The mean of zeros and ones with its interval."""
    return rate_metric(int(values.sum()), len(values))


def _gait_and_head(traces: list[BodyTrace], seconds: float) -> dict[str, float]:
    """Cadence, bob and tilt of the head, and the largest force, over all episodes."""
    cycles = sum(float((np.diff(t.gait_phase) % 1.0).sum()) for t in traces)
    bob = [float(t.head_height[:-1].std()) for t in traces]
    tilt = [float(t.head_tilt[:-1].mean()) for t in traces]
    force = [float(t.touch_force.max()) for t in traces]
    return {
        "steps_per_s": 2.0 * cycles / max(seconds, 1e-9),
        "head_bob_cm": 100.0 * float(np.median(bob)),
        "head_tilt_deg": float(np.degrees(np.mean(tilt))),
        "touch_force_max_mean": float(np.mean(force)),
    }
