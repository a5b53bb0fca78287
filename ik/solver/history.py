"""History of targets, for networks with past frames as input."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from ambulo.configs.errors import IKError
from ambulo.ik.solver.targets import Targets


class TargetHistory:
    """The targets of the last moments, of B characters that stay the same.

    With `history = TargetHistory(network.header.past)` each frame calls
    `solver.solve(targets, past=history.past(now, targets))`, then `history.add(now, targets)`.
    """

    def __init__(self, moments: Sequence[float]) -> None:
        """Remember as far back as the largest of `moments`, [s] ago."""
        if not all(0.0 < moment < np.inf for moment in moments):
            raise IKError("moments must be above 0 and finite")
        self._moments = tuple(moments)
        self._kept: deque[tuple[float, Targets]] = deque()

    def add(self, now: float, targets: Targets) -> None:
        """Store the `targets` of the time `now`, [s]; times must increase."""
        if not np.isfinite(now):
            raise IKError(f"time must be finite, got {now}")
        if self._kept and now <= self._kept[-1][0]:
            raise IKError(f"time {now:g} s does not follow {self._kept[-1][0]:g} s")
        if self._kept and len(targets) != len(self._kept[-1][1]):
            raise IKError(
                f"{len(targets)} characters, but {len(self._kept[-1][1])} before: clear()"
            )
        self._kept.append((now, targets))
        # Keep one entry older than all moments: the last one before the oldest.
        oldest = now - max(self._moments, default=0.0)
        while len(self._kept) > 1 and self._kept[1][0] <= oldest:
            self._kept.popleft()

    def past(self, now: float, targets: Targets) -> list[Targets]:
        """Targets at each past moment before the time `now`, [s].

        The newest targets that are at least as old; where nothing is so old, the oldest
        that are known; `targets`, those of now, where nothing is known.
        """
        result = []
        for ago in self._moments:
            then = self._kept[0][1] if self._kept else targets
            for time, known in self._kept:
                if time <= now - ago + SAME:
                    then = known
            result.append(then)
        return result

    def clear(self) -> None:
        """Clear the history, for other characters or after a cut."""
        self._kept.clear()


SAME = 1e-6
"""Times that differ by less are the same, [s]."""
