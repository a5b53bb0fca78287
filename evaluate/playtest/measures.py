"""Numbers of one journey, their means over a play-test, and differences of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.evaluate.playtest.heatmaps import discomfort
from ambulo.evaluate.playtest.stuck import Stay
from ambulo.evaluate.shared.intervals import bootstrap_interval
from ambulo.evaluate.shared.result import Metric, mean_metric, metric, rate_metric
from ambulo.evaluate.vr.scores import EpisodeRecord

Verdict = Literal["better", "worse", "no clear difference"]

EDGE = 0.25
"""Shorter shortest ways have no ratios, [m]."""


@dataclass(frozen=True)
class Measure:
    """One number of a journey."""

    name: str
    """Key in files."""
    title: str
    """In tables."""
    unit: str
    """Unit."""
    better: Literal["higher", "lower"]
    """Which values are good."""
    digits: int = 2
    """Digits after the point in tables."""

    def text(self, value: float | None, *, signed: bool = False) -> str:
        """Return a value with its unit, for people."""
        if value is None:
            return "-"
        sign = "+" if signed else ""
        if self.unit == "%":
            return f"{100.0 * value:{sign}.{self.digits}f} %"
        unit = "" if self.unit == "1" else f" {self.unit}"
        return f"{value:{sign}.{self.digits}f}{unit}"


MEASURES = (
    Measure("success_rate", "journeys that reached the goal", "%", "higher", 1),
    Measure("time_s", "time of these journeys, mean", "s", "lower", 1),
    Measure(
        "time_ratio", "time / time of the shortest way at full speed", "1", "lower"
    ),
    Measure("detour", "path walked / shortest way", "1", "lower"),
    Measure("stuck_s", "time lost while stuck, per journey", "s", "lower"),
    Measure("collisions", "collisions per journey", "1", "lower"),
    Measure("people_collisions", "of these with people", "1", "lower"),
    Measure("discomfort", "discomfort (1 - comfort score), mean", "1", "lower", 3),
)
"""What is measured of every journey; times, ratios and paths of those that succeed."""


def measures_of(level: Level) -> tuple[Measure, ...]:
    """Return those of `MEASURES` that there are in `level`."""
    peopled = level.people is not None
    return tuple(m for m in MEASURES if peopled or m.name != "people_collisions")


def journey_values(
    records: Sequence[EpisodeRecord], stays: Sequence[Stay], spec: WorldSpec
) -> dict[str, Floats]:
    """Return each of `MEASURES` of every journey, NaN where there is none; shapes (n,)."""
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
        "success_rate": success.astype(np.float64),
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


def mean_metrics(values: Mapping[str, Floats], seed: int) -> dict[str, Metric]:
    """Return the mean of each measure with its 95 % interval; `seed` of the bootstrap."""
    found = {}
    for measure in MEASURES:
        known = values[measure.name][np.isfinite(values[measure.name])]
        unit = "1" if measure.unit == "%" else measure.unit
        if len(known) == 0:
            found[measure.name] = metric(None, unit)
        elif measure.unit == "%":
            found[measure.name] = rate_metric(int(known.sum()), len(known))
        else:
            found[measure.name] = mean_metric(known, seed, unit)
    return found


@dataclass(frozen=True)
class Difference:
    """A measure on the same journeys in two versions of a level."""

    measure: Measure
    """Of what."""
    journeys: int
    """Journeys that have the measure in both."""
    ours: float | None
    """Mean in the level that is tested."""
    other: float | None
    """Mean in the other version."""
    difference: Metric
    """Mean of `ours` - `other` with its 95 % bootstrap interval, paired by journey."""

    @property
    def verdict(self) -> Verdict:
        """Whether the level is better than the other version, as far as it is known."""
        low, high = self.difference.low, self.difference.high
        if low is None or high is None or low <= 0.0 <= high:
            return "no clear difference"
        rises = low > 0.0
        return "better" if rises == (self.measure.better == "higher") else "worse"


def differences(
    ours: Mapping[str, Floats], other: Mapping[str, Floats], seed: int
) -> list[Difference]:
    """Return the differences of paired journeys, all arrays of one shape (n,)."""
    rows = []
    for measure in MEASURES:
        a, b = ours[measure.name], other[measure.name]
        both = np.isfinite(a) & np.isfinite(b)
        a, b = a[both], b[both]
        unit = "1" if measure.unit == "%" else measure.unit
        ends = bootstrap_interval(a - b, seed) if len(a) > 1 else None
        mean = float((a - b).mean()) if len(a) else None
        rows.append(
            Difference(
                measure, len(a),
                float(a.mean()) if len(a) else None,
                float(b.mean()) if len(b) else None,
                metric(mean, unit, ends),
            )
        )  # fmt: skip
    return rows
