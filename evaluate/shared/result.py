"""Result of an evaluation: one schema for every kind of model."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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

    @property
    def number(self) -> float:
        """The value, where it is always defined."""
        assert self.value is not None, "a metric that is always defined"
        return self.value


AgentMetrics = Mapping[str, Metric]
"""Metrics of one agent, by name."""
Values = Metric | float | NDArray[Any] | None
"""What a metric is made of; see `values_metric`."""


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


def values_metric(values: Values, unit: str = "1", seed: int = 0) -> Metric:
    """Return what `values` say of an agent, as a metric.

    Args:
        values: One number; or one of each episode, (n,): truth values give a rate with
            Wilson's interval, numbers their mean with a bootstrap interval, NaN left out.
        unit: Of numbers.
        seed: Of the bootstrap.
    """
    if values is None or isinstance(values, Metric):
        return values or Metric(None, unit=unit)
    many = np.asarray(values)
    if many.ndim == 0:
        return metric(float(many), unit)
    if many.dtype == np.bool_:
        return rate_metric(int(many.sum()), len(many))
    known = many[np.isfinite(many)]
    return mean_metric(known, seed, unit) if len(known) else Metric(None, unit=unit)


def unit_of(name: str) -> str:
    """Return the unit that the name of a metric ends in; "1" for others."""
    return next((unit for end, unit in _UNITS.items() if name.endswith(end)), "1")


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
    label: str = ""
    """Heading; its unit is added unless it is "1". Empty: in no table, JSON only."""
    digits: int = 2
    """Decimals."""
    percent: bool = False
    """Show a fraction as a percentage."""
    meaning: str = ""
    """Definition for the legend that the terminal shows; nothing: no line in it."""
    unit: str = ""
    """Unit, where the name does not end in it."""
    of: Callable[[Any], Values] | None = None
    """Measures what an agent did; None: an attribute or entry of it of this name."""

    def measure(self, done: Any, seed: int = 0) -> Metric:
        """Return the metric of what an agent did; of None it is not defined.

        `seed` is that of a bootstrap.
        """
        if done is None:
            values = None
        elif self.of is not None:
            values = self.of(done)
        elif isinstance(done, Mapping):
            values = done[self.name]
        else:
            values = getattr(done, self.name)
        return values_metric(values, self.unit or unit_of(self.name), seed)

    def heading(self, unit: str) -> str:
        """Return the label with its unit."""
        return self.label if unit == "1" or self.percent else f"{self.label} [{unit}]"

    def text(
        self, shown: Metric | None, *, wide: bool = True, signed: bool = False
    ) -> str:
        """Return the number, with its interval: both ends, or half its width.

        `signed` numbers are differences, with a plus too.
        """
        if shown is None or shown.value is None:
            return "-"
        scale = 100.0 if self.percent else 1.0

        def number(value: float) -> str:
            rounded = round(scale * value, self.digits) + 0.0
            return f"{rounded:{'+' if signed else ''}.{self.digits}f}"

        text = number(shown.value) + (" %" if self.percent else "")
        if shown.low is None or shown.high is None:
            return text
        low, high = number(shown.low), number(shown.high)
        if self.percent and not signed:
            return f"{text} ({low}-{high})"
        if wide:
            return f"{text} [{low}, {high}]"
        return f"{text} ±{scale * (shown.high - shown.low) / 2:.{self.digits}f}"


def measured(
    columns: Iterable[MetricColumn], done: Any, seed: int = 0
) -> dict[str, Metric]:
    """Return the metrics of one agent: all `columns` of what it has `done`."""
    return {column.name: column.measure(done, seed) for column in columns}


def measured_groups(
    columns: Iterable[MetricColumn],
    agents: Mapping[str, Mapping[str, Any]],
    seed: int = 0,
) -> dict[str, dict[str, AgentMetrics]]:
    """Return metrics by group and agent, of what each agent has done in each group.

    Args:
        columns: Metrics.
        agents: What was done, by agent and group, such as the families of levels.
        seed: Of bootstraps.
    """
    columns = tuple(columns)
    found: dict[str, dict[str, AgentMetrics]] = {}
    for agent, groups in agents.items():
        for group, done in groups.items():
            found.setdefault(group, {})[agent] = measured(columns, done, seed)
    return found


def column_notes(columns: Iterable[MetricColumn]) -> list[str]:
    """Return the meaning of each column as a sentence, for a report."""
    return [
        f"{c.label[0].upper()}{c.label[1:]}: {c.meaning}." for c in columns if c.meaning
    ]


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
