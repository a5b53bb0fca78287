"""Scores of the agents of a game: returns, success, lengths and reward terms by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ambulo.evaluate.game.play import EpisodeTable
from ambulo.evaluate.shared.result import (
    AgentMetrics,
    Breakdown,
    Metric,
    MetricColumn,
    mean_metric,
    rate_metric,
)

COLUMNS = (
    MetricColumn(
        "return_mean", "return", 2, meaning="sum of the rewards of an episode"
    ),
    MetricColumn("success_rate", "success", 1, percent=True),
    MetricColumn("length_mean", "length", 0, meaning="steps of an episode"),
)
"""Columns of the main table."""
HEADLINE = ("return_mean", "success_rate")
"""Metrics shown large at the top of the report."""


def scores_of(tables: Mapping[str, EpisodeTable]) -> dict[str, float]:
    """Return the scores that trainings log: over all kinds, and of each of several."""
    whole = joined(tables)
    scores = _numbers(whole)
    if len(tables) > 1:
        for name, table in tables.items():
            own = _numbers(table)
            scores |= {f"{key}/{name}": value for key, value in own.items()}
    return scores


def joined(tables: Mapping[str, EpisodeTable]) -> EpisodeTable:
    """Return the episodes of all kinds in one table, without reward terms."""
    whole = EpisodeTable()
    for table in tables.values():
        whole.returns += table.returns
        whole.lengths += table.lengths
        whole.successes += table.successes
    return whole


def metrics_of(table: EpisodeTable, seed: int) -> AgentMetrics:
    """Return the metrics of a table with their intervals."""
    metrics: dict[str, Metric] = {
        "return_mean": mean_metric(np.array(table.returns), seed),
        "length_mean": mean_metric(np.array(table.lengths, float), seed),
    }
    said = [success for success in table.successes if not np.isnan(success)]
    metrics["success_rate"] = rate_metric(sum(said), len(said))
    return metrics


def breakdowns_of(
    played: Mapping[str, Mapping[str, EpisodeTable]], seed: int
) -> list[Breakdown]:
    """Return the metrics by kind, where there are several, and the reward terms.

    Args:
        played: tables by agent, then by kind.
        seed: of intervals.
    """
    kinds = list(dict.fromkeys(kind for tables in played.values() for kind in tables))
    found = []
    if len(kinds) > 1:
        by_kind = {
            kind: {
                agent: metrics_of(tables[kind], seed)
                for agent, tables in played.items()
                if kind in tables and tables[kind].returns
            }
            for kind in kinds
        }
        found.append(Breakdown("kind", by_kind, COLUMNS, "by kind of agent"))
    for kind in kinds:
        title = "reward terms of an episode"
        found += _terms(
            {agent: tables[kind] for agent, tables in played.items() if kind in tables},
            seed,
            title if len(kinds) == 1 else f"{title}, {kind}",
        )
    return found


def _terms(
    tables: Mapping[str, EpisodeTable], seed: int, title: str
) -> Sequence[Breakdown]:
    names = list(dict.fromkeys(n for table in tables.values() for n in table.terms))
    if not names:
        return []
    rows = {
        name: {
            agent: {"sum": mean_metric(np.array(table.terms[name]), seed)}
            for agent, table in tables.items()
            if table.terms.get(name)
        }
        for name in names
    }
    return [Breakdown("term", rows, (MetricColumn("sum", "sum", 2),), title)]


def _numbers(table: EpisodeTable) -> dict[str, float]:
    said = [success for success in table.successes if not np.isnan(success)]
    return {
        "return_mean": float(np.mean(table.returns)) if table.returns else 0.0,
        "success_rate": float(np.mean(said)) if said else 0.0,
        "length_mean": float(np.mean(table.lengths)) if table.lengths else 0.0,
        **{
            f"reward/{name}": float(np.mean(values))
            for name, values in table.terms.items()
        },
    }
