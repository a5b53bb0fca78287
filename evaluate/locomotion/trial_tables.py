"""Trials of walkers as tables of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from rich.progress import Progress, TaskID

from ambulo.common.console import bars
from ambulo.evaluate.locomotion.evaluation import LocomotionSubject
from ambulo.evaluate.locomotion.trials import EACH, TRIALS, Row
from ambulo.evaluate.shared.result import (
    AgentMetrics,
    Breakdown,
    Metric,
    MetricColumn,
    metric,
    rate_metric,
)

SPEED_ERROR, TURN_ERROR = 0.05, 5.0
"""Errors of the mean, [m/s] and [deg/s], within which a command counts as followed."""
SURVIVAL = MetricColumn("survival", "on feet", 0, percent=True)
COLUMNS = {
    "envelope": (
        SURVIVAL,
        MetricColumn("followed", "followed", 0, percent=True),
        MetricColumn("speed_off", "worst speed"),
    ),
    "stops": (
        SURVIVAL,
        MetricColumn("stops_in_1_s", "stops in 1 s", 0, percent=True),
        MetricColumn("stands_30_s", "stands 30 s later", 0, percent=True),
    ),
    "walls": (SURVIVAL, MetricColumn("peak_force", "peak force", 0)),
    "pushes": (SURVIVAL,),
    "sweeps": (SURVIVAL,),
    "reaches": (
        SURVIVAL,
        MetricColumn("met", "met", 0, percent=True),
        MetricColumn("time", "time"),
    ),
}
TITLES = {
    "envelope": "commands held for 12 s from standing, means from 4 s on",
    "stops": "stops after 5 s, then standing",
    "walls": "blind into walls of friction 0 to 1, at 5 to 90 degrees",
    "pushes": "pushes of the pelvis",
    "sweeps": "a standing body swept by a pillar",
    "reaches": "a palm within 5 cm of a point for the last of five seconds",
}
NOTE = (
    f"A command counts as followed when the mean of the bodies on their feet is within "
    f"{SPEED_ERROR} m/s ahead and to the left and {TURN_ERROR:g} deg/s of it, and all stay up."
)

Rows = Mapping[str, Mapping[str, Sequence[Row]]]
"""Rows by trial and agent."""


def run_trials(
    names: Sequence[str],
    subjects: Mapping[str, LocomotionSubject],
    seed: int,
    most: int | None = None,
) -> Rows:
    """Rows of the trials `names` of all subjects, with a progress bar for each.

    Args:
        names: Of `TRIALS`.
        subjects: Who walks.
        seed: Of the starts.
        most: Largest number of bodies of a row, if it is limited.
    """
    rows: dict[str, dict[str, list[Row]]] = {}
    for name in names:
        each = EACH[name] if most is None else min(most, EACH[name])
        with bars(24) as progress:
            tasks = {
                agent: progress.add_task(f"{name} {agent}", total=100)
                for agent in subjects
            }
            rows[name] = {
                agent: list(
                    TRIALS[name](
                        subject, each, seed, partial(_tell, progress, tasks[agent])
                    )
                )
                for agent, subject in subjects.items()
            }
    return rows


def _tell(progress: Progress, task: TaskID, part: float) -> None:
    progress.update(task, completed=int(100 * part))


def trial_breakdowns(rows: Rows) -> list[Breakdown]:
    """Tables of the trials, one line for each of `_groups`."""
    found = []
    for name, agents in rows.items():
        scores: dict[str, dict[str, AgentMetrics]] = {}
        for agent, own in agents.items():
            for label, group in _groups(name, own).items():
                scores.setdefault(label, {})[agent] = _METRICS[name](group)
        found.append(Breakdown(name, scores, COLUMNS[name], TITLES[name]))
    return found


def trial_details(rows: Rows) -> dict[str, Any]:
    """All rows as plain JSON."""
    return {"trials": rows} if rows else {}


def follows(row: Row) -> bool:
    """Whether a command of the envelope's grid was followed by all bodies."""
    return bool(
        row["survival"] == 1.0
        and float(row["speed_off"]) <= SPEED_ERROR
        and float(row["side_off"]) <= SPEED_ERROR
        and float(row["turn_off"]) <= TURN_ERROR
    )


def _groups(name: str, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by the line of the table that they belong to; the last is all of them."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        label = f"{row['speed']:g} m/s" if "speed" in row else str(row["while"])
        if name == "envelope" and row["side"]:
            label = "to the side"
        if name in ("walls", "sweeps"):
            label += f", friction {row['friction']:g}"
        if name == "pushes":
            label += f", {row['impulse']:g} N s"
        if name == "reaches":
            label += f", {row['height']:g} m high"
        found.setdefault(label, []).append(row)
    if len(found) > 1:
        found["all"] = list(rows)
    return found


def _survival(rows: Sequence[Row], name: str = "survival") -> Metric:
    """The share of bodies on their feet, with its interval."""
    bodies = sum(float(row["bodies"]) for row in rows)
    hits = sum(float(row[name]) * float(row["bodies"]) for row in rows)
    return rate_metric(hits, bodies)


def _mean(rows: Sequence[Row], name: str) -> float:
    return float(np.mean([float(row[name]) for row in rows]))


def _envelope(rows: Sequence[Row]) -> AgentMetrics:
    worst = {n: max(float(row[n]) for row in rows) for n in ("speed_off", "turn_off")}
    return {
        "survival": _survival(rows),
        "followed": metric(float(np.mean([follows(row) for row in rows]))),
        "speed_off": metric(worst["speed_off"], "m/s"),
        "turn_off": metric(worst["turn_off"], "deg/s"),
    }


def _stops(rows: Sequence[Row]) -> AgentMetrics:
    return {
        "survival": _survival(rows),
        "stops_in_1_s": _survival(rows, "stops_in_1_s"),
        "stands_30_s": _survival(rows, "stands_30_s"),
        "stop_s": metric(_mean(rows, "stop_s"), "s"),
    }


def _walls(rows: Sequence[Row]) -> AgentMetrics:
    return {
        "survival": _survival(rows),
        "touched": metric(_mean(rows, "touched")),
        "peak_force": metric(_mean(rows, "peak_force"), "N"),
    }


def _reaches(rows: Sequence[Row]) -> AgentMetrics:
    return {
        "survival": _survival(rows),
        "met": _survival(rows, "met"),
        "time": metric(_mean(rows, "time"), "s"),
    }


def _plain(rows: Sequence[Row]) -> AgentMetrics:
    return {"survival": _survival(rows)}


_METRICS = {
    "envelope": _envelope,
    "stops": _stops,
    "walls": _walls,
    "pushes": _plain,
    "sweeps": _plain,
    "reaches": _reaches,
}
