"""The definition of *lost*, for every step of an episode that is over."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.vr import NavigationConfig, Task
from ambulo.envs.vr.task.metrics import optimal_length
from ambulo.evaluate.vr.scores import EpisodeRecord

DETOUR = 2.0
"""An agent is lost where it will walk more than this times the way that is left."""
SLACK = 2.0
"""Further way that makes nobody lost, [m]."""
DEFINITION = (
    f"lost: from here the agent will walk more than {DETOUR:g} times the shortest way that "
    f"is left plus {SLACK:g} m, or will not arrive before the step limit"
)
"""In words."""
TASKS: tuple[Task, ...] = ("navigate", "reach")
"""Tasks with one goal that stays where it is: the way that is left is defined."""


def lost_task(config: NavigationConfig) -> Task | None:
    """Return the first task of an agent for which *lost* is defined; None: there is none."""
    return next((task for task in TASKS if task in config.environment.tasks), None)


def lost_labels(record: EpisodeRecord, goal_radius: float) -> Bools:
    """Return whether the agent was lost at each decision. Shape (T,).

    Args:
        record: An episode that is over, with the walking distances of its trace.
        goal_radius: Ways end at this distance from the goal, [m].

    Raises:
        ValueError: The trace has no distances.
    """
    trace = record.trace
    if trace.distance is None:
        raise ValueError("the trace has no walking distances")
    if not record.success:
        return np.ones(len(trace.yaw) - 1, np.bool_)
    left = optimal_length(_finite(trace.distance[:-1]), goal_radius)
    return way_to_the_end(record) > DETOUR * left + SLACK


def way_to_the_end(record: EpisodeRecord) -> Floats:
    """Return the length walked from each decision to the end, [m]. Shape (T,)."""
    steps = np.hypot(*np.diff(record.trace.position[:, :2], axis=0).T)
    return np.asarray(np.cumsum(steps[::-1])[::-1], np.float64)


def stalled_seconds(record: EpisodeRecord) -> Floats:
    """Return the time without a new least straight distance to the goal, [s]. Shape (T,)."""
    trace, goal = record.trace, record.level.goal
    if goal is None:
        raise ValueError(f"level {record.level.name!r} has no goal")
    straight = np.hypot(*(trace.position[:-1, :2] - np.asarray(goal)[:2]).T)
    best = np.minimum.accumulate(straight)
    since = np.arange(len(straight))
    newest = np.where(straight <= best, since, 0)
    since = since - np.maximum.accumulate(newest)
    return trace.dt * since.astype(np.float64)


def _finite(distance: Floats) -> Floats:
    """Return distances with the last finite one where the level knows no way, [m]."""
    known = np.isfinite(distance)
    rows = np.maximum.accumulate(np.where(known, np.arange(len(distance)), 0))
    return np.where(np.isfinite(distance[rows]), distance[rows], np.inf)
