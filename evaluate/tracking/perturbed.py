"""Clips under other masses, friction and delays, and under pushes of chosen impulses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ambulo.configs.arrays import Bools
from ambulo.envs.simulation.variants import Variant
from ambulo.envs.tasks.track import TrackBatch
from ambulo.evaluate.locomotion.perturbations import Perturbation
from ambulo.evaluate.shared.result import AgentMetrics, MetricColumn, measured_groups
from ambulo.evaluate.tracking.episodes import Starts, Tracked, Tracker, joined, play

Progress = Callable[[str, int], None]
"""Called with an agent's name and the number of its episodes that have just ended."""


def joint_error_cm(tracked: Tracked) -> float | None:
    """Return the mean joint error of the episodes that reach the end, [cm]."""
    done: Bools = tracked.success
    return 100.0 * float(tracked.error[done].mean()) if done.any() else None


COLUMNS = (
    MetricColumn("success", "to the end", 0, percent=True),
    MetricColumn("joint_error_cm", "joints", 1, of=joint_error_cm),
)


def pushes(impulses: Sequence[float]) -> list[Perturbation]:
    """Return the perturbations that are a push of each of `impulses`, [N s]."""
    return [Perturbation(f"{one:g} N s", impulse=one) for one in impulses]


def perturbed(
    batch: TrackBatch,
    trackers: Mapping[str, Tracker],
    starts: Starts,
    suite: Sequence[Perturbation],
    *,
    seed: int,
    progress: Progress,
) -> dict[str, dict[str, AgentMetrics]]:
    """Return the metrics of all agents under each perturbation of `suite`.

    Args:
        batch: Bodies without perturbations; others are made like them.
        trackers: By name.
        starts: Of the episodes, which are divided among the variants of a perturbation; at
            least one for each.
        suite: What is tried.
        seed: Of noise and pushes.
        progress: Called with finished episodes.
    """
    found: dict[str, dict[str, Tracked | None]] = {name: {} for name in trackers}
    for one in suite:
        parts: dict[str, list[Tracked]] = {name: [] for name in trackers}
        count = len(one.variants)
        for k, variant in enumerate(() if one.missing else one.variants):
            own = Starts(starts.clip[k::count], starts.step[k::count])
            bodies = batch if one.impulse else _like(batch, one, variant, len(own))
            for name, tracker in trackers.items():
                parts[name].append(
                    play(bodies, tracker, own, seed=seed, impulse=one.impulse)
                )
                progress(name, len(own))
        for name, played in parts.items():
            found[name][one.name] = joined(played) if played else None
    return measured_groups(COLUMNS, found)


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
