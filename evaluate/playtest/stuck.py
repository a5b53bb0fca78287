"""Places where agents stay without reaching their goal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.survey.floor import Floor
from ambulo.envs.vr.task.metrics import Trace
from ambulo.evaluate.vr.scores import EpisodeRecord

STAY_RADIUS = 0.5
"""An agent stays while it is within this distance of where the stay began, [m]."""
STAY_TIME = 3.0
"""Shorter stays are not counted, [s]."""
SPOT_SIZE = 1.5
"""Stays of one spot are at most about this far apart on average, [m]."""
SPOT_SHARE = 0.02
"""A spot needs stays of this share of all agents, and of at least two."""
_MAX_STAYS = 1500
_FAR = 10.0
_LOOKS = 24


@dataclass(frozen=True, eq=False)
class Stay:
    """An agent stays in one place."""

    episode: int
    """Index of the episode."""
    position: Floats
    """Mean position, shape (3,), [m]."""
    first: int
    """Index of its first row in the trace."""
    last: int
    """Index of its last row in the trace."""
    seconds: float
    """How long, [s]."""
    final: bool
    """The episode ended with it, without success."""


@dataclass(frozen=True, eq=False)
class StuckSpot:
    """A place where several agents were stuck."""

    name: str
    """Number on the plan."""
    position: Floats
    """Middle of the stays, weighted by their times, shape (3,), [m]."""
    radius: float
    """Three quarters of the time were lost within it; at least `STAY_RADIUS`, [m]."""
    episodes: tuple[int, ...]
    """Indices of the episodes whose agents were stuck there, ascending."""
    seconds: float
    """Time that all of them lost there, [s]."""
    failures: int
    """Agents that never got away."""

    @property
    def agents(self) -> int:
        """Agents that were stuck there."""
        return len(self.episodes)


def find_stays(records: Sequence[EpisodeRecord]) -> list[Stay]:
    """Return every stay of every episode."""
    stays = []
    for episode, record in enumerate(records):
        stays += _stays(record.trace, episode, record.success)
    return stays


def _stays(trace: Trace, episode: int, success: bool) -> list[Stay]:
    """The stays of one episode, in order."""
    xyz, rows = trace.position, len(trace.position)
    least = math.floor(STAY_TIME / trace.dt) + 1
    found, first = [], 0
    while first + least < rows:
        away = np.hypot(*(xyz[first:, :2] - xyz[first, :2]).T) > STAY_RADIUS
        length = int(np.argmax(away)) if away.any() else len(away)
        if length <= least:
            first += 1
            continue
        last = first + length - 1
        found.append(
            Stay(
                episode=episode,
                position=xyz[first : last + 1].mean(axis=0),
                first=first,
                last=last,
                seconds=(last - first) * trace.dt,
                final=last == rows - 1 and not success,
            )
        )
        first = last + 1
    return found


def find_spots(stays: Sequence[Stay], agents: int, floor: Floor) -> list[StuckSpot]:
    """Return the places where at least `SPOT_SHARE` of `agents` stayed, worst first.

    Stays with a wall of `floor` between them are of different spots.
    """
    stays = sorted(stays, key=lambda stay: -stay.seconds)[:_MAX_STAYS]
    if not stays:
        return []
    groups = np.ones(1, np.int64)
    if len(stays) > 1:
        apart = _distances(np.array([stay.position for stay in stays]), floor)
        groups = fcluster(linkage(apart, "average"), SPOT_SIZE, "distance")
    least = max(2, math.ceil(SPOT_SHARE * agents))
    spots = []
    for group in np.unique(groups):
        members = [stays[k] for k in np.flatnonzero(groups == group)]
        if len({stay.episode for stay in members}) >= least:
            spots.append(_spot(members))
    spots.sort(key=lambda spot: (-spot.failures, -spot.seconds))
    return [replace(spot, name=str(k + 1)) for k, spot in enumerate(spots)]


def _distances(points: Floats, floor: Floor) -> Floats:
    """Distances of all pairs of `points` (n, 3), condensed, [m]; large across walls."""
    first, second = np.triu_indices(len(points), 1)
    apart = pdist(points)
    near = np.flatnonzero(apart < _FAR)
    blocked = np.zeros(len(near), np.bool_)
    begin, end = points[first[near]], points[second[near]]
    storey = floor.storey_at(points[:, 2])
    blocked |= storey[first[near]] != storey[second[near]]
    owner = np.stack([storey.owner for storey in floor.storeys])
    for share in np.linspace(0.0, 1.0, _LOOKS):
        at = floor.cells_at((1.0 - share) * begin + share * end)
        blocked |= owner[at] == 0
    apart[near[blocked]] = _FAR
    return apart


def _spot(members: Sequence[Stay]) -> StuckSpot:
    """The spot of some stays, without a name."""
    points = np.array([stay.position for stay in members])
    seconds = np.array([stay.seconds for stay in members])
    middle = (points * seconds[:, None]).sum(axis=0) / seconds.sum()
    away = np.hypot(*(points - middle)[:, :2].T)
    order = np.argsort(away)
    within = np.searchsorted(np.cumsum(seconds[order]), 0.75 * seconds.sum())
    return StuckSpot(
        name="",
        position=middle,
        radius=max(STAY_RADIUS, float(away[order[within]])),
        episodes=tuple(sorted({stay.episode for stay in members})),
        seconds=float(seconds.sum()),
        failures=len({stay.episode for stay in members if stay.final}),
    )
