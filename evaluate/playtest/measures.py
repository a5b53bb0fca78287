"""Numbers of one journey, their means over a play-test, and differences of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.evaluate.playtest.heatmaps import discomfort
from ambulo.evaluate.playtest.stuck import Stay
from ambulo.evaluate.shared.intervals import bootstrap_interval
from ambulo.evaluate.shared.result import Metric, MetricColumn, metric, unit_of
from ambulo.evaluate.vr.scores import EpisodeRecord

Verdict = Literal["better", "worse", "no clear difference"]

EDGE = 0.25
"""Shorter shortest ways have no ratios, [m]."""
MEASURES = (
    MetricColumn("success_rate", "journeys that reached the goal", 1, percent=True),
    MetricColumn("time_s", "time of these journeys, mean", 1),
    MetricColumn("time_ratio", "time / time of the shortest way at full speed"),
    MetricColumn("detour", "path walked / shortest way"),
    MetricColumn("stuck_s", "time lost while stuck, per journey"),
    MetricColumn("collisions", "collisions per journey"),
    MetricColumn("people_collisions", "of these with people"),
    MetricColumn("discomfort", "discomfort (1 - comfort score), mean", 3),
)
"""Measures of every journey; times, ratios and paths of those that succeed. Of all but
the first one less is better."""
Values = Mapping[str, NDArray[Any]]
"""Each of `MEASURES` of every journey, NaN where there is none; shapes (n,)."""


def measures_of(level: Level) -> tuple[MetricColumn, ...]:
    """Return those of `MEASURES` that there are in `level`."""
    peopled = level.people is not None
    return tuple(m for m in MEASURES if peopled or m.name != "people_collisions")


def journey_values(
    records: Sequence[EpisodeRecord], stays: Sequence[Stay], spec: WorldSpec
) -> Values:
    """Return the values of every journey."""
    success = np.array([r.success for r in records])
    optimal = np.array([r.optimal for r in records])
    time = np.array([r.time for r in records])
    path = np.array([r.path for r in records])
    stuck = np.zeros(len(records))
    for stay in stays:
        stuck[stay.episode] += stay.seconds
    valid = success & (optimal > EDGE)
    safe = np.maximum(optimal, EDGE)
    return {
        "success_rate": success,
        "time_s": np.where(success, time, np.nan),
        "time_ratio": np.where(valid, time * spec.max_speed / safe, np.nan),
        "detour": np.where(valid, np.maximum(path / safe, 1.0), np.nan),
        "stuck_s": stuck,
        "collisions": np.array([float(r.collisions) for r in records]),
        "people_collisions": np.array(
            [float(r.people_collisions) if r.peopled else np.nan for r in records]
        ),
        "discomfort": np.array(
            [float(discomfort(r.trace, spec.max_speed).mean()) for r in records]
        ),
    }


@dataclass(frozen=True)
class Difference:
    """A measure on the same journeys in two versions of a level."""

    measure: MetricColumn
    """Measure that is compared."""
    journeys: int
    """Journeys that have the measure in both."""
    ours: Metric
    """Mean in the level that is tested."""
    other: Metric
    """Mean in the other version."""
    difference: Metric
    """Mean of `ours` - `other` with its 95 % bootstrap interval, paired by journey."""

    @property
    def verdict(self) -> Verdict:
        """Whether the level is better than the other version, as far as it is known."""
        low, high = self.difference.low, self.difference.high
        if low is None or high is None or low <= 0.0 <= high:
            return "no clear difference"
        rises, wanted = low > 0.0, self.measure is MEASURES[0]
        return "better" if rises == wanted else "worse"

    def cells(self) -> list[str]:
        """Return the row of a table: measure, both means, difference, verdict."""
        text = self.measure.text
        return [
            self.measure.heading(self.ours.unit),
            text(self.ours),
            text(self.other),
            text(self.difference, signed=True),
            self.verdict,
        ]


def differences(ours: Values, other: Values, seed: int) -> list[Difference]:
    """Return the differences of paired journeys, all arrays of one shape (n,)."""
    rows = []
    for measure in MEASURES:
        a, b = (np.asarray(v[measure.name], np.float64) for v in (ours, other))
        both = np.isfinite(a) & np.isfinite(b)
        count, unit = int(both.sum()), unit_of(measure.name)
        ends = bootstrap_interval(a[both] - b[both], seed) if count > 1 else None
        means = [
            float(values[both].mean()) if count else None for values in (a, b, a - b)
        ]
        first, second = (metric(mean, unit) for mean in means[:2])
        change = metric(means[2], unit, ends)
        rows.append(Difference(measure, count, first, second, change))
    return rows
