"""Tables of an evaluation, for the terminal and for reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console

from ambulo.common.tables import print_rows
from ambulo.evaluate.shared.result import (
    AgentMetrics,
    Breakdown,
    MetricColumn,
    ModelEvaluation,
    is_policy,
)

MAX_JOINED = 3
"""A breakdown with more columns has one table per value."""

Cells = tuple[str, list[str], list[list[str]]]
"""Title, headings and rows of a table."""


def print_tables(evaluation: ModelEvaluation, console: Console) -> None:
    """Print the scores of all agents with a legend, then every breakdown."""

    def show(title: str, heads: list[str], rows: list[list[str]]) -> None:
        bold = [is_policy(row[0]) for row in rows]
        print_rows(title, heads, rows, bold=bold, console=console)

    main = main_cells(evaluation, wide=False)
    show(*main)
    for name, meaning in legend(evaluation, main[2]):
        console.print(
            f" {name}: {meaning}", soft_wrap=True, markup=False, highlight=False
        )
    console.print()
    for cells in breakdown_cells(evaluation, wide=False):
        show(*cells)


def legend(
    evaluation: ModelEvaluation, rows: Sequence[Sequence[str]]
) -> Iterator[tuple[str, str]]:
    """Yield what to read in the `rows` of the main table, with its meaning."""
    for column in evaluation.columns:
        if column.meaning and _any_known(evaluation.agents, column.name):
            yield column.label, column.meaning
    cells = [cell for row in rows for cell in row[1:]]
    if any(cell.endswith(")") for cell in cells):
        yield "(a-b)", "95 % confidence interval, from a to b"
    if any("±" in cell for cell in cells):
        yield "±c", "half the width of the 95 % confidence interval"


def main_cells(evaluation: ModelEvaluation, *, wide: bool) -> Cells:
    """Return the table of all agents; `wide` shows both ends of intervals."""
    heads, rows = _agent_rows(evaluation.agents, evaluation.columns, wide=wide)
    return evaluation.evaluated, heads, rows


def breakdown_cells(evaluation: ModelEvaluation, *, wide: bool) -> Iterator[Cells]:
    """Yield the tables of the breakdowns that have columns; `wide`: of the report."""
    for group in evaluation.breakdowns:
        if not (group.columns and group.scores and (wide or group.in_terminal)):
            continue
        if len(group.columns) <= MAX_JOINED:
            yield _joined_cells(group, wide=wide)
            continue
        for value, agents in group.scores.items():
            yield (group.title + value, *_agent_rows(agents, group.columns, wide=wide))


def _agent_rows(
    agents: Mapping[str, AgentMetrics], columns: Sequence[MetricColumn], *, wide: bool
) -> tuple[list[str], list[list[str]]]:
    """Return headings and one row per agent."""
    shown = [c for c in columns if c.label and _any_known(agents, c.name)]
    heads = ["agent", *(c.heading(_unit(agents, c.name)) for c in shown)]
    rows = [
        [agent, *(c.text(metrics.get(c.name), wide=wide) for c in shown)]
        for agent, metrics in agents.items()
    ]
    return heads, rows


def _joined_cells(group: Breakdown, *, wide: bool) -> Cells:
    """Return a table with one row per value and one column per agent."""
    agents = list(dict.fromkeys(name for row in group.scores.values() for name in row))

    def label(value: str) -> str:
        first = group.columns[0]
        alone = len(group.columns) == 1
        return MetricColumn("", value, percent=first.percent or not alone).heading(
            _unit(group.scores[value], first.name)
        )

    rows = [
        [
            label(value),
            *(
                (" / " if wide else "/").join(
                    column.text(row[agent].get(column.name), wide=wide)
                    for column in group.columns
                )
                if any(_known(row.get(agent, {}), c.name) for c in group.columns)
                else "-"
                for agent in agents
            ),
        ]
        for value, row in group.scores.items()
    ]
    return group.title, [group.by, *agents], rows


def _known(metrics: AgentMetrics, name: str) -> bool:
    return name in metrics and metrics[name].value is not None


def _any_known(agents: Mapping[str, AgentMetrics], name: str) -> bool:
    return any(_known(metrics, name) for metrics in agents.values())


def _unit(agents: Mapping[str, AgentMetrics], name: str) -> str:
    return next(m[name].unit for m in agents.values() if name in m)
