"""Scores of VR agents in the schema of all evaluations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ambulo.envs.vr.task.metrics import COMFORT_PROXIES
from ambulo.evaluate.shared.result import (
    AgentMetrics,
    Breakdown,
    MetricColumn,
    metric,
)
from ambulo.evaluate.vr.scores import PEOPLE, EpisodeRecords, EvaluationResult

COLUMNS = (
    MetricColumn(
        "success_rate", "success", 0, percent=True, meaning="episodes solved"
    ),
    MetricColumn(
        "spl", "SPL",
        meaning="success weighted by path length; 1: the shortest path in every episode",
    ),
    MetricColumn("soft_spl", "SoftSPL"),
    MetricColumn("barn", "BARN"),
    MetricColumn("collisions_per_episode", "collisions", meaning="events per episode"),
    MetricColumn(PEOPLE, "people collisions"),
    MetricColumn("falls", "falls", 0),
    MetricColumn("timeouts", "timeouts", 0),
    MetricColumn("mean_time_s", "time", 1),
    MetricColumn("mean_path_m", "path", 1),
    MetricColumn("comfort_score", "comfort"),
    MetricColumn("comfort_index", "comfort index"),
    MetricColumn("return_mean", "return", 0),
)  # fmt: skip
HEADLINE = (
    "success_rate", "spl", "collisions_per_episode", "falls", "mean_time_s",
    "comfort_score",
)  # fmt: skip
FAMILY_COLUMNS = (
    MetricColumn("success_rate", "success"),
    MetricColumn("spl", "SPL"),
    MetricColumn("collisions_per_episode", "collisions", 1),
    MetricColumn(PEOPLE, "people collisions", 1),
)
NOTES = (
    "SPL: success weighted by path length, against the shortest walkable path to the "
    "edge of the goal. BARN: success against time, 0.5 at best. Collisions: events per "
    "episode.",
    "Comfort proxies are physical quantities that the literature links to discomfort in "
    "VR. None of them measures how a person feels.",
)


def breakdowns(results: Mapping[str, EvaluationResult]) -> list[Breakdown]:
    """Return the scores by level family, by level, and the comfort proxies."""
    first = next(iter(results.values()))
    people = PEOPLE in first.metrics
    columns = FAMILY_COLUMNS if people else FAMILY_COLUMNS[:-1]
    title = "by family: success / SPL / collisions per episode"
    proxies: dict[str, dict[str, AgentMetrics]] = {
        key: {
            agent: {"value": metric(scores.comfort[key], proxy.unit)}
            for agent, scores in results.items()
        }
        for key, proxy in COMFORT_PROXIES.items()
    }
    return [
        Breakdown(
            "family", _by_value({n: r.per_family for n, r in results.items()}),
            columns if len(first.per_family) > 1 else (),
            "family " if people else title,
        ),
        Breakdown("level", _by_value({n: r.per_level for n, r in results.items()})),
        Breakdown(
            "comfort_proxy", proxies, (MetricColumn("value", "value", 3),),
            "comfort proxies", in_terminal=False,
        ),
    ]  # fmt: skip


def record_rows(records: EpisodeRecords) -> Iterator[dict[str, Any]]:
    """Yield one row per episode of an agent."""
    peopled = any(one.peopled for one in records.episodes)
    for one, spl in zip(records.episodes, records.spl().tolist(), strict=True):
        yield {
            "level": one.level.name,
            "family": one.level.family,
            "success": one.success,
            "spl": spl,
            "fell": one.fell,
            "timeout": one.timeout,
            "collisions": one.collisions,
            **({"people_collisions": one.people_collisions} if peopled else {}),
            "time_s": one.time,
            "path_m": one.path,
            "shortest_path_m": one.optimal,
            "comfort_score": one.comfort,
            "comfort_index": one.comfort_index,
            "return": one.reward,
        }


def _by_value(
    groups: Mapping[str, Mapping[str, AgentMetrics]],
) -> dict[str, dict[str, AgentMetrics]]:
    """Return metrics by value and agent, which are given by agent and value."""
    found: dict[str, dict[str, AgentMetrics]] = {}
    for agent, values in groups.items():
        for value, metrics in values.items():
            found.setdefault(value, {})[agent] = metrics
    return found
