"""What passes the check of levels is played; one rule decides both."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fixtures.random_levels import random_level

from ambulo.configs.errors import LevelError
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.levels.level_io import load_levels
from ambulo.envs.vr.task.bank import LevelBank
from ambulo.evaluate.vr.episodes import LevelSource, episodes_for

SEEDS = (1, 3, 10, 19)
"""Each draws a valid level that evaluation once refused, or broke on."""


@pytest.mark.integration
@pytest.mark.parametrize("seed", SEEDS)
def test_every_valid_level_has_episodes(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    file, valid = tmp_path / "level.json", 0
    for _ in range(100):
        file.write_text(json.dumps(random_level(rng)))
        try:
            levels = load_levels(file)
        except LevelError:
            continue
        valid += 1
        source = LevelSource(NavigationConfig(), level_file=str(file))
        episodes_for(source, 2)
        bank = LevelBank(levels, np.random.default_rng(0))
        bank.draw(np.random.default_rng(1))
    assert valid > 30
