from __future__ import annotations

import numpy as np

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.families.level_sets import split_level
from ambulo.envs.vr.levels.level_io import save_level
from ambulo.envs.vr.task.build import make_batch
from ambulo.train.vr.level_curriculum import TrainingLevels


def test_new_levels_never_replace_those_of_the_user(tmp_path) -> None:
    save_level(split_level("rooms", "validation", 0), tmp_path / "mine.json")
    config = NavigationConfig().override(
        "environment",
        levels=("open",),
        levels_per_family=4,
        level_refresh=3,
        level_file=str(tmp_path),
        level_file_fraction=0.5,
    )
    batch = make_batch(config, 2)
    batch.reset(np.arange(2))
    levels, before = TrainingLevels(config, batch, None), list(batch.bank.levels)
    for _ in range(5):
        levels.refresh()
    replaced = [a is not b for a, b in zip(before, batch.bank.levels, strict=True)]
    assert not replaced[0]
    assert any(replaced[1:])
    alone = config.override("environment", level_file_fraction=None)
    batch = make_batch(alone, 2)
    levels = TrainingLevels(alone, batch, None)
    levels.refresh()
    assert levels.counter == 0
