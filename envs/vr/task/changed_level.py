"""Change a level while it is played."""

from __future__ import annotations

import numpy as np

from ambulo.configs.errors import LevelError
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.task.batch import NavigationBatch


def change_level(batch: NavigationBatch, env: int, level: Level) -> None:
    """Put `level` in the place of the level that `env` plays; its episode goes on.

    Goals and what the agent remembers stay; walking distances are computed anew.

    Args:
        batch: Of the environment.
        env: Its index.
        level: A changed copy, with as many waypoints, and with heights as before.

    Raises:
        LevelError: people have no way in it; the level is then as before.
    """
    slot = int(batch.task.slot[env])
    before = batch.bank.levels[slot]
    try:
        _put(batch, slot, level)
    except LevelError:
        _put(batch, slot, before)
        raise
    batch.move_goal(env, batch.task.goal[env].copy())


def _put(batch: NavigationBatch, slot: int, level: Level) -> None:
    """Give a level to the bank, with the goals as they are, and to the world."""
    bank = batch.bank
    levels = list(bank.levels)
    levels[slot] = level
    bank.restore(levels, bank.places(np.arange(len(bank))))
    batch.world.set_levels([slot], [level])
