"""The definition of lost, on episodes whose answer is known by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.families import generate
from ambulo.envs.vr.task.metrics import Trace
from ambulo.evaluate.vr.lost.alarms import said
from ambulo.evaluate.vr.lost.labels import lost_labels, lost_task, stalled_seconds
from ambulo.evaluate.vr.scores import EpisodeRecord


def episode(x: list[float], *, success: bool = True) -> EpisodeRecord:
    """An episode along +x whose goal is at x = 11, one decision a second."""
    count = len(x)
    position = np.column_stack([x, np.zeros(count), np.zeros(count)])
    still = np.zeros(count)
    counts = np.zeros(count, np.int64)
    trace = Trace(
        dt=1.0, position=position, yaw=still, velocity=0.0 * position, yaw_rate=still,
        clearance=still, contact_ticks=counts, snaps=counts,
        distance=np.abs(11.0 - np.array(x)),
    )  # fmt: skip
    level = replace(generate("open", 0), goal=np.array([11.0, 0.0]))
    return EpisodeRecord(
        level=level, success=success, fell=False, timeout=not success, optimal=10.0,
        left=0.0, path=0.0, time=float(count - 1), collisions=0, comfort=1.0,
        reward=0.0, trace=trace,
    )  # fmt: skip


def test_the_straight_way_is_never_lost() -> None:
    assert not lost_labels(episode([0.0, 2.0, 4.0, 6.0, 8.0, 10.0]), 1.0).any()


def test_long_detours_are_lost_until_they_end() -> None:
    # 20 m back and forth, then straight on: 10 m are left, 30 m will be walked.
    there = [0.0, -10.0, 0.0, 5.0, 10.0]
    # From x = 0: 30 > 2 * 10 + 2; from x = -10: 20 < 2 * 20 + 2; then straight.
    assert lost_labels(episode(there), 1.0).tolist() == [True, False, False, False]


def test_slack_forgives_a_step_beside_the_goal() -> None:
    # 0.5 m are left at first, 2.5 m are walked: not more than 2 * 0.5 + 2.
    assert not lost_labels(episode([9.5, 8.5, 10.0]), 1.0).any()


def test_an_episode_that_does_not_arrive_is_lost_from_the_start() -> None:
    assert lost_labels(episode([0.0, 5.0, 9.0], success=False), 1.0).all()


def test_unknown_distances_take_the_last_known_one() -> None:
    one = episode([0.0, 5.0, 10.0])
    assert one.trace.distance is not None
    one.trace.distance[1] = np.inf
    assert lost_labels(one, 1.0).tolist() == [False, False]


def test_a_trace_without_distances_is_refused() -> None:
    one = episode([0.0, 10.0])
    with pytest.raises(ValueError, match="no walking distances"):
        lost_labels(replace(one, trace=replace(one.trace, distance=None)), 1.0)


def test_seconds_without_progress() -> None:
    one = episode([0.0, 1.0, 0.5, 0.7, 2.0, 2.0])
    assert stalled_seconds(one).tolist() == [0.0, 0.0, 1.0, 2.0, 0.0]


def test_tasks_with_a_goal_that_stays() -> None:
    config = NavigationConfig()
    assert lost_task(config) == "navigate"
    assert lost_task(config.override("environment", tasks=("follow",))) is None
    both = config.override("environment", tasks=("patrol", "reach"))
    assert lost_task(both) == "reach"


def test_it_is_said_with_hysteresis() -> None:
    p = np.array([0.5, 0.61, 0.5, 0.41, 0.39, 0.59, 0.7])
    assert said(p).tolist() == [False, True, True, True, False, False, True]
