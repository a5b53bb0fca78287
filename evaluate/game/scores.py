"""Scores of the agents of a game: returns, success, lengths and reward terms by name."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ambulo.configs.arrays import Bools
from ambulo.evaluate.game.play import EpisodeTable
from ambulo.evaluate.shared.result import Breakdown, MetricColumn, measured_groups


def _said(table: EpisodeTable) -> Bools:
    """Whether each episode was a success, of those of which the game says it."""
    known = [success for success in table.successes if not np.isnan(success)]
    return np.array(known, np.bool_)


COLUMNS = (
    MetricColumn(
        "return_mean", "return", meaning="sum of the rewards of an episode",
        of=lambda table: np.array(table.returns),
    ),
    MetricColumn("success_rate", "success", 1, percent=True, of=_said),
    MetricColumn(
        "length_mean", "length", 0, meaning="steps of an episode",
        of=lambda table: np.array(table.lengths, np.float64),
    ),
)  # fmt: skip
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
        own = {
            agent: {kind: table for kind, table in tables.items() if table.returns}
            for agent, tables in played.items()
        }
        by_kind = measured_groups(COLUMNS, own, seed)
        found.append(Breakdown("kind", by_kind, COLUMNS, "by kind of agent"))
    total = MetricColumn("sum", "sum", of=np.array)
    for kind in kinds:
        terms = {
            agent: {name: sums for name, sums in tables[kind].terms.items() if sums}
            for agent, tables in played.items()
            if kind in tables
        }
        rows = measured_groups([total], terms, seed)
        title = "reward terms of an episode"
        title = title if len(kinds) == 1 else f"{title}, {kind}"
        if rows:
            found.append(Breakdown("term", rows, (total,), title))
    return found


def _numbers(table: EpisodeTable) -> dict[str, float]:
    said = _said(table)
    return {
        "return_mean": float(np.mean(table.returns)) if table.returns else 0.0,
        "success_rate": float(np.mean(said)) if len(said) else 0.0,
        "length_mean": float(np.mean(table.lengths)) if table.lengths else 0.0,
        **{
            f"reward/{name}": float(np.mean(values))
            for name, values in table.terms.items()
        },
    }
