"""Tables of evaluations say what their numbers and intervals are."""

from __future__ import annotations

from io import StringIO

import numpy as np
from rich.console import Console

from ambulo.evaluate.shared.result import (
    POLICY,
    Metric,
    MetricColumn,
    ModelEvaluation,
    measured_groups,
    rate_metric,
)
from ambulo.evaluate.shared.tables import print_tables


def printed(columns: list[MetricColumn], metrics: dict[str, Metric]) -> list[str]:
    """Lines of the tables of one agent."""
    evaluation = ModelEvaluation(
        model="m.zip", kind="k", episodes=2, seed=0, command="ambulo eval", columns=columns,
        evaluated="2 episodes", agents={POLICY: metrics},
    )  # fmt: skip
    text = StringIO()
    print_tables(evaluation, Console(file=text, width=80))
    return [line.strip() for line in text.getvalue().splitlines()]


def test_the_title_is_what_was_evaluated_and_intervals_have_a_legend():
    rate = MetricColumn("rate", "solved", 0, percent=True, meaning="solved episodes")
    time = MetricColumn("time_s", "time", 1)
    lines = printed(
        [rate, time],
        {"rate": Metric(0.5, 0.25, 0.75), "time_s": Metric(3.0, 2.5, 4.5, "s")},
    )
    assert lines[0] == "2 episodes"
    assert any("50 % (25-75)" in line and "3.0 ±1.0" in line for line in lines)
    assert "solved: solved episodes" in lines
    assert "(a-b): 95 % confidence interval, from a to b" in lines
    assert "±c: half the width of the 95 % confidence interval" in lines


def test_the_legend_names_only_what_is_shown():
    rate = MetricColumn("rate", "solved", 0, percent=True, meaning="solved episodes")
    lines = printed([rate, MetricColumn("n", "falls", 0)], {"n": Metric(2.0)})
    text = "\n".join(lines)
    assert "falls" in text
    assert "solved" not in text
    assert "interval" not in text


def test_a_column_measures_what_an_agent_did() -> None:
    time = MetricColumn("time_s")
    solved = MetricColumn("rate", of=lambda done: done["solved"])
    unknown = {"time_s": np.array([np.nan]), "solved": None}
    known = {"time_s": np.array([1.0, 3.0, np.nan]), "solved": np.array([True, False])}
    agents = {"policy": {"open": known, "maze": unknown}, "oracle": {"open": None}}
    found = measured_groups((time, solved), agents)
    assert list(found) == ["open", "maze"]
    first = found["open"]["policy"]
    assert (first["time_s"].value, first["time_s"].unit) == (2.0, "s")
    assert first["time_s"].low == 1.0
    assert first["rate"] == rate_metric(1, 2)
    for other in (found["maze"]["policy"], found["open"]["oracle"]):
        assert (other["time_s"], other["rate"].value) == (Metric(None, unit="s"), None)
    assert MetricColumn("rate", percent=True).text(
        Metric(0.05, -0.01, 0.1), signed=True
    ) == ("+5.00 % [-1.00, +10.00]")
