"""Result of an evaluation: one schema for every kind of model."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from ambulo.common.files import without_nan
from ambulo.configs.arrays import Floats
from ambulo.evaluate.shared.intervals import (
    Interval,
    bootstrap_interval,
    wilson_interval,
)

FORMAT, VERSION = "ambulo-evaluation", 1
POLICY = "policy"
"""Name of the evaluated model among the agents."""


NOTHING: Mapping[str, str] = MappingProxyType({})
"""An empty mapping."""
_UNITS = {
    "_cm_s": "cm/s", "_s": "s", "_mm": "mm", "_cm": "cm", "_m": "m", "_deg": "deg",
    "_rad": "rad",
}  # fmt: skip
"""Ends of names of metrics that tell their unit."""


@dataclass(frozen=True)
class Metric:
    """One number of one agent."""

    value: float | None
    """None where it is not defined."""
    low: float | None = None
    """Lower end of the 95 % interval."""
    high: float | None = None
    """Upper end of the 95 % interval."""
    unit: str = "1"
    """Unit of all three."""


AgentMetrics = Mapping[str, Metric]
"""Metrics of one agent, by name."""


def metric(value: float | None, unit: str = "1", ci: Interval | None = None) -> Metric:
    """Return a `Metric`; NaN becomes None."""
    if value is None or not math.isfinite(value):
        return Metric(None, unit=unit)
    low, high = ci if ci is not None else (None, None)
    return Metric(value, low, high, unit)


def mean_metric(values: Floats, seed: int, unit: str = "1") -> Metric:
    """Return the mean of `values` (n,) with its bootstrap interval."""
    return metric(float(values.mean()), unit, bootstrap_interval(values, seed))


def rate_metric(hits: float, count: float) -> Metric:
    """Return the rate of `hits` of `count` trials with its Wilson interval."""
    if not count:
        return metric(None)
    return metric(hits / count, ci=wilson_interval(round(hits), round(count)))


def unit_of(name: str, units: Mapping[str, str] = NOTHING) -> str:
    """Return the unit of a metric: that of `units`, or what its name ends in."""
    ends = (unit for end, unit in _UNITS.items() if name.endswith(end))
    return units.get(name) or next(ends, "1")


def field_metrics(
    scores: object,
    names: Iterable[str],
    units: Mapping[str, str] = NOTHING,
    intervals: Mapping[str, str] = NOTHING,
) -> dict[str, Metric]:
    """Return attributes of `scores` as metrics.

    Args:
        scores: Object with the numbers.
        names: Attributes.
        units: Units that their names do not end in.
        intervals: Attributes with the intervals of some of them.
    """
    return {
        name: metric(
            getattr(scores, name),
            unit_of(name, units),
            getattr(scores, intervals[name]) if name in intervals else None,
        )
        for name in names
    }


def episode_rows(
    agents: Mapping[str, Iterable[Mapping[str, Any]]],
) -> list[dict[str, Any]]:
    """Return the rows of all agents in one list, with agent and number of the episode."""
    return [
        {"agent": agent, "episode": number, **row}
        for agent, rows in agents.items()
        for number, row in enumerate(rows)
    ]


def main_agent(agents: Iterable[str]) -> str:
    """Return the agent that a report is about: the (first) policy, or the last baseline."""
    names = list(agents)
    return next(filter(is_policy, names), names[-1])


def is_policy(name: str) -> bool:
    """Whether an agent of this name is the evaluated model, perhaps in one of its settings."""
    return name == POLICY or name.startswith(f"{POLICY} ")


@dataclass(frozen=True)
class MetricColumn:
    """How tables and reports show one metric."""

    name: str
    """Metric, as in the JSON."""
    label: str
    """Heading; its unit is added unless it is "1"."""
    digits: int = 2
    """Decimals."""
    percent: bool = False
    """Show a fraction as a percentage."""
    meaning: str = ""
    """Definition for the legend that the terminal shows; nothing: no line in it."""

    def heading(self, unit: str) -> str:
        """Return the label with its unit."""
        return self.label if unit == "1" or self.percent else f"{self.label} [{unit}]"

    def text(self, shown: Metric | None, *, wide: bool = True) -> str:
        """Return the number, with its interval: both ends, or half its width."""
        if shown is None or shown.value is None:
            return "-"
        scale = 100.0 if self.percent else 1.0
        text = f"{round(scale * shown.value, self.digits) + 0.0:.{self.digits}f}"
        if shown.low is not None and shown.high is not None:
            low, high = scale * shown.low, scale * shown.high
            if self.percent:
                return f"{text} % ({low:.{self.digits}f}-{high:.{self.digits}f})"
            if wide:
                text += f" [{low:.{self.digits}f}, {high:.{self.digits}f}]"
            else:
                text += f" ±{(high - low) / 2:.{self.digits}f}"
        return f"{text} %" if self.percent else text


def column_notes(columns: Iterable[MetricColumn]) -> list[str]:
    """Return the meaning of each column as a sentence, for a report."""
    return [f"{c.label[0].upper()}{c.label[1:]}: {c.meaning}." for c in columns]


@dataclass(frozen=True)
class Breakdown:
    """Metrics of all agents by the values of one variable."""

    by: str
    """Variable, such as "family"."""
    scores: Mapping[str, Mapping[str, AgentMetrics]]
    """By value, then by agent."""
    columns: Sequence[MetricColumn] = ()
    """What tables show; nothing: JSON only."""
    title: str = ""
    """Title of the table."""
    in_terminal: bool = True
    """Whether the terminal shows it too."""


class Picture(NamedTuple):
    """A picture of a report."""

    name: str
    """File name."""
    caption: str
    """Title."""
    png: bytes
    """PNG data."""


@dataclass(frozen=True)
class ModelEvaluation:
    """Everything that an evaluation measured."""

    model: str
    """Model file, or "none"."""
    kind: str
    """Kind of the model."""
    episodes: int
    """Episodes, windows, poses or gaits of each agent; `evaluated` says which."""
    seed: int
    """Seed of everything random."""
    command: str
    """Command line."""
    evaluated: str
    """What the agents were evaluated on, as a sentence."""
    agents: Mapping[str, AgentMetrics]
    """By agent: `policy`, then the baselines."""
    columns: Sequence[MetricColumn]
    """Columns of the main table."""
    headline: Sequence[str] = ()
    """Metrics shown large at the top of the report."""
    breakdowns: Sequence[Breakdown] = ()
    """The same metrics, or others, by a variable."""
    rows: Sequence[Mapping[str, Any]] = ()
    """One row per agent and episode."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Curves and settings, as plain JSON."""
    notes: Sequence[str] = ()
    """Definitions, for the report."""

    @property
    def main_agent(self) -> str:
        """Agent that the report is about; see the function of this name."""
        return main_agent(self.agents)

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as plain JSON."""

        def plain(agents: Mapping[str, AgentMetrics]) -> dict[str, Any]:
            return {
                agent: {name: asdict(value) for name, value in metrics.items()}
                for agent, metrics in agents.items()
            }

        data = {
            "format": FORMAT,
            "version": VERSION,
            "model": self.model,
            "kind": self.kind,
            "episodes": self.episodes,
            "seed": self.seed,
            "command": self.command,
            "evaluated": self.evaluated,
            "agents": plain(self.agents),
            "groups": {
                group.by: {value: plain(row) for value, row in group.scores.items()}
                for group in self.breakdowns
            },
            "details": dict(self.details),
            "rows": [dict(row) for row in self.rows],
        }
        cleaned: dict[str, Any] = without_nan(data)
        return cleaned

    def to_json(self) -> str:
        """Return the evaluation as JSON text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"
