"""Imitate: follow a reference gait along +X."""

from __future__ import annotations

from ambulo.envs.locomotion.batch import LocomotionBatch

BATCH = LocomotionBatch
