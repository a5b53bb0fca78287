"""Clips under other masses, friction and delays, and under pushes of chosen impulses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ambulo.configs.arrays import Bools
from ambulo.envs.simulation.variants import Variant
from ambulo.envs.tasks.track import TrackBatch
from ambulo.evaluate.locomotion.perturbations import Perturbation, Perturbed
from ambulo.evaluate.shared.result import (
    AgentMetrics,
    Metric,
    MetricColumn,
    metric,
    rate_metric,
)
from ambulo.evaluate.tracking.episodes import Starts, Tracked, Tracker, joined, play

COLUMNS = (
    MetricColumn("success", "to the end", 0, percent=True),
    MetricColumn("joint_error_cm", "joints", 1),
)
NOTHING = {"success": metric(None), "joint_error_cm": metric(None, "cm")}
"""Metrics where a perturbation is missing."""
Progress = Callable[[str, int], None]
"""Called with an agent's name and the number of its episodes that have just ended."""


def rate(good: Bools) -> Metric:
    """Return the share of episodes that are `good`, (E,)."""
    return rate_metric(int(np.count_nonzero(good)), len(good))


def joint_error(tracked: Tracked) -> Metric:
    """Return the mean joint error of the episodes that reach the end, [cm]."""
    done = tracked.success
    return metric(100.0 * tracked.error[done].mean() if done.any() else None, "cm")


def pushed(
    batch: TrackBatch,
    trackers: Mapping[str, Tracker],
    starts: Starts,
    impulses: Sequence[float],
    *,
    seed: int,
    progress: Progress,
) -> dict[str, dict[str, AgentMetrics]]:
    """Return the metrics of all agents by the impulse of one push, [N s]."""
    rows: dict[str, dict[str, AgentMetrics]] = {}
    for impulse in impulses:
        row = rows.setdefault(f"{impulse:g} N s", {})
        for name, tracker in trackers.items():
            row[name] = _metrics(
                play(batch, tracker, starts, seed=seed, impulse=impulse)
            )
            progress(name, len(starts))
    return rows


def perturbed(
    batch: TrackBatch,
    trackers: Mapping[str, Tracker],
    starts: Starts,
    suite: Sequence[Perturbation],
    *,
    seed: int,
    progress: Progress,
) -> Perturbed:
    """Return the metrics of all agents under each perturbation of `suite`.

    Args:
        batch: Bodies without perturbations; others are made like them.
        trackers: By name.
        starts: Of the episodes, which are divided among the variants of a perturbation; at
            least one for each.
        suite: What is tried.
        seed: Of noise.
        progress: Called with finished episodes.
    """
    rows: dict[str, Mapping[str, AgentMetrics]] = {}
    for one in suite:
        if one.missing:
            rows[one.name] = dict.fromkeys(trackers, NOTHING)
            continue
        parts: dict[str, list[Tracked]] = {name: [] for name in trackers}
        count = len(one.variants)
        for k, variant in enumerate(one.variants):
            own = Starts(starts.clip[k::count], starts.step[k::count])
            varied = _like(batch, one, variant, len(own))
            for name, tracker in trackers.items():
                parts[name].append(play(varied, tracker, own, seed=seed))
                progress(name, len(own))
        rows[one.name] = {name: _metrics(joined(p)) for name, p in parts.items()}
    return Perturbed(suite, rows)


def _like(
    batch: TrackBatch, perturbation: Perturbation, variant: Variant, count: int
) -> TrackBatch:
    """Bodies that follow the clips of `batch` under a perturbation, at most `count`."""
    config = batch.config.override("environment", **perturbation.settings)
    return TrackBatch(
        config,
        batch.reference,
        batch.character,
        num_envs=min(count, batch.num_envs),
        variant=variant,
    )


def _metrics(tracked: Tracked) -> AgentMetrics:
    return {"success": rate(tracked.success), "joint_error_cm": joint_error(tracked)}
