"""Scores of bodies with legs: falls, contacts, gait, comfort of the head, failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import numpy as np

from ambulo.configs.arrays import Bools
from ambulo.envs.vr.task.metrics import BodyTrace
from ambulo.evaluate.shared.result import (
    AgentMetrics,
    Breakdown,
    MetricColumn,
    measured,
    measured_groups,
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

NOTES = (
    "Falls and episodes without any contact: shares of all episodes. Bob: standard "
    "deviation of the head's height; tilt: mean angle of the head from upright. Failures: "
    + "; ".join(f"{name}: {text}" for name, text in FAILURES.items())
    + ".",
)


def failure(record: EpisodeRecord) -> Failure | None:
    """Reason why an episode failed; None if it succeeded."""
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


def contact_free(records: EpisodeRecords) -> Bools:
    """Whether an episode was without any contact, shape (n,)."""
    touches = [int(one.trace.contact_ticks.sum()) for one in records.episodes]
    return np.array(touches) == 0


def body_breakdowns(records: Mapping[str, EpisodeRecords]) -> list[Breakdown]:
    """Return falls and contacts by level family, and failures by kind."""
    families = {agent: played.by_family() for agent, played in records.items()}
    several = any(len(groups) > 1 for groups in families.values())
    share = MetricColumn("share", "share")
    failures: dict[str, dict[str, Any]] = {
        agent: {kind: {"share": _failed(kind)(played).mean()} for kind in FAILURES}
        for agent, played in records.items()
    }
    return [
        Breakdown(
            "body_family", measured_groups(FAMILY_COLUMNS, families),
            FAMILY_COLUMNS if several else (),
            "by family: falls / episodes without contact",
        ),
        Breakdown(
            "failure", measured_groups([share], failures), (share,),
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


def _failed(kind: Failure) -> Callable[[EpisodeRecords], Bools]:
    """Return what tells the episodes that failed for a reason, shape (n,)."""
    return lambda records: np.array([failure(one) == kind for one in records.episodes])


def _of_bodies(
    value: Callable[[list[BodyTrace]], Any],
) -> Callable[[EpisodeRecords], float | None]:
    """Return a metric of the traces of simulated bodies; None without such bodies."""

    def of(records: EpisodeRecords) -> float | None:
        traces = [one.trace.body for one in records.episodes]
        bodies = [trace for trace in traces if trace is not None]
        return float(value(bodies)) if bodies else None

    return of


def _cadence(records: EpisodeRecords) -> float | None:
    """Return the steps per second of all episodes."""
    seconds = max(sum(one.time for one in records.episodes), 1e-9)
    phases = [one.trace.body.gait_phase for one in records.episodes if one.trace.body]
    cycles = sum(float((np.diff(phase) % 1.0).sum()) for phase in phases)
    return 2.0 * cycles / seconds if phases else None


COLUMNS = (
    MetricColumn(
        "fall_rate", "falls", 0, percent=True, of=lambda r: r.column("fell") > 0.0
    ),
    MetricColumn("contact_free_rate", "no contact", 0, percent=True, of=contact_free),
    *(MetricColumn(f"failed_{kind}", of=_failed(kind)) for kind in FAILURES),
    MetricColumn("steps_per_s", "cadence", unit="1/s", of=_cadence),
    MetricColumn(
        "head_bob_cm", "bob", 1,
        of=_of_bodies(
            lambda ts: 100.0 * np.median([t.head_height[:-1].std() for t in ts])
        ),
    ),
    MetricColumn(
        "head_tilt_deg", "tilt", 1,
        of=_of_bodies(
            lambda ts: np.degrees(np.mean([t.head_tilt[:-1].mean() for t in ts]))
        ),
    ),
    MetricColumn(
        "touch_force_max_mean",
        of=_of_bodies(lambda ts: np.mean([t.touch_force.max() for t in ts])),
    ),
)  # fmt: skip
"""Beside those of all agents."""
FAMILY_COLUMNS = (
    MetricColumn("fall_rate", "falls", of=lambda r: float(r.column("fell").mean())),
    MetricColumn(
        "contact_free_rate", "no contact", of=lambda r: float(contact_free(r).mean())
    ),
)


def body_metrics(records: EpisodeRecords) -> AgentMetrics:
    """Return the metrics of `COLUMNS`; those of the gait only of simulated bodies."""
    found = measured(COLUMNS, records)
    return {name: one for name, one in found.items() if one.value is not None}
