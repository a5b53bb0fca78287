"""Stand: keep standing, also when pushed."""

from __future__ import annotations

from ambulo.envs.locomotion.batch import LocomotionBatch


class StandBatch(LocomotionBatch):
    """N bodies that stand facing +X; see `LocomotionBatch`."""

    rewards = ("standing", "alive", "costs")


BATCH = StandBatch
