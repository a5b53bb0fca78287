"""Change a level while it is played."""

from __future__ import annotations

from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.task.batch import NavigationBatch


def change_level(batch: NavigationBatch, env: int, level: Level) -> None:
    """Put `level` in the place of the level that `env` plays; its episode goes on.

    Goals and what the agent remembers stay; walking distances are computed anew. For worlds
    of a capsule: simulated bodies hold the shapes near them, and see a change late.

    Args:
        batch: Of the environment.
        env: Its index.
        level: A changed copy, with as many waypoints, and with heights as before.
    """
    slot, bank = int(batch.task.slot[env]), batch.bank
    levels = list(bank.levels)
    levels[slot] = level
    bank.restore(levels, bank.goals.copy(), bank.goal_heights.copy())
    batch.world.set_levels([slot], [level])
    batch.move_goal(env, batch.task.goal[env].copy())
