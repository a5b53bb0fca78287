"""The trials of walkers, and their tables in an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from rich.progress import Progress, TaskID

from ambulo.common.console import bars
from ambulo.configs.errors import ConfigError, nearest
from ambulo.evaluate.locomotion.evaluation import LocomotionSubject
from ambulo.evaluate.locomotion.reach_trial import reaches
from ambulo.evaluate.locomotion.trials import (
    Row,
    Run,
    envelope,
    pushes,
    run_course,
    stops,
    sweeps,
    walls,
)
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
NOTE = (
    f"A command counts as followed when the mean of the bodies on their feet is within "
    f"{SPEED_ERROR} m/s ahead and to the left and {TURN_ERROR:g} deg/s of it, and all stay up."
)
Rows = Mapping[str, Mapping[str, Sequence[Row]]]
"""Rows by trial and agent."""
Summary = Callable[[Sequence[Row]], Metric]
"""Metric of the rows of one line of a table."""


def _rate(name: str) -> Summary:
    """The rate of bodies, of which each row has its own, with its interval."""

    def rate(rows: Sequence[Row]) -> Metric:
        bodies = sum(float(row["bodies"]) for row in rows)
        hits = sum(float(row[name]) * float(row["bodies"]) for row in rows)
        return rate_metric(hits, bodies)

    return rate


def _mean(name: str, unit: str = "1") -> Summary:
    return lambda rows: metric(float(np.mean([float(r[name]) for r in rows])), unit)


def _worst(name: str, unit: str) -> Summary:
    return lambda rows: metric(max(float(row[name]) for row in rows), unit)


def _followed(rows: Sequence[Row]) -> Metric:
    return metric(float(np.mean([follows(row) for row in rows])))


def follows(row: Row) -> bool:
    """Whether a command of the envelope's grid was followed by all bodies."""
    return bool(
        row["survival"] == 1.0
        and float(row["speed_off"]) <= SPEED_ERROR
        and float(row["side_off"]) <= SPEED_ERROR
        and float(row["turn_off"]) <= TURN_ERROR
    )


SURVIVAL = MetricColumn("survival", "on feet", 0, percent=True)


@dataclass(frozen=True)
class Trial:
    """One trial, and its table."""

    rows: Callable[[Run, int, int], Iterator[Row]]
    """Yields the rows of a course, of a number of bodies each, with a seed."""
    bodies: int
    """Most bodies of a row."""
    title: str
    """Of the table."""
    line: str | Callable[[Row], str]
    """Line of the table that a row belongs to: a format of its numbers, or a function."""
    columns: tuple[MetricColumn, ...] = (SURVIVAL,)
    """Columns of the table."""
    metrics: Mapping[str, Summary] = field(
        default_factory=lambda: {"survival": _rate("survival")}
    )
    """Metrics of a line."""

    def label(self, row: Row) -> str:
        """Return the line that `row` belongs to."""
        return self.line.format(**row) if isinstance(self.line, str) else self.line(row)


TRIALS = {
    "envelope": Trial(
        envelope, 4, "commands held for 12 s from standing, means from 4 s on",
        lambda row: "to the side" if row["side"] else f"{row['speed']:g} m/s",
        (
            SURVIVAL,
            MetricColumn("followed", "followed", 0, percent=True),
            MetricColumn("speed_off", "worst speed"),
        ),
        {
            "survival": _rate("survival"), "followed": _followed,
            "speed_off": _worst("speed_off", "m/s"),
            "turn_off": _worst("turn_off", "deg/s"),
        },
    ),
    "stops": Trial(
        stops, 24, "stops after 5 s, then standing", "{speed:g} m/s",
        (
            SURVIVAL,
            MetricColumn("stops_in_1_s", "stops in 1 s", 0, percent=True),
            MetricColumn("stands_30_s", "stands 30 s later", 0, percent=True),
        ),
        {
            **{n: _rate(n) for n in ("survival", "stops_in_1_s", "stands_30_s")},
            "stop_s": _mean("stop_s", "s"),
        },
    ),
    "walls": Trial(
        walls, 42, "blind into walls of friction 0 to 1, at 5 to 90 degrees",
        "{speed:g} m/s, friction {friction:g}",
        (SURVIVAL, MetricColumn("peak_force", "peak force", 0)),
        {
            "survival": _rate("survival"), "touched": _mean("touched"),
            "peak_force": _mean("peak_force", "N"),
        },
    ),
    "pushes": Trial(pushes, 40, "pushes of the pelvis", "{while}, {impulse:g} N s"),
    "sweeps": Trial(
        sweeps, 24, "a standing body swept by a pillar",
        "{speed:g} m/s, friction {friction:g}",
    ),
    "reaches": Trial(
        reaches, 24, "a palm within 5 cm of a point for the last of five seconds",
        "{while}, {height:g} m high",
        (
            SURVIVAL,
            MetricColumn("met", "met", 0, percent=True),
            MetricColumn("time", "time"),
        ),
        {
            "survival": _rate("survival"), "met": _rate("met"),
            "time": _mean("time", "s"),
        },
    ),
}  # fmt: skip


def chosen_trials(text: str | None) -> tuple[str, ...]:
    """Trials named in `--trials`; none for None.

    Raises:
        ConfigError: No trial has such a name.
    """
    if text is None:
        return ()
    names: Sequence[str] = tuple(TRIALS) if text == "all" else text.split(",")
    for name in names:
        if name not in TRIALS:
            raise ConfigError(
                f"--trials: unknown trial {name!r}{nearest(name, TRIALS)}"
            )
    return tuple(dict.fromkeys(names))


def run_trials(
    names: Sequence[str],
    subjects: Mapping[str, LocomotionSubject],
    seed: int,
    most: int | None = None,
) -> Rows:
    """Rows of the trials `names` of all subjects, with a progress bar for each.

    Args:
        names: Of `TRIALS`.
        subjects: Agents by name.
        seed: Of the starts.
        most: Largest number of bodies of a row, if it is limited.
    """
    rows: dict[str, dict[str, list[Row]]] = {}
    for name in names:
        trial = TRIALS[name]
        each = trial.bodies if most is None else min(most, trial.bodies)
        rows[name] = {}
        with bars(24) as progress:
            tasks = {
                agent: progress.add_task(f"{name} {agent}", total=100)
                for agent in subjects
            }
            for agent, subject in subjects.items():
                report = partial(_report, progress, tasks[agent])
                run = partial(run_course, subject, seed=seed, progress=report)
                rows[name][agent] = list(trial.rows(run, each, seed))
    return rows


def _report(progress: Progress, task: TaskID, part: float) -> None:
    progress.update(task, completed=int(100 * part))


def trial_breakdowns(rows: Rows) -> list[Breakdown]:
    """Tables of the trials: a line for each label, and one for all rows."""
    found = []
    for name, agents in rows.items():
        trial = TRIALS[name]
        scores: dict[str, dict[str, AgentMetrics]] = {}
        for agent, own in agents.items():
            lines: dict[str, list[Row]] = {}
            for row in own:
                lines.setdefault(trial.label(row), []).append(row)
            if len(lines) > 1:
                lines["all"] = list(own)
            for label, group in lines.items():
                scores.setdefault(label, {})[agent] = {
                    key: summary(group) for key, summary in trial.metrics.items()
                }
        found.append(Breakdown(name, scores, trial.columns, trial.title))
    return found


def trial_details(rows: Rows) -> dict[str, Any]:
    """All rows as plain JSON."""
    return {"trials": rows} if rows else {}
