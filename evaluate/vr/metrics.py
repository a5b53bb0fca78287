"""Scores of VR agents in the schema of all evaluations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ambulo.envs.vr.task.metrics import COMFORT_PROXIES
from ambulo.evaluate.shared.result import (
    AgentMetrics,
    Breakdown,
    MetricColumn,
    field_metrics,
    metric,
    unit_of,
)
from ambulo.evaluate.vr.scores import EpisodeRecords, EvaluationResult

PEOPLE = "people_collisions_per_episode"
"""Metric of levels with people alone."""
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
_INTERVALS = {"success_rate": "success_ci95", "spl": "spl_ci95"}


def agent_metrics(scores: EvaluationResult) -> AgentMetrics:
    """Return the metrics of one agent."""
    names = [column.name for column in COLUMNS if column.name != PEOPLE]
    if scores.people_collisions_per_episode is not None:
        names.append(PEOPLE)
    return field_metrics(scores, names, intervals=_INTERVALS)


def breakdowns(results: Mapping[str, EvaluationResult]) -> list[Breakdown]:
    """Return the scores by level family, by level, and the comfort proxies."""
    first = next(iter(results.values()))
    people = first.people_collisions_per_episode is not None
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
            "family", _grouped(results, "per_family"),
            columns if len(first.per_family) > 1 else (),
            "family " if people else title,
        ),
        Breakdown("level", _grouped(results, "per_level")),
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


def _grouped(
    results: Mapping[str, EvaluationResult], attribute: str
) -> dict[str, dict[str, AgentMetrics]]:
    groups: dict[str, dict[str, AgentMetrics]] = {}
    for agent, scores in results.items():
        for value, row in getattr(scores, attribute).items():
            groups.setdefault(value, {})[agent] = {
                name: metric(number, unit_of(name)) for name, number in row.items()
            }
    return groups
