"""Imitate: follow a reference gait."""

from __future__ import annotations

from ambulo.envs.locomotion.batch import LocomotionBatch


class ImitateBatch(LocomotionBatch):
    """N bodies that follow one gait along +X; see `LocomotionBatch`."""

    rewards = ("imitation", "changes")


BATCH = ImitateBatch
